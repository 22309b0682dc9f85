"""Short names of settings that differ from a common base."""

from collections.abc import Sequence
from textwrap import fill

from karat.core.texts import number
from karat.study.record import Record

NAMED = ("d", "n", "m", "mu", "ratio", "activation", "start", "flip_rate")
SIGNS = {"mu": "|μ|", "ratio": "τ/|μ|", "flip_rate": "flip rate"}
WIDE = 26
"""Letters on a line of a label."""
WORDS = {"smooth_leaky_relu": "smooth leaky ReLU", "leaky_relu": "leaky ReLU", "relu": "ReLU"}


def base_first(groups: Sequence[list[Record]]) -> list[list[Record]]:
    """The setting that differs least from all others, then the rest by their values.

    A store gives records in no order of meaning; designs vary a few settings around one.
    """

    def distance(group: list[Record]) -> int:
        config = group[0].config
        return sum(config.get(name) != other[0].config.get(name) for name in NAMED for other in groups)

    def values(group: list[Record]) -> list[tuple[bool, float, str]]:
        found = [group[0].config.get(name) for name in NAMED]
        return [(v is None, float(v) if isinstance(v, int | float) else 0.0, str(v)) for v in found]

    ranked = sorted(groups, key=lambda group: (distance(group), values(group)))
    return ranked[:1] + sorted(ranked[1:], key=values)


def setting_labels(groups: Sequence[Sequence[Record]]) -> list[str]:
    """What each group changes of the first one; the first is "base", equal names get a number.

    Reading: only settings that the theory speaks of are named; step sizes follow from them in the presets.
    """
    base = groups[0][0].config
    labels: list[str] = []
    for group in groups:
        config = group[0].config
        changed = [name for name in NAMED if config.get(name) != base.get(name)]
        label = ", ".join(_one(name, config.get(name)) for name in changed) or "base"
        labels.append(label if label not in labels else f"{label} ({len(labels) + 1})")
    return [fill(label, WIDE) for label in labels]


def base_text(groups: Sequence[Sequence[Record]]) -> str:
    """The settings of the first group."""
    config = groups[0][0].config
    shown = [name for name in ("d", "n", "m", "mu", "ratio", "activation") if name in config]
    return "Base: " + ", ".join(_one(name, config[name]) for name in shown) + "."


def _one(name: str, value: object) -> str:
    # Spaces that do not break keep "d = 8000" on one line.
    return WORDS[str(value)] if value in WORDS else f"{SIGNS.get(name, name)}\u00a0=\u00a0{number(value)}"
