"""Wide Gaussian nets in law: what one input and the gradient there see of a start and its ball."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.reductions.in_law.diagram import Lifted, Problem, State, lift, obstacle, reduce, step
    from karat.reductions.in_law.start import PlaneStart, draw_plane_start, plane_start_of
    from karat.reductions.in_law.supremum import largest_margins
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Lifted",
    "PlaneStart",
    "Problem",
    "State",
    "draw_plane_start",
    "largest_margins",
    "lift",
    "obstacle",
    "plane_start_of",
    "reduce",
    "step",
]
