r"""What the lemmas bound at one fixed x, delta and direction, from two coordinates of every row.

At a fixed x of length 1 and a fixed :math:`\delta \perp x` all that Lemmas 4.1, 4.3, B.4 to B.6 and B.8 speak
of depends on :math:`\langle w_s, x \rangle`, :math:`\langle w_s, \delta \rangle` and sometimes
:math:`\|w_s\|`. Their law is explicit for any d, so that no start need be drawn as a matrix.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.checks import require_number
from karat.core.ranges import Count, Inside, NonNegative, Positive, Power, settings
from karat.papers.lazy import bounds
from karat.reductions.span.gaussian import chi
from karat.study.experiment import Experiment, Preset

BATCH = 100_000
"""Neurons whose coordinates are held at a time: a few such vectors fit into a core's cache."""


@dataclass(frozen=True, kw_only=True)
@settings
class OnePointConfig:
    """Settings of one size.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times m^power.
        power: rows move by V = C0/m^power; 1/2 in the lazy ball.
        C1: length of delta times sqrt d, at most sqrt d.
        p_fail: of the lemmas.
        draws: independent starts.
        reach: control: rows and delta go this many times farther than the bounds are told.
        radius: "fixed" is a control whose delta has the length C1/4 at every d.
    """

    d: Annotated[int, Ge(3)]
    m: Count
    C0: Positive = 10.0
    power: Power = 0.5
    C1: Positive = 1.0
    p_fail: Inside = 0.1
    draws: Count = 12
    reach: NonNegative = 1.0
    radius: Literal["shrinking", "fixed"] = "shrinking"

    def __post_init__(self) -> None:
        require_number(self.C1, "C1", type(self).__name__, positive=True, maximum=math.sqrt(self.d))

    @property
    def tau(self) -> float:
        """Length of delta."""
        return self.C1 / math.sqrt(self.d)

    @property
    def weight_radius(self) -> float:
        """V, how far a row may move."""
        return float(self.C0 / self.m**self.power)

    @property
    def spacing(self) -> float:
        """The distance of neighbouring delta that the proof of Lemma B.9 chooses."""
        return float((float(self.m) * self.d) ** (-4 / 7))


@dataclass(frozen=True, kw_only=True)
class OnePointResult:
    """What the starts show; lists have one entry per start.

    Args:
        value: |f| of the start.
        supremum: largest |f| of any net of the ball, exactly.
        can_switch: neurons that can change sign at x.
        change: change of the start's gradient along delta, from x to x + delta.
        largest_change: an upper bound on that change for every net of the ball.
        nearby: neurons of the first start that certainly can change sign at some x + delta, each its own.
        neurons: of the first start whose signs are looked at, its first batch.
        sign_changes: those of them that change sign from x to x + delta, the delta of the largest angle.
        switches: those that may have two signs within the spacing of x, in some net of the ball.
        angle_probability: exact chance of a sign change.
        switch_probability: chance of two signs, to first order in the spacing.
    """

    value: list[float]
    supremum: list[float]
    can_switch: list[int]
    change: list[float]
    largest_change: list[float]
    nearby: int
    neurons: int
    sign_changes: int
    switches: int
    angle_probability: float
    switch_probability: float


def run(config: OnePointConfig, generator: torch.Generator) -> OnePointResult:
    """Draw the starts in their two coordinates and measure every quantity that the lemmas bound.

    Ref: lazy, App B
    """
    root = math.sqrt(config.m)
    starts = [_start(config, index == 0, generator) for index in range(config.draws)]
    first = starts[0]
    return OnePointResult(
        value=[abs(start["value"]) / root for start in starts],
        supremum=[max(abs(start["up"]), abs(start["down"])) / root for start in starts],
        can_switch=[int(start["can_switch"]) for start in starts],
        change=[abs(start["change"]) / root for start in starts],
        largest_change=[start["largest_change"] / root for start in starts],
        nearby=int(first["nearby"]),
        neurons=min(config.m, BATCH),
        sign_changes=int(first["sign_changes"]),
        switches=int(first["switches"]),
        angle_probability=bounds.sign_flip_probability(config.tau),
        switch_probability=bounds.sign_switch_probability(config.d, config.weight_radius, config.spacing),
    )


