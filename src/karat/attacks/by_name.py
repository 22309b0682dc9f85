"""The attacks that can be chosen by name."""

from collections.abc import Callable, Mapping
from functools import partial

from karat.attacks.gradient_step import GradientStep
from karat.attacks.method import Method
from karat.attacks.pgd import PGD
from karat.attacks.smoothed_pgd import SmoothedPGD
from karat.attacks.steepest import Steepest
from karat.attacks.strongest import Strongest

# FixedDirection needs a vector and is built by hand.
METHODS: Mapping[str, Callable[..., Method]] = {
    "fgm": Steepest,
    "steepest": Steepest,
    "pgd": PGD,
    "pgd_restarts": partial(PGD, restarts=5, random_start=True),
    "gradient_step": GradientStep,
    "smoothed_pgd": partial(SmoothedPGD, sigma=0.25),
    "strongest": Strongest,
}
