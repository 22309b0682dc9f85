"""Is any net of the lazy ball robust? Points near x at which no net of the ball is right."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, MinLen
from torch import Tensor

from karat.core.norms import norm
from karat.core.ranges import Count, NonNegative, Unbounded, settings
from karat.data.digits import Source, default_source
from karat.nets import TwoLayer
from karat.papers.lazy.experiments.digits import Digits
from karat.papers.lazy.experiments.start import Rows, draw_start
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class EveryNetConfig:
    """Settings of one cell: some images, and independent starts.

    Args:
        side: images are side x side, of unit length.
        m: width.
        C0: radius of the ball times sqrt m, inf for no ball at all.
        c: attack radii times sqrt d.
        draws: starts.
        n_test: test images, the same for all starts of the cell.
        rows: of the start; "unit" is a control whose rows do not grow with d.
        source: embedded digits or full MNIST.
    """

    side: Count
    m: Count
    C0: Annotated[NonNegative, Unbounded()] = 1.0
    c: Annotated[tuple[NonNegative, ...], MinLen(1)] = (2.0, 3.0, 4.0)
    draws: Count = 30
    n_test: Annotated[int, Ge(2)] = 60
    rows: Rows = "gaussian"
    source: Source = "embedded"

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2


@dataclass(frozen=True, kw_only=True)
class EveryNetResult:
    """What no net of the ball can withstand.

    Args:
        robust_error: for every radius, one number per start: the share of images at which no net of the ball
            is robust, a lower bound on the robust error of all nets of the ball at once.
    """

    robust_error: list[list[float]]


def run(config: EveryNetConfig, generator: torch.Generator) -> EveryNetResult:
    """Count, start by start, the images at which the whole ball is broken by one point.

    Ref: lazy, Cor 3.2
    """
    digits = Digits(side=config.side, source=config.source)
    test = digits.draw(config.n_test, train=False, generator=generator, dtype=torch.float32)
    errors: list[list[float]] = [[] for _ in config.c]
    for _ in range(config.draws):
        start = draw_start(config.d, config.m, config.rows, generator=generator)
        for of_radius, c in zip(errors, config.c, strict=True):
            margin = largest_margin(start, test.x, test.y, c / config.side, config.C0 / math.sqrt(config.m))
            of_radius.append(float((margin <= 0).double().mean()))
    return EveryNetResult(robust_error=errors)


def largest_margin(start: TwoLayer, x: Tensor, y: Tensor, tau: float, weight_radius: float) -> Tensor:
    r"""Return the largest margin that any net of the ball has at one point of the attack ball around each x.

    The point p lies at a distance :math:`\tau` of x, against the start's gradient. There the supremum over
    the ball separates over neurons, and is exact:

    .. math:: \sup_W y f(p; W) = \frac{1}{\sqrt m} \sum_s y a_s \,
        \mathrm{relu}\big( \langle w_{s,0}, p \rangle + y a_s V \|p\| \big).

    Where it is not positive no net of the ball is robust at x.

    Args:
        start: without biases.
        x: (n, d) inputs.
        y: (n,) labels.
        tau: attack radius.
        weight_radius: V, how far a row may move.

    Returns:
        (n,) suprema.

    Ref: lazy, Cor 3.2
    """
    gradient = start.input_gradient(x)
    p = x - tau * (y / norm(gradient, 2)).unsqueeze(1) * gradient
    z, reach = start.preactivations(p), (weight_radius * norm(p, 2)).unsqueeze(1)
    push = start.scale * start.a
    more, less = torch.relu(z + reach), torch.relu(z - reach)
    largest = torch.where(push > 0, more, less) @ push
    smallest = torch.where(push > 0, less, more) @ push
    return torch.where(y > 0, largest, -smallest)


def _window(sides: tuple[int, ...]) -> tuple[Mapping[str, Any], ...]:
    """Cells whose width meets the lower end m >= d^2.4."""
    return tuple({"side": side, "m": math.ceil(side**4.8)} for side in sides)


_BASE = EveryNetConfig(side=6, m=5432, source=default_source())

EVERY_NET = Experiment(
    name="lazy.every-net",
    title="Inside the theorem's window, is any net of the lazy ball robust at a radius of order 1/sqrt d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=EveryNetConfig(side=4, m=777, c=(1.0, 3.5), draws=10, n_test=20),
            points=_window((4, 5)),
            seeds=2,
            cell_seconds=0.1,
        ),
        # Radii up to 2/3 of |x|; widths beyond d = 64 would cost minutes as matrices.
        "quick": Preset(config=_BASE, points=_window((6, 7, 8)), seeds=3, cell_seconds=0.8),
        "full": Preset(
            config=EveryNetConfig(
                side=6, m=5432, c=(1.0, 2.0, 3.0, 4.0), draws=50, n_test=200, source=default_source()
            ),
            points=_window((6, 7, 8, 10, 12)),
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
)
