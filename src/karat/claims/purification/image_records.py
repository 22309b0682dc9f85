"""Records of the image experiments: their weight decays, and the images they should have used."""

from collections.abc import Mapping, Sequence
from typing import Any

from karat.experiments.record import Record


def by_decay(records: Sequence[Record]) -> list[tuple[float, list[Record]]]:
    """The records of each weight decay, smallest (the paper's) first."""
    decays = sorted({float(record.config["weight_decay"]) for record in records})
    return [(decay, [r for r in records if r.config["weight_decay"] == decay]) for decay in decays]


def washed(records: Sequence[Record]) -> list[Record]:
    """The records of the largest weight decay, where the start is forgotten before the attack begins."""
    return by_decay(records)[-1][1]


def photographs(config: Mapping[str, Any]) -> list[str]:
    """What every figure shows: CIFAR-10, or two of its classes."""
    here = str(config["source"]).startswith("cifar10")
    return [] if here else ["Sec 8: CIFAR-10, here the embedded digits"]
