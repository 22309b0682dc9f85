"""Experiments of lazy: flips of lazily trained nets, projected adversarial training, adversaries over the weights."""

from karat.experiments.lazy.adversarial import ALGORITHM, BEYOND, MOVEMENT, RADIUS
from karat.experiments.lazy.flips import FIG2, FIG5, PADDING
from karat.experiments.lazy.lemmas import LEMMAS, SUBSET
from karat.experiments.lazy.worst import WORST

EXPERIMENTS = (FIG5, FIG2, PADDING, RADIUS, MOVEMENT, BEYOND, ALGORITHM, WORST, LEMMAS, SUBSET)
