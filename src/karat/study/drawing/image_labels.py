"""Names and legend marks shared by the figures on image networks."""

from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from karat.study.drawing.style import INK

GREY = "#8A8A8A"
SETS = {"cifar10": "CIFAR-10", "cifar10_pair": "airplane/automobile", "digits": "embedded digits"}


def attacker_label(name: str) -> str:
    r"""karat's name of an attacker as the paper writes it.

    >>> attacker_label("linf:8"), attacker_label("l2:1:0.25")
    ('$\\ell_\\infty(8/255)$', '$\\ell_2(1, 0.25)$')
    """
    kind, *numbers = name.partition("@")[0].split(":")
    if kind == "linf":
        return rf"$\ell_\infty({numbers[0]}/255)$"
    return rf"$\ell_2({', '.join(numbers)})$"


def network_label(name: str) -> str:
    """ "alexnet:0.25" as AlexNet(0.25)."""
    kind, *sizes = name.split(":")
    title = {"alexnet": "AlexNet", "resnet": "ResNet", "wrn": "WRN"}.get(kind, kind)
    return f"{title}({', '.join(sizes)})" if sizes else title


def patch(color: str, label: str) -> Patch:
    """A coloured square."""
    return Patch(color=color, label=label)


def mark(marker: str, label: str, **style: Any) -> Line2D:
    """A marker without a line.

    Args:
        marker: its shape, as matplotlib names it.
        label: of the legend.
        style: further settings of `Line2D`, such as its colour.
    """
    return Line2D([], [], marker=marker, linestyle="", label=label, **style)


def dot() -> Line2D:
    """The ring that marks clean accuracy."""
    return mark("o", "clean accuracy", color="white", markeredgecolor=INK)
