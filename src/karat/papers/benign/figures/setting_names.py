"""Short names of settings that differ from a common base."""

from collections.abc import Sequence
from textwrap import fill

from karat.core.texts import number
from karat.papers.benign.checks.lemma_values import LemmaRun

NAMED = ("d", "n", "m", "mu", "ratio", "activation", "start", "flip_rate")
"""Settings that the theory speaks of; step sizes follow from them in the presets."""

SIGNS = {"mu": "|μ|", "ratio": "τ/|μ|", "flip_rate": "flip rate"}
WORDS = {"smooth_leaky_relu": "smooth leaky ReLU", "leaky_relu": "leaky ReLU", "relu": "ReLU"}
WIDE = 26
"""Letters on a line of a label."""

Group = Sequence[LemmaRun]
"""Runs of one setting."""


def base_first(groups: Sequence[Group]) -> list[Group]:
    """Return the setting that differs least from all others, then the rest by their values.

    A store gives records in no order of meaning; designs vary a few settings around one.

    Args:
        groups: one per setting.
    """

    def distance(group: Group) -> int:
        return sum(len(_changed(group, other)) for other in groups)

    def values(group: Group) -> list[tuple[float, str]]:
        settings = [getattr(group[0].config, name) for name in NAMED]
        # Numbers in their own order, words (all at 0) in that of the alphabet.
        return [(float(v) if isinstance(v, int | float) else 0.0, str(v)) for v in settings]

    ranked = sorted(groups, key=lambda group: (distance(group), values(group)))
    return ranked[:1] + sorted(ranked[1:], key=values)


def setting_labels(groups: Sequence[Group]) -> list[str]:
    """Return what each group changes of the first one; the first is "base", equal names get a number.

    Args:
        groups: one per setting, the base first.
    """
    labels: list[str] = []
    for group in groups:
        changes = [_text(group, name) for name in _changed(group, groups[0])]
        label = ", ".join(changes) or "base"
        labels.append(label if label not in labels else f"{label} ({len(labels) + 1})")
    return [fill(label, WIDE) for label in labels]


def base_text(groups: Sequence[Group]) -> str:
    """Return the settings of the first group as a sentence.

    Args:
        groups: one per setting, the base first.
    """
    names = ("d", "n", "m", "mu", "ratio", "activation")
    return "Base: " + ", ".join(_text(groups[0], name) for name in names) + "."


def _changed(group: Group, base: Group) -> list[str]:
    return [name for name in NAMED if getattr(group[0].config, name) != getattr(base[0].config, name)]


def _text(group: Group, name: str) -> str:
    value = getattr(group[0].config, name)
    # Spaces that do not break keep "d = 8000" on one line.
    return WORDS[value] if value in WORDS else f"{SIGNS.get(name, name)}\u00a0=\u00a0{number(value)}"