def _start(config: OnePointConfig, first: bool, generator: torch.Generator) -> dict[str, float]:
    """Sums over the neurons of one start, batch by batch; of the first start also what signs do."""
    V = config.reach * config.weight_radius
    # A delta across x is at most as long as x, whatever a control asks for.
    tau = min(1.0, config.reach * (config.C1 / 4 if config.radius == "fixed" else config.tau))
    sums: dict[str, float] = {}
    for begin in range(0, config.m, BATCH):
        size = min(BATCH, config.m - begin)
        z, along = torch.randn(2, size, generator=generator)
        a = torch.randint(0, 2, (size,), generator=generator).float() * 2 - 1
        parts: dict[str, float] = {**value_sums(z, a, V), **change_sums(z, along, a, tau, V)}
        if first:
            across = chi(torch.full((size,), config.d - 2.0), generator=generator).float()
            length = torch.sqrt(z.square() + along.square() + across.square())
            parts["nearby"] = int(can_switch_nearby(z, length, tau, V).sum())
            if begin == 0:
                parts |= _signs(z, along, length, tau, V, config.spacing)
        for name, part in parts.items():
            sums[name] = sums.get(name, 0.0) + part
    return sums


def value_sums(z: Tensor, a: Tensor, weight_radius: float) -> dict[str, float]:
    r"""Return f, its supremum and infimum over the ball, all times sqrt m, and the neurons that can switch.

    The supremum separates, and is exact: every neuron takes its own best preactivation.

    Args:
        z: (m,) preactivations of the start at x, |x| = 1.
        a: (m,) signs.
        weight_radius: V, how far a row may move.
    """
    more, less = torch.relu(z + weight_radius), torch.relu(z - weight_radius)
    positive = a > 0
    return {
        "value": float(a @ torch.relu(z)),
        "up": float(a @ torch.where(positive, more, less)),
        "down": float(a @ torch.where(positive, less, more)),
        "can_switch": int((z.abs() <= weight_radius).sum()),
    }


def change_sums(z: Tensor, along: Tensor, a: Tensor, tau: float, weight_radius: float) -> dict[str, float]:
    r"""Return the change of the gradient along delta at the start, and a ceiling for any net, times sqrt m.

    With :math:`r = \delta/|\delta| \perp x` and the gates :math:`(g_s, g_s')` of a row at x and x + delta,

    .. math:: \frac{1}{\sqrt m} \sum_s a_s \langle w_s, r \rangle (g_s - g_s')
        \le \frac{1}{\sqrt m} \sum_s \max \begin{cases}
            a_s \langle w_{s,0}, r \rangle + V & \text{if } (1, 0) \text{ can be reached,} \\
            -a_s \langle w_{s,0}, r \rangle + V & \text{if } (0, 1) \text{ can be reached,} \\
            0 & \text{if } (0, 0) \text{ or } (1, 1) \text{ can be.}\end{cases}

    A gate can be opened or closed if the row is at most V away from its kink there.

    Args:
        z: (m,) preactivations of the start at x.
        along: (m,) components of the rows along r.
        a: (m,) signs.
        tau: length of delta.
        weight_radius: V, how far a row may move.

    Ref: lazy, Lem B.8
    """
    moved, reach = z + tau * along, weight_radius * math.sqrt(1 + tau**2)
    signed = a * along
    start = float((signed * ((z > 0).float() - (moved > 0).float())).sum())
    # Far rows whose gates agree, nearly all of them, keep agreeing: they add 0.
    closes = (z > -weight_radius) & (moved <= reach)
    opens = (z <= weight_radius) & (moved > -reach)
    agrees = ((z > 0) == (moved > 0)) | (z.abs() <= weight_radius) | (moved.abs() <= reach)
    best = torch.where(agrees, 0.0, -math.inf)
    best = torch.where(closes, torch.maximum(best, signed + weight_radius), best)
    best = torch.where(opens, torch.maximum(best, weight_radius - signed), best)
    return {"change": start, "largest_change": float(best.sum())}


