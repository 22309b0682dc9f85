"""Training of the odd net from pure features: permutations of the features leave few numbers."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.reductions.symmetric.diagram import (
        Problem,
        State,
        batch_at,
        lift,
        obstacle,
        reduce,
        resumed,
        step,
    )
    from karat.reductions.symmetric.net import NeuronClass, SymmetricNet, require_one_class
    from karat.reductions.symmetric.perturbation import Attacked, attack, strongest
    from karat.reductions.symmetric.sparse_points import SparsePoints, draw_points
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Attacked",
    "NeuronClass",
    "Problem",
    "SparsePoints",
    "State",
    "SymmetricNet",
    "attack",
    "batch_at",
    "draw_points",
    "lift",
    "obstacle",
    "reduce",
    "require_one_class",
    "resumed",
    "step",
    "strongest",
]
