"""What checks of image experiments share: weight decays, leads of shares, the paper's nets and images."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from karat.core.statistics import Interval
from karat.papers.purification.experiments.image_setting import ImageSetting
from karat.study.claim import Finding, Outcome
from karat.study.run import Run, grouped

C = TypeVar("C", bound=ImageSetting)
R = TypeVar("R")

ZERO = 0.0005
"""What is printed as 0.0%."""


def runs_by_decay(runs: Iterable[Run[C, R]]) -> list[tuple[float, list[Run[C, R]]]]:
    """Return the runs of each weight decay, smallest (the paper's) first."""
    groups = grouped(runs, lambda run: run.config.weight_decay)
    return [(decay, groups[decay]) for decay in sorted(groups)]


class Lead(NamedTuple):
    """One share that should exceed another, both measured on as many images.

    Args:
        share: that should lead.
        other: share.
        images: of each.
    """

    share: float
    other: float
    images: int


def least_lead(leads: Sequence[Lead]) -> Finding:
    r"""Judge that every lead exceeds zero by the one whose 95% interval reaches lowest.

    The interval of a lead of share p over share q on n images each is

    .. math:: p - q \pm 1.96 \sqrt{\frac{p (1 - p) + q (1 - q)}{n}}.

    Args:
        leads: at least one.

    Reading: the interval is the normal one for independent samples; on the same images it is too wide.
    """
    intervals = []
    for share, other, images in leads:
        half = 1.96 * math.sqrt((share * (1 - share) + other * (1 - other)) / images)
        intervals.append(Interval(share - other - half, share - other + half, 0.95))
    worst = min(intervals, key=lambda interval: interval.low)
    verdict: Outcome = "inconclusive"
    if worst.low > 0:
        verdict = "holds"
    # Any lead that is certainly missing refutes the claim, also if another interval reaches lower.
    elif min(interval.high for interval in intervals) <= 0:
        verdict = "fails"
    lead = (worst.low + worst.high) / 2
    return Finding(measured=lead, interval=worst, predicted=0.0, verdict=verdict)


def photographs(config: ImageSetting) -> list[str]:
    """Ask for what every figure shows: CIFAR-10, or two of its classes."""
    return [] if config.source.startswith("cifar10") else ["Sec 8: CIFAR-10, here the embedded digits"]


def resnet34(config: ImageSetting) -> list[str]:
    """Ask for the images, and the net of Table 1 and of Section 8.2."""
    right = config.network in ("resnet34", "preact34", "wrn:34:1")
    return [*photographs(config), *([] if right else [f"Sec 8: ResNet-34, here {config.network}"])]


def whole_alexnet(config: ImageSetting) -> list[str]:
    """Ask for the images, all of them, and AlexNet at its own width."""
    unmet = photographs(config)
    if config.network != "alexnet:1":
        unmet.append(f"Sec 8: AlexNet of width 1, here {config.network}")
    return unmet if config.n is None else [*unmet, "Sec 8: all training images"]


def smoothed_attacker(attacker: str) -> list[str]:
    """Ask for the attacker of Section 8.2."""
    return [] if attacker == "l2:1:0.25" else [f"Sec 8.2: attacker l2(1, 0.25), here {attacker}"]
