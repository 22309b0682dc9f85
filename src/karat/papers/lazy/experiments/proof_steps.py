"""Steps of the proofs and of the intuition, each as left over right side, in the sizes of the theorem."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor

from karat.core.ranges import Count, Inside, NonNegative, Positive, settings
from karat.nets import TwoLayer
from karat.papers.lazy import bounds, bounds_proofs
from karat.papers.lazy.experiments.gaussian_norms import row_and_spectral_norm
from karat.reductions.span.gaussian import chi
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class ProofStepsConfig:
    """Settings of one size.

    Args:
        d: input dimension.
        exponent: the width is m = d^exponent; 2.4 is the lower end of the theorem's window.
        C0: radius of the ball times sqrt m.
        p_fail: of the lemmas.
        draws: of the largest subset sum, and of the linear model.
        factor: control: the right side of every step is multiplied by it.
        change: the sketch's change of the gradient, o(sqrt d), over d^(3/8).
        weights: of the linear model; "along x" and "one" are controls whose weights are a multiple of x or
            have a single entry.
    """

    d: Annotated[int, Ge(16), Le(3000)]
    exponent: Annotated[float, Ge(2), Le(6)] = 2.4
    C0: Positive = 0.1
    p_fail: Inside = 0.1
    draws: Count = 20
    factor: Positive = 1.0
    change: NonNegative = 0.1
    weights: Literal["gaussian", "along x", "one"] = "gaussian"

    @property
    def m(self) -> int:
        """Width."""
        return math.ceil(self.d**self.exponent)


@dataclass(frozen=True, kw_only=True)
class ProofStepsResult:
    """Left over right side of every step, at most 1 where it is true, or the chance of what it says.

    Args:
        all_rows: chance that no <x, w_s> of W0 exceeds the printed bound.
        all_rows_repaired: the same with the union bound.
        width: the printed step from m >= d^2.4.
        width_repaired: what the line needs.
        subsets: largest subset sum over the printed bound, from below, one per draw.
        subsets_ceiling: the same from above.
        subsets_repaired: largest subset sum over the repaired bound, from below, one per draw.
        subsets_repaired_ceiling: the same from above.
        dimension: log(4 m/p_fail)^2 over d, which the proof of Lemma B.9 wants to be at most 1.
        last_line: left over right side of the line for which it does.
        sketch: the least drop of f along the printed step over the bound on |f|; f changes sign from 1 on.
        sketch_repaired: the same with the gradient squared.
        linear_gradient: mean norm of the gradient of the linear model.
        linear_flip: mean length of its smallest flip, |f| over the gradient.
        landing: f over |f| at the end of the step of the theorem's proof, in the net |x_1|.
    """

    all_rows: float
    all_rows_repaired: float
    width: float
    width_repaired: float
    subsets: list[float]
    subsets_ceiling: list[float]
    subsets_repaired: list[float]
    subsets_repaired_ceiling: list[float]
    dimension: float
    last_line: float
    sketch: float
    sketch_repaired: float
    linear_gradient: float
    linear_flip: float
    landing: float


def run(config: ProofStepsConfig, generator: torch.Generator) -> ProofStepsResult:
    """Evaluate the closed forms, and draw what is random.

    Ref: lazy, App B
    """
    d, m, p, factor = config.d, config.m, config.p_fail, config.factor
    below, above = _subset_sums(config, generator)
    printed = factor * bounds.subset_union_bound(m, config.C0, p)
    repaired = factor * bounds_proofs.subset_union_repaired(m, config.C0, p)
    gradient, flip = _linear_model(config, generator)
    drop, drop_repaired = _sketch(config)
    return ProofStepsResult(
        all_rows=_within(config, bounds_proofs.largest_row_printed(m, p)),
        all_rows_repaired=_within(config, bounds_proofs.largest_row_repaired(m, p)),
        width=bounds_proofs.width_printed(d, m) / factor,
        width_repaired=bounds_proofs.width_repaired(d, m) / factor,
        subsets=(below / printed).tolist(),
        subsets_ceiling=(above / printed).tolist(),
        subsets_repaired=(below / repaired).tolist(),
        subsets_repaired_ceiling=(above / repaired).tolist(),
        dimension=bounds_proofs.dimension_step(d, m, p) / factor,
        last_line=bounds_proofs.last_line(m, p) / factor,
        sketch=factor * drop,
        sketch_repaired=factor * drop_repaired,
        linear_gradient=gradient,
        linear_flip=flip,
        landing=_landing(config, generator),
    )


def _within(config: ProofStepsConfig, limit: float) -> float:
    return bounds_proofs.largest_row_probability(config.m, config.factor * limit)


def _subset_sums(config: ProofStepsConfig, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    r"""Two numbers between which the largest sum of so many rows over sqrt m lies, one pair per draw.

    From below: along one fixed direction the k rows that lean most in it, with their signs, add up to what
    the k largest of m normals do, and moving them adds to that. From above, with V the radius:

    .. math:: \Big\| \sum_{s \in S} a_s w_s \Big\| \le \sqrt k \, \|W_0\|_{\mathrm{op}} + k V, \, |S| \le k.
    """
    k = min(config.m, math.floor(bounds_proofs.SUBSET * max(1.0, config.C0) * math.sqrt(config.m)))
    root = math.sqrt(config.m)
    below = largest_sum(config.m, k, config.draws, generator=generator) / root
    norms = [row_and_spectral_norm(config.m, config.d, generator=generator)[1] for _ in range(config.draws)]
    above = math.sqrt(k) * torch.tensor(norms, dtype=torch.float64) / root + k * config.C0 / config.m
    return below, above


def largest_sum(m: int, k: int, count: int, *, groups: int = 16, generator: torch.Generator) -> Tensor:
    r"""Draw a number that the largest sum of at most k of m standard normals exceeds, at a cost free of m.

    The chances to exceed the :math:`j_1 < j_2 < \dots`-th largest are ratios of sums of Gamma variables with
    :math:`j_1, j_2 - j_1, \dots` degrees. Every group between two of them counts with its smallest member,
    and not at all where that is negative.

    Args:
        m: how many normals.
        k: how many are summed at most.
        count: of draws.
        groups: of equal size, as far as k can be divided; the more, the closer to the sum.
        generator: of the draws.

    Returns:
        (count,) in float64.
    """
    ends = torch.linspace(0, min(k, m), min(groups, k, m) + 1, dtype=torch.float64).floor()
    sizes = ends.diff()
    degrees = torch.cat([sizes, m + 1 - ends[-1:]])
    gammas = chi((2 * degrees).expand(count, -1), generator=generator).square().cumsum(dim=1)
    above = gammas[:, :-1] / gammas[:, -1:]
    return (sizes * (-torch.special.ndtri(above)).clamp_min(0)).sum(dim=1)


def _sketch(config: ProofStepsConfig) -> tuple[float, float]:
    r"""Drop of f along the sketch's step over the bound on |f|, as printed and with the gradient squared.

    The value takes its bound B of Lemma 4.1, and the step is the proof's, :math:`|\eta| = 2 B/g^2` for a
    gradient of length g. With a change of the gradient of c the drops over B are

    .. math:: \frac{2 (g - c)}{g^2} \quad \text{and} \quad \frac{2 (g - c)}{g},

    lowest at an end of the range of g: the bound :math:`\sqrt d/4` of Lemma 4.2 or the start's own
    :math:`\sqrt{d/2}`.

    Reading: o(sqrt d) is a small multiple of :math:`d^{3/8}`, the largest power of d in Lemma B.9.
    """
    change = config.change * config.d ** (3 / 8)
    lengths = math.sqrt(config.d) / 4, math.sqrt(config.d / 2)
    drops = [2 * (length - change) / length for length in lengths]
    return min(drop / length for drop, length in zip(drops, lengths, strict=True)), min(drops)


def _linear_model(config: ProofStepsConfig, generator: torch.Generator) -> tuple[float, float]:
    r"""Mean gradient and mean flip of :math:`f(w; x) = d^{-1/2} \langle w, x \rangle` at a fixed unit x."""
    along = torch.randn(config.draws, generator=generator, dtype=torch.float64)
    across = chi(torch.full((config.draws,), config.d - 1.0), generator=generator)
    length = torch.hypot(along, across)
    root = math.sqrt(config.d)
    if config.weights == "along x":
        along = length
    elif config.weights == "one":  # x has equal entries
        along, length = along / root, along.abs()
    return float((length / root).mean()), float((along.abs() / length).mean())


def _landing(config: ProofStepsConfig, generator: torch.Generator) -> float:
    r"""Where the proof's step ends if it looks at the growth of the gradient's norm alone.

    Two neurons with rows :math:`\pm \sqrt 2 \, e_1` make the net :math:`f(x) = |x_1|`, whose gradient has
    length 1 on both sides of its kink. So the printed kappa is 0, and the step is
    :math:`-2 f(x) \nabla f(x)`.
    """
    W = torch.zeros(2, config.d, dtype=torch.float64)
    W[:, 0] = torch.tensor([1.0, -1.0], dtype=torch.float64) * math.sqrt(2)
    net = TwoLayer(W, torch.ones(2, dtype=torch.float64), scale=1 / math.sqrt(2))
    x = torch.randn(1, config.d, generator=generator, dtype=torch.float64)
    x = x / torch.linalg.vector_norm(x)
    value, gradient = net.value_and_input_gradient(x)
    step = 2 * config.factor * value / gradient.square().sum()
    return float(net(x - step * gradient) / value.abs())


PROOF_STEPS = Experiment(
    name="lazy.proof-steps",
    title="Which steps of the proofs follow as printed, and which need another constant?",
    paper="lazy",
    presets={
        "tiny": Preset(config=ProofStepsConfig(d=25), grid={"d": (25, 100, 400)}, seeds=3, cell_seconds=0.01),
        "quick": Preset(
            config=ProofStepsConfig(d=25, draws=100),
            grid={"d": (25, 49, 100, 196, 400, 784)},
            seeds=3,
            cell_seconds=0.05,
        ),
        "full": Preset(
            config=ProofStepsConfig(d=25, draws=1000),
            grid={"d": (25, 49, 100, 196, 400, 625, 784)},
            seeds=10,
            cell_seconds=1,
        ),
    },
    run=run,
)
