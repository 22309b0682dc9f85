"""Nets without biases trained on caps of the sphere: with antipodes, and with caps that are apart up to "
"sign."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Pairs, Positive, settings
from karat.core.tangent_kernel import gram, profile_of
from karat.nets import TwoLayer, init
from karat.papers.convergence.experiments.activations import ActivationName, activation_of
from karat.papers.convergence.experiments.parity import (
    certified_distance,
    certified_floor,
    form_features,
    form_of,
    has_form,
    is_even_part,
    part_of,
)
from karat.papers.convergence.experiments.sets import (
    CapRadius,
    DataName,
    PseudoHuber,
    draw_sets,
    require_pairs,
)
from karat.papers.convergence.experiments.two_layer import STEERED
from karat.study.experiment import Experiment, Preset
from karat.training.surrogate import Sets, SurrogateDescent, worst

OBSERVED = 40
"""So many losses of a run are kept, at steps that grow geometrically."""


@dataclass(frozen=True, kw_only=True)
@settings
class AntipodesConfig:
    r"""Settings of one run.

    Args:
        m: width, both halves counted.
        activation: of the hidden neurons.
        rows: Gaussian start, or on the sphere of radius :math:`\sqrt{d}`.
        data: how the caps lie.
        n: caps.
        d: input dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per cap, its centre counted; with 1 there is no attack.
        tol: target of the corollary.
        lr: step size of gradient descent.
        steps: of gradient descent.
        lift: whether nets see :math:`[x, 1]/\sqrt{2}`, which gives every neuron a bias.
        direction: control: "up" takes every step with the wrong sign.
    """

    m: Pairs
    activation: ActivationName = "quadratic_relu"
    rows: Literal["gaussian", "sphere"] = "sphere"
    data: DataName = "apart"
    n: Annotated[int, Ge(2)] = 6
    d: Annotated[int, Ge(2)] = 3
    tau: CapRadius = 0.2
    K: Count = 12
    tol: Positive = 0.2
    lr: Positive = 0.1
    steps: Count = 1000
    lift: bool = False
    direction: Literal["down", "up"] = "down"

    def __post_init__(self) -> None:
        require_pairs(self.n, self.data, "AntipodesConfig")


@dataclass(frozen=True, kw_only=True)
class AntipodesResult:
    r"""What one run shows.

    Args:
        floor: certified lower bound on the mean loss of every net without biases at the centres, of any
            width; 0 where the labels of antipodes allow everything.
        distance_floor: the same for the largest distance from a label.
        distance_found: largest distance from a label at the centres of a function of the kernel's space that
            was found there; that of all others may be smaller, but not below the floor.
        form_loss: of the best form found on the centres, which the floor approaches.
        best_loss: :math:`\min_t L_*(W_t)`, the loss under the strongest perturbation function.
        observed: numbers of steps.
        losses: smallest loss within so many steps.
        parity_error: largest distance of the part that should be a form from it, over the size of the net,
            for a net of random weights.
    """

    floor: float
    distance_floor: float
    distance_found: float
    form_loss: float
    best_loss: float
    observed: list[int]
    losses: list[float]
    parity_error: float


def run(config: AntipodesConfig, generator: torch.Generator) -> AntipodesResult:
    r"""Train on the allowed points, and bound the loss of every net of this kind from below.

    Ref: convergence, Cor C.1; convergence, Fn 14
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator, data=config.data)
    floor, distance_floor, form_loss = _floors(config, sets)
    seen = Sets(lifted(sets.x), sets.y) if config.lift else sets
    descent = SurrogateDescent(lr=config.lr, loss=STEERED[config.direction]())
    loss, losses = PseudoHuber(), []
    strongest = worst(loss)

    def pick(net: TwoLayer, margins: Tensor, step: int) -> Tensor:
        # The robust loss itself is noted, whatever the attack picks.
        losses.append(float(loss(margins).amax(dim=1).mean()))
        return strongest(net, margins, step)

    descent.run(_start(config, generator), seen, pick, steps=config.steps)
    best_so_far = torch.tensor(losses).cummin(dim=0).values
    observed = sorted({round(config.steps ** (k / (OBSERVED - 1))) for k in range(OBSERVED)})
    return AntipodesResult(
        floor=floor,
        distance_floor=distance_floor,
        distance_found=_distance_found(config, sets),
        form_loss=form_loss,
        best_loss=float(best_so_far[-1]),
        observed=observed,
        losses=[float(best_so_far[step - 1]) for step in observed],
        parity_error=_parity_error(config, generator),
    )


def work(config: AntipodesConfig) -> float:
    """Neurons times allowed points times steps.

    Args:
        config: of a run.
    """
    return float(config.m) * config.n * config.K * config.steps


def lifted(x: Tensor) -> Tensor:
    r"""Return :math:`[x, 1]/\sqrt{2}`, again of length 1: on this half of the sphere none are antipodal.

    Args:
        x: (..., d) unit vectors.

    Returns:
        (..., d + 1).

    Ref: convergence, Fn 14
    """
    return torch.cat([x, torch.ones(*x.shape[:-1], 1, dtype=x.dtype)], dim=-1) / math.sqrt(2)