def can_switch_nearby(z: Tensor, length: Tensor, tau: float, weight_radius: float) -> Tensor:
    r"""Return which neurons some short delta and some row within the radius let change sign at x + delta.

    A neuron certainly can if

    .. math:: |\langle w, x \rangle| \le \tau \|w\| + (1 - \tau) V:

    delta goes :math:`\tau` towards the kink, then the row moves by V at a point of length
    :math:`\ge 1 - \tau`, for :math:`\|x\| = 1`.

    Args:
        z: (m,) preactivations of the start at x.
        length: (m,) of the rows.
        tau: largest length of delta, R in the paper.
        weight_radius: V, how far a row may move.

    Returns:
        (m,) flags.

    Ref: lazy, Lem B.4
    """
    return z.abs() <= tau * length + (1 - tau) * weight_radius


def _signs(
    z: Tensor, along: Tensor, length: Tensor, tau: float, weight_radius: float, spacing: float
) -> dict[str, int]:
    """Count the neurons that change sign under the worst delta, and those with two signs near x."""
    # The worst delta of its length is orthogonal to x + delta, which opens the angle arcsin |delta|.
    turned = math.sqrt(1 - tau**2) * z + tau * along
    # A row moved by v, |v| <= V, has two signs within s of x only if |<w + v, x>| < s |w + v|.
    near = weight_radius + spacing * (length + weight_radius)
    return {"sign_changes": int(((z > 0) != (turned > 0)).sum()), "switches": int((z.abs() <= near).sum())}


def _window(dimensions: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    """Sizes whose width meets the lower end m >= d^2.4."""
    return tuple({"d": d, "m": math.ceil(d**2.4)} for d in dimensions)


_BASE = OnePointConfig(d=25, m=2265)
# Where the bound of Lemma B.8 lies below the gradient.
_FAR = {"d": 1_000_000, "m": 1_000_000, "C0": 1.0}

ONE_POINT = Experiment(
    name="lazy.one-point",
    title="Above the window's lower end d^2.4, how tight are the lemmas' explicit bounds at one point?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=_BASE, points=(*_window((9, 16)), {**_FAR, "m": 100_000}), seeds=3, cell_seconds=0.1
        ),
        "quick": Preset(config=_BASE, points=(*_window((25, 100, 784)), _FAR), seeds=3, cell_seconds=1.0),
        "full": Preset(
            config=replace(_BASE, draws=50),
            points=(*_window((25, 100, 196, 400, 784)), _FAR),
            seeds=5,
            cell_seconds=15,
        ),
    },
    run=run,
)

LARGER_BALLS = Experiment(
    name="lazy.larger-balls",
    title="Does |f| stay bounded over balls whose radius shrinks more slowly than 1/sqrt m?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(_BASE, d=100),
            grid={"power": (0.5, 0.4), "m": (200, 2000, 20_000)},
            seeds=3,
            cell_seconds=0.02,
        ),
        "quick": Preset(
            config=replace(_BASE, d=100),
            grid={"power": (0.5, 0.4), "m": (1000, 10_000, 100_000)},
            seeds=3,
            cell_seconds=0.03,
        ),
        "full": Preset(
            config=replace(_BASE, d=784, draws=50),
            grid={"power": (0.5, 0.45, 0.4), "m": (1000, 10_000, 100_000, 1_000_000, 10_000_000)},
            seeds=5,
            cell_seconds=5,
        ),
    },
    run=run,
)

SHORT_DELTAS = Experiment(
    name="lazy.short-deltas",
    title="How does the change of the start's gradient along one short delta shrink with the dimension?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(_BASE, m=1000), grid={"d": (16, 256, 4096, 65_536)}, seeds=3, cell_seconds=0.01
        ),
        "quick": Preset(
            config=replace(_BASE, m=10_000, draws=50),
            grid={"d": (25, 784, 20_000, 10**6)},
            seeds=3,
            cell_seconds=0.1,
        ),
        "full": Preset(
            config=replace(_BASE, m=100_000, draws=200),
            grid={"d": (25, 100, 784, 5000, 40_000, 10**6)},
            seeds=5,
            cell_seconds=2,
        ),
    },
    run=run,
)
