"""Experiments of benign: adversarial training on noisy mixtures."""

from karat.experiments.benign.curves import SEC5, THM31

EXPERIMENTS = (THM31, SEC5)
