r"""How small the gradient at a fixed x gets over the ball, in law: bracketed at any width, by few rows.

Only neurons with :math:`|\langle w_s, x \rangle| \le V` can switch. Across x their rows are
:math:`N(0, I_{d-1})`, and the sum of the rows of the n active neurons far from their kink is
:math:`N(0, n I_{d-1})`. So a start is a vector and about :math:`0.8\, C_0 \sqrt m` rows at any width.
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, NonNegative, settings
from karat.papers.lazy.experiments.gaussian_norms import row_and_spectral_norm
from karat.papers.lazy.experiments.start import Rows
from karat.reductions.span.gaussian import chi
from karat.study.experiment import Experiment, Preset

BATCH = 1_000_000
"""Neurons whose preactivations are held at a time."""

LARGEST = 5e8
"""Numbers that the rows of one start may take."""


@dataclass(frozen=True, kw_only=True)
@settings
class GradientSizeConfig:
    """Settings of one size.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        draws: independent starts that an adversary sees.
        floors: further starts of which only the certificate is drawn.
        rows: of the start; "unit" is a control whose rows do not grow with d.
        reach: control: rows go this many times farther than the bounds are told.
    """

    d: Annotated[int, Ge(2)]
    m: Count
    C0: NonNegative
    draws: Count = 4
    floors: Count = 20
    rows: Rows = "gaussian"
    reach: NonNegative = 1.0

    def __post_init__(self) -> None:
        numbers = self.d * self.m * math.erf(self.weight_radius / math.sqrt(2))
        if numbers > LARGEST:
            raise ValueError(
                f"rows that can switch would take {numbers:.1e} numbers at d = {self.d:,}, m = {self.m:,}, "
                f"C0 = {self.C0:g}, more than the {LARGEST:.0e} that fit into memory."
            )

    @property
    def row_length(self) -> float:
        """Length of the start's rows over that of N(0, I)."""
        return 1.0 if self.rows == "gaussian" else 1 / math.sqrt(self.d)

    @property
    def weight_radius(self) -> float:
        """How far a row may move, as if rows were N(0, I)."""
        return self.reach * self.C0 / math.sqrt(self.m) / self.row_length


@dataclass(frozen=True, kw_only=True)
class GradientSizeResult:
    """What the starts show.

    Args:
        at_start: norm of the gradient of W0 across x, one per start that an adversary sees.
        smallest: gradient norm of a net of the ball, the smallest that it finds there.
        floor: a certified lower bound on the gradient norm of every net of the ball, one per further start.
    """

    at_start: list[float]
    smallest: list[float]
    floor: list[float]


class NearKink(NamedTuple):
    """A start at one x of length 1, as far as gradients of the ball depend on it.

    Args:
        far: (d - 1,) sum across x of the signed rows of the active neurons that cannot switch.
        far_count: their number.
        far_value: sum of their signed preactivations, f times sqrt m but for the neurons that can switch.
        rows: (k, d - 1) signed rows across x of the neurons that can switch.
        active: (k,) which of these are active at the start.
    """

    far: Tensor
    far_count: int
    far_value: float
    rows: Tensor
    active: Tensor


def run(config: GradientSizeConfig, generator: torch.Generator) -> GradientSizeResult:
    """Bracket the smallest gradient of the ball of every start.

    Ref: lazy, Lem B.7
    """
    # Rows divided by sqrt d in a ball of radius V are, times sqrt d, rows N(0, I) in one of radius V sqrt d.
    V, scale = config.weight_radius, config.row_length / math.sqrt(config.m)
    at_start, smallest = [], []
    for _ in range(config.draws):
        start = draw_near_kink(config.d, config.m, V, generator=generator)
        gradient = start.far + start.rows[start.active].sum(dim=0)
        at_start.append(scale * float(torch.linalg.vector_norm(gradient)))
        smallest.append(scale * reached_gradient(start, V))
    floors = [draw_floor(config.d, config.m, V, generator=generator) for _ in range(config.floors)]
    return GradientSizeResult(at_start=at_start, smallest=smallest, floor=[scale * floor for floor in floors])


