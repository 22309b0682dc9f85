"""Exact reductions: l2 adversarial training of two-layer nets at a cost that does not grow with d."""

from karat.training.reduction.engine import ExactEngine
from karat.training.reduction.evaluate import attacked_margins, attacked_perturbations, gaussian_products
from karat.training.reduction.exactness import attack_obstacle, exactness_obstacle
from karat.training.reduction.gaussian_rows import chi, gaussian_rows
from karat.training.reduction.gram import GramNet, gram_net
from karat.training.reduction.run import ExactRun, ExactState
from karat.training.reduction.subspace import Subspace, reduce
from karat.training.reduction.train import train_exact

__all__ = [
    "ExactEngine",
    "ExactRun",
    "ExactState",
    "GramNet",
    "Subspace",
    "attack_obstacle",
    "attacked_margins",
    "attacked_perturbations",
    "chi",
    "exactness_obstacle",
    "gaussian_products",
    "gaussian_rows",
    "gram_net",
    "reduce",
    "train_exact",
]
