"""Experiments of purification: dense mixtures, and how adversarial training removes them."""

from karat.experiments.purification.l2 import L2

EXPERIMENTS = (L2,)