def draw_near_kink(d: int, m: int, weight_radius: float, *, generator: torch.Generator) -> NearKink:
    """Draw a start in law.

    Args:
        d: input dimension.
        m: width.
        weight_radius: V, how far a row may move.
        generator: of the draw.
    """
    count, value, near = 0, 0.0, []
    for begin in range(0, m, BATCH):
        z = torch.randn(min(BATCH, m - begin), generator=generator)
        far = z[z > weight_radius]
        count += len(far)
        signs = torch.randint(0, 2, far.shape, generator=generator).float() * 2 - 1
        value += float(signs @ far)
        near.append(z[z.abs() <= weight_radius])
    kinks = torch.cat(near)
    return NearKink(
        far=math.sqrt(count) * torch.randn(d - 1, generator=generator),
        far_count=count,
        far_value=value,
        rows=torch.randn(len(kinks), d - 1, generator=generator),
        active=kinks > 0,
    )


def reached_gradient(start: NearKink, weight_radius: float, *, rounds: int = 4) -> float:
    r"""Return how small one net of the ball makes the gradient, times sqrt m.

    The net opens the near rows with :math:`\langle r_s, u \rangle < 0`, their preactivations put to zero; u
    is where the gradient then points, a few times over. Its far rows move against that gradient, by V or
    until it vanishes.

    Args:
        start: at x.
        weight_radius: V.
        rounds: how often u is chosen anew.

    Ref: lazy, Lem B.7
    """
    opened, reached = start.rows.sum(dim=0) / 2, math.inf
    for _ in range(rounds):
        opened = start.rows[start.rows @ (start.far + opened) < 0].sum(dim=0)
        # The part along x is f itself, since f is homogeneous.
        size = math.hypot(float(torch.linalg.vector_norm(start.far + opened)), start.far_value)
        reached = min(reached, max(0.0, size - weight_radius * start.far_count))
    return reached


def draw_floor(d: int, m: int, weight_radius: float, *, generator: torch.Generator) -> float:
    r"""Draw a certified lower bound on the gradient of every net of the ball, times sqrt m, without any row.

    With F the sum of the far rows, n of them, R the k rows that can switch, of which any subset S may be
    active, moving rows by V at most takes V from the norm for every active one:

    .. math:: \min_S \Big\| F + \sum_{s \in S} r_s \Big\| - V (n + k)
        \ge \Big\| F + \tfrac12 \sum_s r_s \Big\| - \tfrac12 \sqrt k \, \|R\|_{\mathrm{op}} - V (n + k),

    since the indicator of a subset is half of all ones and half of a sign vector. The sum of all rows of R is
    :math:`\sqrt k` times one row of them in another basis, so that only its length, the spectral norm and
    the part of F along that sum matter.

    Args:
        d: input dimension.
        m: width.
        weight_radius: V.
        generator: of the draw.

    Ref: lazy, Lem B.7
    """
    near = _how_many(m, math.erf(weight_radius / math.sqrt(2)), generator)
    far = _how_many(m - near, 0.5, generator)
    row, norm = row_and_spectral_norm(near, d - 1, generator=generator)
    along = float(torch.randn((), generator=generator, dtype=torch.float64)) * math.sqrt(far)
    across = 0.0
    if d > 2:
        across = float(chi(torch.tensor([d - 2.0]), generator=generator)) * math.sqrt(far)
    centre = math.hypot(along + math.sqrt(near) * row / 2, across)
    return max(0.0, centre - math.sqrt(near) * norm / 2 - weight_radius * (far + near))


def _how_many(m: int, chance: float, generator: torch.Generator) -> int:
    """Draw a binomial number."""
    two = torch.tensor([m, chance], dtype=torch.float64)
    return int(torch.binomial(two[:1], two[1:], generator=generator))


_WINDOW = tuple({"d": d, "m": math.ceil(d**2.4), "C0": 1.0} for d in (49, 100, 196, 400, 784))
_FIGURES = {"d": 784, "m": math.ceil(784**2.4), "C0": 10.0, "draws": 2}
_BASE = GradientSizeConfig(d=25, m=1000, C0=10.0)

GRADIENT_SIZE = Experiment(
    name="lazy.gradient-size",
    title="How small does the gradient at a fixed x get over the ball, in wide nets?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=_BASE,
            points=({"m": 1000}, {"m": 10_000}, *_WINDOW[:3]),
            seeds=2,
            cell_seconds=0.02,
        ),
        "quick": Preset(
            config=_BASE,
            points=(*({"m": m} for m in (1000, 10_000, 100_000, 10**6)), *_WINDOW, _FIGURES),
            seeds=3,
            cell_seconds=0.15,
        ),
        "full": Preset(
            config=GradientSizeConfig(d=25, m=1000, C0=10.0, draws=20),
            points=(*({"m": m} for m in (1000, 10_000, 100_000, 10**6, 10**7)), *_WINDOW, _FIGURES),
            seeds=5,
            cell_seconds=1.5,
        ),
    },
    run=run,
)
