"""How much the gradient changes within C1/sqrt d, at the start and in a net with rows on their kinks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.nets import TwoLayer
from karat.papers.lazy.experiments.start import draw_start
from karat.probes.gradient_change import largest_gradient_change
from karat.study.experiment import Experiment, Preset

LARGEST = 5e8
"""Numbers that a start may take."""


@dataclass(frozen=True, kw_only=True)
@settings
class ChangeConfig:
    """Settings of one start.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        C1: gradients change within radius C1/sqrt d.
        points: inputs on the sphere, fixed before the start.
        radius: "fixed" is a control whose radius is C1/4 at every d.
    """

    d: Annotated[int, Ge(2)]
    m: Count
    C0: NonNegative = 10.0
    C1: Positive = 1.0
    points: Count = 3
    radius: Literal["shrinking", "fixed"] = "shrinking"

    def __post_init__(self) -> None:
        if self.d * self.m > LARGEST:
            raise ValueError(
                f"W0 would take {self.d * self.m:.1e} numbers at d = {self.d:,}, m = {self.m:,}, more than "
                f"the {LARGEST:.0e} that fit into memory."
            )

    @property
    def tau(self) -> float:
        """Radius within which gradients change."""
        return self.C1 / math.sqrt(self.d) if self.radius == "shrinking" else self.C1 / 4


@dataclass(frozen=True, kw_only=True)
class ChangeResult:
    """Changes of the gradient within the radius, the largest over the inputs.

    Args:
        at_start: of W0, the largest found by ascent.
        on_kink: the same of a net of the ball whose rows near their kink at x lie on it, so that any delta
            switches half of them.
        ceiling: an upper bound on the change in any net of the ball.
    """

    at_start: float
    on_kink: float
    ceiling: float


def run(config: ChangeConfig, generator: torch.Generator) -> ChangeResult:
    """Measure the change at inputs drawn before the start.

    Reading: the supremum over the ball is approached by the start and by one net that is worse at x; both
        are lower bounds on it. The upper bound lets every neuron that can switch do so, far from tight.

    Ref: lazy, Lem 4.4
    """
    x = torch.randn(config.points, config.d, generator=generator)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    start = draw_start(config.d, config.m, "gaussian", generator=generator)
    at_start = [_change(config, start, point, generator) for point in x]
    pulled = [on_kink(start, point, config.C0 / math.sqrt(config.m)) for point in x]
    on_kink_change = [_change(config, net, point, generator) for net, point in zip(pulled, x, strict=True)]
    return ChangeResult(
        at_start=max(at_start),
        on_kink=max(on_kink_change),
        ceiling=max(change_ceiling(start, point, config.tau, config.C0 / math.sqrt(config.m)) for point in x),
    )


def _change(config: ChangeConfig, net: TwoLayer, x: Tensor, generator: torch.Generator) -> float:
    one = x.unsqueeze(0)
    return float(largest_gradient_change(net, one, config.tau, generator=generator, starts=3, steps=8))


def change_ceiling(start: TwoLayer, x: Tensor, tau: float, weight_radius: float) -> float:
    r"""Return an upper bound on the change of the gradient within a radius, in every net of the ball.

    A row w + v, :math:`\|v\| \le V`, has two signs within the radius only if
    :math:`|\langle w, x \rangle| \le V + \tau (\|w\| + V)`. For the k such rows, whatever the gates,

    .. math:: \|\nabla f(x; W) - \nabla f(x + \delta; W)\|
        \le \frac{1}{\sqrt m} \Big( \sqrt k \, \|(w_1, \dots, w_k)\|_{\mathrm{op}} + k V \Big).

    Args:
        start: W0.
        x: (d,) of length 1.
        tau: the radius.
        weight_radius: V, how far a row may move.

    Ref: lazy, Lem 4.4
    """
    reach = weight_radius + tau * (torch.linalg.vector_norm(start.W, dim=1) + weight_radius)
    rows = start.W[(start.W @ x).abs() <= reach].double()
    if len(rows) == 0:
        return 0.0
    largest = math.sqrt(float(torch.linalg.eigvalsh(rows.T @ rows)[-1]))
    return start.scale * (math.sqrt(len(rows)) * largest + len(rows) * weight_radius)


def on_kink(start: TwoLayer, x: Tensor, weight_radius: float) -> TwoLayer:
    r"""Return the net of the ball whose rows with :math:`|\langle w_s, x \rangle| \le V` are orthogonal to x.

    Args:
        start: W0.
        x: (d,) of length 1.
        weight_radius: V, how far a row may move.
    """
    z = start.W @ x
    return start.replace(W=start.W - torch.outer(torch.where(z.abs() <= weight_radius, z, 0.0), x))


def _window(dimensions: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4."""
    return tuple({"d": d, "m": math.ceil(d**2.4)} for d in dimensions)


CHANGE = Experiment(
    name="lazy.change",
    title="Above the window's lower end, does the gradient change by o(sqrt d) within a radius C1/sqrt d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=ChangeConfig(d=9, m=196, points=2), points=_window((9, 16, 25)), seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(
            config=ChangeConfig(d=16, m=777), points=_window((16, 25, 36, 64)), seeds=5, cell_seconds=0.05
        ),
        "full": Preset(
            config=ChangeConfig(d=16, m=777, points=10),
            points=_window((16, 25, 49, 100, 196)),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
