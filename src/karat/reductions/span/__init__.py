"""l2 adversarial training of two-layer nets in the span of weights and data."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.reductions.span.diagram import Problem, State, lift, obstacle, reduce, step
    from karat.reductions.span.engine import ExactEngine, exactness_obstacle
    from karat.reductions.span.gaussian import chi, gaussian_products, gaussian_rows
    from karat.reductions.span.run import ExactRun, ExactState
    from karat.reductions.span.subspace import Subspace, span_of
    from karat.reductions.span.train import train_exact
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "ExactEngine",
    "ExactRun",
    "ExactState",
    "Problem",
    "State",
    "Subspace",
    "chi",
    "exactness_obstacle",
    "gaussian_products",
    "gaussian_rows",
    "lift",
    "obstacle",
    "reduce",
    "span_of",
    "step",
    "train_exact",
]