def _floors(config: AntipodesConfig, sets: Sets) -> tuple[float, float, float]:
    """Floors of loss and distance and the best form's loss, from one point of each antipodal pair.

    They are 0 without pairs, and where equal or opposite labels are what the nets can have.
    """
    half = config.n // 2
    centres, y = sets.x[:, 0], sets.y
    activation = activation_of(config.activation)
    paired = config.data in ("ring", "same", "opposite")
    if (
        not paired
        or not has_form(activation)
        or bool((y[:half] == y[half:]).all()) != is_even_part(activation)
    ):
        return 0.0, 0.0, 0.0
    features = form_features(activation, centres[:half])
    floor, form_loss = certified_floor(features, y[:half])
    return floor, certified_distance(features, y[:half]), form_loss


def _distance_found(config: AntipodesConfig, sets: Sets) -> float:
    """Largest distance from the labels of a kernel function that comes near to all centres."""
    K = gram(profile_of(activation_of(config.activation)), sets.x[:, 0])
    eigenvalues, V = torch.linalg.eigh(K)
    # The ReLU's arccos turns rounding into 1e-9 near antipodes.
    V = V[:, eigenvalues > 1e-7 * eigenvalues[-1]]
    return float((V @ (V.T @ sets.y) - sets.y).abs().max())


def _start(config: AntipodesConfig, generator: torch.Generator) -> TwoLayer:
    """The paired start, which is zero at every input."""
    d = config.d + config.lift
    net = init.paired(
        d,
        config.m,
        generator=generator,
        sd_W=1.0,
        scale=1 / math.sqrt(config.m),
        activation=activation_of(config.activation),
    )
    if config.rows == "gaussian":
        return net
    # Twins have equal rows and so stay equal.
    return net.replace(W=net.W * (math.sqrt(d) / torch.linalg.vector_norm(net.W, dim=1, keepdim=True)))


def _parity_error(config: AntipodesConfig, generator: torch.Generator) -> float:
    """How far the part of a random net is from its form, at random points."""
    d = config.d + config.lift
    W, a, x = (
        torch.randn(shape, generator=generator, dtype=torch.float64)
        for shape in ((config.m, d), (config.m,), (50, config.d))
    )
    activation = activation_of(config.activation)
    net = TwoLayer(W=W, a=a, activation=activation, scale=1 / math.sqrt(config.m))
    see = lifted if config.lift else torch.clone
    error = part_of(lambda points: net(see(points)), activation, x) - form_of(net, see(x))
    return float(error.abs().max() / net(see(x)).abs().max())


_QUADRATIC = AntipodesConfig(m=1006)

QUADRATIC = Experiment(
    name="convergence.appC.2",
    title="Does adversarial training of quadratic-ReLU nets reach a small loss on antipodes, too?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(_QUADRATIC, m=64, n=4, K=5, steps=150),
            points=({"data": "apart"}, {"data": "opposite"}, {"data": "ring", "n": 8}),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=_QUADRATIC,
            # Other targets at the corollary's own widths.
            points=(
                {"data": "apart"},
                *({"data": "apart", "tol": tol, "m": m} for tol, m in ((0.3, 150), (0.25, 356))),
                {"data": "opposite", "n": 8},
                {"data": "ring", "n": 8},
            ),
            seeds=6,
            cell_seconds=0.65,
        ),
        "full": Preset(
            config=replace(_QUADRATIC, m=23_026, tol=0.1, K=40, lr=0.05, steps=10_000),
            points=({"data": "apart"}, {"data": "opposite", "n": 8}, {"data": "ring", "n": 8}),
            seeds=10,
            cell_seconds=120,
        ),
    },
    run=run,
    work=work,
)

# One point per cap: without an attack the floor is the loss that training can reach.
_PAIRS = AntipodesConfig(m=512, n=16, tau=0.15, K=1, lr=0.2, steps=1500)
_SMOOTH: tuple[ActivationName, ...] = ("smoothed_relu", "softplus", "smooth_leaky_relu")


def _kinds(*activations: ActivationName) -> tuple[dict[str, Any], ...]:
    """Antipodal labels that the nets of each activation cannot have."""
    return tuple(
        {"activation": name, "rows": "gaussian", "data": "opposite"}
        if name != "quadratic_relu"
        else {"activation": name, "rows": "sphere", "data": "same"}
        for name in activations
    )


PARITY = Experiment(
    name="convergence.parity",
    title="How small can the loss of a net without biases be on antipodes, whatever its width?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(_PAIRS, m=64, steps=200),
            points=_kinds("quadratic_relu", "smooth_leaky_relu"),
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=_PAIRS,
            points=tuple(
                {**kind, "m": m}
                for kinds, widths in (
                    (_kinds("quadratic_relu", "smooth_leaky_relu"), (64, 512, 2048)),
                    (_kinds("relu", "smoothed_relu", "softplus"), (512,)),
                )
                for kind in kinds
                for m in widths
            ),
            seeds=3,
            cell_seconds=0.35,
        ),
        "full": Preset(
            config=replace(_PAIRS, steps=10_000),
            points=tuple(
                {**kind, "m": m, "d": d, "n": n}
                for kind in _kinds("quadratic_relu", "relu", *_SMOOTH)
                for m in (64, 512, 4096, 32_768)
                for d, n in ((3, 16), (6, 60))
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    work=work,
)
