"""What the contract suite needs to know of one reduction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from karat.reductions.contract import Reduction


@dataclass(frozen=True, kw_only=True)
class Row:
    """One reduction, problems on both sides of its obstacles, and the full step it is compared with.

    Args:
        name: of the package in `karat.reductions`.
        reduction: the package itself.
        exact: problems in float64 without an obstacle.
        broken: problems with one, on which the reduced and the full step differ.
        sentences: the functions that return the obstacles; each of their texts needs a broken problem.
        follow: (problem, steps) -> the full object after so many full steps, averaged as the reduction does.
        distance: (have, want) -> their largest relative difference.
        in_dimension: d -> the same problem in d dimensions.
        rtol: largest distance that counts as rounding.
    """

    name: str
    reduction: Reduction[Any, Any, Any]
    exact: Mapping[str, Any]
    broken: Mapping[str, Any]
    sentences: tuple[Callable[..., str | None], ...]
    follow: Callable[[Any, int], Any]
    distance: Callable[[Any, Any], float]
    in_dimension: Callable[[int], Any]
    rtol: float = 1e-10
