"""Records of the image experiments: their weight decays, and the images they should have used."""

from collections.abc import Mapping, Sequence
from typing import Any

from karat.study.record import Record


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


def resnet34(config: Mapping[str, Any]) -> list[str]:
    """The images, and the net of Table 1 and of Section 8.2."""
    right = config["network"] in ("resnet34", "preact34", "wrn:34:1")
    return [*photographs(config), *([] if right else [f"Sec 8: ResNet-34, here {config['network']}"])]


def whole_alexnet(config: Mapping[str, Any]) -> list[str]:
    """The images, all of them, and AlexNet at its own width."""
    unmet = photographs(config)
    if config["network"] != "alexnet:1":
        unmet.append(f"Sec 8: AlexNet of width 1, here {config['network']}")
    return unmet if config["n"] is None else [*unmet, "Sec 8: all training images"]


def smoothed_attacker(config: Mapping[str, Any]) -> list[str]:
    """The attacker of Section 8.2."""
    right = config["attacker"] == "l2:1:0.25"
    return [] if right else [f"Sec 8.2: attacker l2(1, 0.25), here {config['attacker']}"]
