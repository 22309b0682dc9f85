"""Experiments of lazy: flips of lazily trained nets, adversarial training in the ball, its worst nets."""

from karat.experiments.lazy.adversarial import ALGORITHM, BEYOND, BRACKET, COROLLARY, MOVEMENT, RADIUS
from karat.experiments.lazy.flips import FIG2, FIG5, PADDING
from karat.experiments.lazy.lemmas import LEMMAS, SUBSET
from karat.experiments.lazy.worst import WINDOW, WORST

EXPERIMENTS = (
    FIG5,
    FIG2,
    PADDING,
    RADIUS,
    MOVEMENT,
    BEYOND,
    ALGORITHM,
    COROLLARY,
    BRACKET,
    WINDOW,
    WORST,
    LEMMAS,
    SUBSET,
)
