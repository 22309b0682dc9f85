"""Caps around points of the sphere that just meet or just do not, with labels."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Lt

from karat.core.cap import Cap, require_compatible
from karat.core.ranges import Count, Positive, settings
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class MeetingConfig:
    """Settings of one draw of pairs of points.

    Args:
        d: dimension.
        tau: radius of the caps, as a chord.
        pairs: of points, half with equal labels.
        spread: pairs are apart by two angles of a cap, more or less by this share at most.
        reach: control: how far from both a common point may lie, in radii.
    """

    d: Annotated[int, Ge(2)]
    tau: Annotated[float, Gt(0), Lt(1)] = 0.3
    pairs: Count = 200
    spread: Annotated[float, Gt(0), Lt(1)] = 0.1
    reach: Positive = 1.0


@dataclass(frozen=True, kw_only=True)
class MeetingResult:
    """What the pairs show.

    Args:
        agreed: share of pairs that are refused exactly if their labels differ and a common point exists.
        refused: share of pairs that are refused.
    """

    agreed: float
    refused: float


def run(config: MeetingConfig, generator: torch.Generator) -> MeetingResult:
    """Ask whether the perturbation set is compatible with each pair, and look for a common point.

    Reading: if two caps of one radius have a common point, the middle of their centres on the sphere is one.

    Ref: convergence, Def 3.1
    """
    cap, agreed, refused = Cap(config.tau), 0, 0
    for pair in range(config.pairs):
        frame = torch.linalg.qr(torch.randn(config.d, 2, generator=generator, dtype=torch.float64)).Q
        share = 1 + config.spread * (2 * float(torch.rand((), generator=generator)) - 1)
        angle = 2 * cap.angle * share
        turned = math.cos(angle) * frame[:, 0] + math.sin(angle) * frame[:, 1]
        x, y = torch.stack([frame[:, 0], turned]), torch.tensor([1.0, 1.0 if pair % 2 else -1.0]).double()
        middle = x.sum(dim=0) / torch.linalg.vector_norm(x.sum(dim=0))
        common = bool((torch.linalg.vector_norm(x - middle, dim=1) <= config.reach * config.tau).all())
        answer = _refuses(x, y, config.tau)
        refused += answer
        agreed += answer == (common and bool(y[0] != y[1]))
    return MeetingResult(agreed=agreed / config.pairs, refused=refused / config.pairs)


def _refuses(x: torch.Tensor, y: torch.Tensor, tau: float) -> bool:
    try:
        require_compatible(x, y, tau)
    except ValueError:
        return True
    return False


MEETING = Experiment(
    name="convergence.meeting",
    title="Which perturbation sets are compatible with their data?",
    paper="convergence",
    presets={
        "tiny": Preset(config=MeetingConfig(d=3, pairs=40), grid={"d": (2, 5)}, seeds=2, cell_seconds=0.05),
        "quick": Preset(config=MeetingConfig(d=3), grid={"d": (2, 6, 50)}, seeds=3, cell_seconds=0.02),
        "full": Preset(
            config=MeetingConfig(d=3, pairs=5000), grid={"d": (2, 6, 50, 784)}, seeds=3, cell_seconds=10
        ),
    },
    run=run,
)
