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
        settings: what is changed in every cell of the preset; an axis that is set collapses.
        why: one sentence: why the statement should not hold there.
        seeds: how many; a control is judged by its point estimate.
    """

    name: str
    removes: Ingredient
    settings: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    seeds: int = 1
