"""Attacks: maps from a classifier, samples and a ball to perturbations, and the judge of all of them."""

from collections.abc import Callable, Mapping
from functools import partial

from karat.attacks.budget import BudgetError
from karat.attacks.fixed_direction import FixedDirection
from karat.attacks.gradient_step import Crossing, GradientStep, first_crossing, gradient_crossing
from karat.attacks.judge import AttackResult, judge, run_attack
from karat.attacks.line import HasLine, LineProfile
from karat.attacks.method import Method
from karat.attacks.minimal import MinimalRadius, minimal_radius
from karat.attacks.pgd import PGD
from karat.attacks.smoothed_pgd import SmoothedPGD
from karat.attacks.steepest import Steepest
from karat.attacks.strongest import Strongest, default_methods
from karat.attacks.transfer import Transfer, transfer_matrix

# Attacks that can be chosen by name; FixedDirection needs a vector and is built by hand.
METHODS: Mapping[str, Callable[..., Method]] = {
    "fgm": Steepest,
    "steepest": Steepest,
    "pgd": PGD,
    "pgd_restarts": partial(PGD, restarts=5, random_start=True),
    "gradient_step": GradientStep,
    "smoothed_pgd": partial(SmoothedPGD, sigma=0.25),
    "strongest": Strongest,
}

__all__ = [
    "METHODS",
    "PGD",
    "AttackResult",
    "BudgetError",
    "Crossing",
    "FixedDirection",
    "GradientStep",
    "HasLine",
    "LineProfile",
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
