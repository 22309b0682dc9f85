"""Perturbations that keep the symmetry: the fast gradient method, the universal direction, PGD."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from karat.core.compiled import Array
from karat.reductions.symmetric.descent_kernels import descend, lengths
from karat.reductions.symmetric.net import SymmetricNet
from karat.reductions.symmetric.sparse_points import SparsePoints

Start = Literal["point", "fast gradient", "universal"]
_STARTS: tuple[Start, ...] = ("point", "fast gradient", "universal")


@dataclass(frozen=True, eq=False)
class Attacked:
    """Points and what an attack does to them.

    Args:
        points: before.
        margin: (n,) y f at the perturbed points.
        values: perturbation of the listed coordinates.
        rest: (n,) perturbation of all others.
    """

    points: SparsePoints
    margin: Array
    values: Array
    rest: Array

    @property
    def moved(self) -> SparsePoints:
        """The points after the attack."""
        return self.points.moved(self.values, self.rest)

    def length(self, p: float) -> Array:
        """(n,) norms of the perturbations in d dimensions.

        Args:
            p: 1, 2 or inf.
        """
        sizes = np.empty(len(self.points))
        lengths(self.values, self.points.offsets, self.rest, float(self.points.d), p, sizes)
        return sizes


def attack(
    net: SymmetricNet,
    points: SparsePoints,
    p: float,
    tau: float,
    *,
    start: Start = "fast gradient",
    steps: int = 0,
    step_ratio: float = 2.5,
    zero_below: float = 0.0,
) -> Attacked:
    r"""Move every point against its label inside its ball, equal coordinates alike.

    From "fast gradient" without further steps it is the fast gradient method, as `attacks.Steepest` finds
    it in d
    dimensions; from "universal" the move along :math:`M w^*`, which looks at no net. Further steps are
    those of PGD, and the smallest margin on the way counts.

    Args:
        net: to be attacked.
        points: inputs; their own labels count.
        p: 2 or inf.
        tau: radius.
        start: where it begins.
        steps: of PGD.
        step_ratio: length of a step over tau / steps.
        zero_below: smallest gradient, in the dual norm, that the fast gradient method follows.
    """
    if p not in (2, math.inf):
        raise ValueError(f"`p` of a symmetric attack must be 2 or inf, got {p:g}.")
    n = len(points)
    found = Attacked(points, np.empty(n), np.zeros(len(points.values)), np.zeros(n))
    descend(
        points.values,
        points.offsets,
        points.rest,
        points.label,
        float(points.d),
        net.numbers,
        p == math.inf,
        tau,
        zero_below,
        steps,
        step_ratio * tau / max(steps, 1),
        _STARTS.index(start),
        found.margin,
        found.values,
        found.rest,
    )
    beyond = float((found.length(p) - tau).max(initial=0.0))
    if beyond > 1e-9 * tau:
        raise AssertionError(f"the attack leaves its ball by {beyond:g}")
    return found


def strongest(net: SymmetricNet, points: SparsePoints, p: float, tau: float, *, steps: int = 20) -> Attacked:
    """The best of PGD from the points, from the fast gradient method and from the universal direction.

    Args:
        net: to be attacked.
        points: inputs; their own labels count.
        p: 2 or inf.
        tau: radius.
        steps: of each run.
    """
    best, *others = (attack(net, points, p, tau, start=start, steps=steps) for start in _STARTS)
    for other in others:
        better = other.margin < best.margin
        entries = points.per_entry(better)
        best = Attacked(
            points,
            np.where(better, other.margin, best.margin),
            np.where(entries, other.values, best.values),
            np.where(better, other.rest, best.rest),
        )
    return best
