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
from karat.papers.lazy.experiments.start import Rows
from karat.study.experiment import Experiment, Preset

BATCH = 1_000_000
"""Neurons whose preactivations are held at a time."""


@dataclass(frozen=True, kw_only=True)
@settings
class GradientSizeConfig:
    """Settings of one size.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        draws: independent starts.
        rows: of the start; "unit" is a control whose rows do not grow with d.
    """

    d: Annotated[int, Ge(2)]
    m: Count
    C0: NonNegative
    draws: Count = 4
    rows: Rows = "gaussian"


@dataclass(frozen=True, kw_only=True)
class GradientSizeResult:
    """What the starts show, one entry per start.

    Args:
        at_start: norm of the gradient of W0 across x.
        smallest: gradient norm of a net of the ball, the smallest that an adversary finds.
        floor: a certified lower bound on the gradient norm of every net of the ball.
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


class Bracket(NamedTuple):
    """Two numbers between which the smallest gradient of the ball lies, times sqrt m.

    Args:
        floor: certified.
        reached: by a net.
    """

    floor: float
    reached: float


def run(config: GradientSizeConfig, generator: torch.Generator) -> GradientSizeResult:
    """Bracket the smallest gradient of the ball of every start.

    Ref: lazy, Lem B.7
    """
    # Rows divided by sqrt d in a ball of radius V are, times sqrt d, rows N(0, I) in one of radius V sqrt d.
    size = 1.0 if config.rows == "gaussian" else 1 / math.sqrt(config.d)
    weight_radius = config.C0 / math.sqrt(config.m) / size
    scale = size / math.sqrt(config.m)
    at_start, smallest, floor = [], [], []
    for _ in range(config.draws):
        start = draw_near_kink(config.d, config.m, weight_radius, generator=generator)
        low, reached = bracket_gradient(start, weight_radius)
        at_start.append(
            scale * float(torch.linalg.vector_norm(start.far + start.rows[start.active].sum(dim=0)))
        )
        smallest.append(scale * reached)
        floor.append(scale * low)
    return GradientSizeResult(at_start=at_start, smallest=smallest, floor=floor)


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


def bracket_gradient(start: NearKink, weight_radius: float, *, rounds: int = 4) -> Bracket:
    r"""Return a certified lower bound on the gradient of every net of the ball, and what one net reaches.

    With F the sum of the far rows, R the rows that can switch, of which any subset S may be active, and n the
    number of far neurons, moving rows by V at most takes V from the norm for every active one:

    .. math:: \min_S \Big\| F + \sum_{s \in S} r_s \Big\| - V (n + k)
        \ge \Big\| F + \tfrac12 \sum_s r_s \Big\| - \tfrac12 \sqrt k \, \|R\|_{\mathrm{op}} - V (n + k),

    since the indicator of a subset is half of all ones and half of a sign vector. The net opens the near rows
    with :math:`\langle r_s, u \rangle < 0`, their preactivations put to zero; u is where the gradient then
    points, a few times over. Its far rows move against that gradient, by V or until it vanishes.

    Args:
        start: at x.
        weight_radius: V.
        rounds: how often u is chosen anew.

    Ref: lazy, Lem B.7
    """
    total, far = start.rows.sum(dim=0), start.far
    everyone = weight_radius * (start.far_count + len(start.rows))
    floor = float(torch.linalg.vector_norm(far + total / 2)) - _spread(start.rows) / 2 - everyone
    opened, reached = total / 2, math.inf
    for _ in range(rounds):
        opened = start.rows[start.rows @ (far + opened) < 0].sum(dim=0)
        # The part along x is f itself, since f is homogeneous.
        size = math.hypot(float(torch.linalg.vector_norm(far + opened)), start.far_value)
        reached = min(reached, max(0.0, size - weight_radius * start.far_count))
    return Bracket(max(0.0, floor), reached)


def _spread(rows: Tensor) -> float:
    r""":math:`\sqrt k \, \|R\|_{\mathrm{op}}`, which no signed sum of the k rows exceeds."""
    if len(rows) == 0:
        return 0.0
    # The smaller of the two Gram matrices has the same largest eigenvalue.
    wide = rows.double() if len(rows) < rows.shape[1] else rows.T.double()
    return math.sqrt(len(rows) * float(torch.linalg.eigvalsh(wide @ wide.T)[-1]))


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
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=GradientSizeConfig(d=25, m=1000, C0=10.0, draws=20),
            points=(*({"m": m} for m in (1000, 10_000, 100_000, 10**6, 10**7)), *_WINDOW, _FIGURES),
            seeds=5,
            cell_seconds=10,
        ),
    },
    run=run,
)
