"""Attacks: maps from a classifier, samples and a ball to perturbations, and the judge of all of them."""

from typing import TYPE_CHECKING

from karat.attacks.judge import AttackResult, judge, run_attack
from karat.lazy import attach

if TYPE_CHECKING:
    from karat.attacks.budget import BudgetError
    from karat.attacks.by_name import METHODS
    from karat.attacks.fixed_direction import FixedDirection
    from karat.attacks.gradient_step import Crossing, GradientStep, first_crossing, gradient_crossing
    from karat.attacks.method import Method
    from karat.attacks.minimal import MinimalRadius, minimal_radius
    from karat.attacks.pgd import PGD
    from karat.attacks.smoothed_pgd import SmoothedPGD
    from karat.attacks.steepest import Steepest
    from karat.attacks.strongest import Strongest, default_methods
    from karat.attacks.transfer import Transfer, transfer_matrix
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "METHODS",
    "PGD",
    "AttackResult",
    "BudgetError",
    "Crossing",
    "FixedDirection",
    "GradientStep",
    "Method",
    "MinimalRadius",
    "SmoothedPGD",
    "Steepest",
    "Strongest",
    "Transfer",
    "default_methods",
    "first_crossing",
    "gradient_crossing",
    "judge",
    "minimal_radius",
    "run_attack",
    "transfer_matrix",
]
