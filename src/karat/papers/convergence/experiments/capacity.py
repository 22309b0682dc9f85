"""What robust interpolation costs: nets that are built for plain and for robust interpolation."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le

from karat.core.ranges import Count, Even, Positive, settings
from karat.papers.convergence.bounds_capacity import (
    line_net_parameters,
    robust_width_floor,
)
from karat.papers.convergence.experiments.pairs import (
    certified_margins,
    draw_pairs,
    fewer,
    line_net,
    robust_net,
    robust_on_line,
)
from karat.papers.convergence.experiments.planes import planes_net
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class CapacityConfig:
    """Settings of one dimension.

    Args:
        d: dimension.
        n: points, the middles of n/2 pairs of balls.
        tau: radius of the balls.
        gap: how far the balls of a pair are apart, as a share of 2 tau/d, so that they hold the d points of
            their cluster.
        labellings: of the n/2 clusters of d points, each with pairs and nets of its own.
        kept: share of the kinks that the nets keep, both of them.
    """

    d: Annotated[int, Ge(2)]
    n: Annotated[Even, Ge(4)]
    tau: Positive = 1.0
    gap: Positive = 0.25
    labellings: Count = 10
    kept: Annotated[float, Gt(0), Le(1)] = 1.0


@dataclass(frozen=True, kw_only=True)
class CapacityResult:
    """What the nets of all labellings show.

    Args:
        interpolated: share of points to which the nets on a line give their label.
        line_robust: share of balls on which these nets keep it.
        line_parameters: of such a net, whose neurons share a direction.
        planes_interpolated: share of labellings for which the net of planes gives all points their label.
        planes_width: of that net.
        robust: share of balls on which the nets built for them are certified.
        margin: smallest certified margin of any ball over its best possible one, gap tau/d.
        width: the largest of a net built for balls.
        floor: width below which two-layer nets are robust on these balls for some labelling only.
    """

    interpolated: float
    line_robust: float
    line_parameters: int
    planes_interpolated: float
    planes_width: int
    robust: float
    margin: float
    width: int
    floor: int


def run(config: CapacityConfig, generator: torch.Generator) -> CapacityResult:
    """Build the nets for every labelling, and count.

    Reading: plain interpolation of the same points is what robust interpolation is compared with.

    Ref: convergence, Thm 6.1; convergence, Eq 7
    """
    interpolated, line_robust, margins, widths = [], [], [], []
    planes = []  # a net for every labelling, and whether it gives all labels
    for _ in range(config.labellings):
        pairs = draw_pairs(config.n // 2, config.d, config.tau, config.gap / config.d, generator)
        x, y = pairs.x, pairs.y
        net = robust_net(pairs, config.kept)
        margins.append(certified_margins(net, x, y, config.tau))
        widths.append(net.m)
        direction = torch.randn(config.d, generator=generator, dtype=torch.float64)
        direction = direction / torch.linalg.vector_norm(direction)
        line = fewer(line_net(x, y, direction), config.kept)
        interpolated.append(y * line(x) > 0)
        line_robust.append(robust_on_line(x, y, direction, config.tau))
        flat = planes_net(x, y, generator)
        planes.append((flat.m, bool((y * flat(x) > 0).all())))
    margin = torch.cat(margins)
    return CapacityResult(
        interpolated=float(torch.cat(interpolated).double().mean()),
        line_robust=float(torch.cat(line_robust).double().mean()),
        line_parameters=line_net_parameters(config.n, config.d),
        planes_interpolated=sum(right for _, right in planes) / len(planes),
        planes_width=max(width for width, _ in planes),
        robust=float((margin > 0).double().mean()),
        margin=float(margin.clamp_min(-1e300).min()) * config.d / (config.gap * config.tau),
        width=max(widths),
        floor=robust_width_floor(config.n, config.d),
    )


CAPACITY = Experiment(
    name="convergence.capacity",
    title="How many parameters does a net need to interpolate, and to interpolate robustly, as d grows?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=CapacityConfig(d=2, n=512, labellings=1),
            grid={"d": (2, 4, 128)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=CapacityConfig(d=2, n=1024, labellings=1),
            grid={"d": (4, 16, 64, 128, 256)},
            seeds=6,
            cell_seconds=0.1,
        ),
        "full": Preset(
            config=CapacityConfig(d=2, n=4096, labellings=20),
            grid={"d": (4, 16, 64, 256, 512, 1024)},
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
)
