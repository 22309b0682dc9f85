"""Controls: the same check on a world where the reason of the statement is taken away."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Ingredient = Literal[
    "training", "sign", "labels", "attack", "ball", "learner", "structure", "scale", "formula", "certificate"
]
"""What a control takes away or spoils."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """A changed setting under which the check must not say `holds`.

    Args:
        name: in two or three words, such as `no training`.
        removes: the ingredient that is taken away.
        settings: what takes the ingredient away, in every cell of the preset; an axis that is set collapses.
        cheap: further settings that only make the cells smaller; with these alone the check must still lean
            to `holds`, or the control would not hold for the wrong reason.
        why: one sentence: why the statement should not hold there.
        seeds: how many; a control is judged by its point estimate.
        unanswered: whether a check that finds no answer in this world (no crossing, say) is what one expects;
            otherwise such a control says nothing.
    """

    name: str
    removes: Ingredient
    settings: Mapping[str, Any] = field(default_factory=dict)
    cheap: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    seeds: int = 1
    unanswered: bool = False
