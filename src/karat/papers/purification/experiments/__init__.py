"""Experiments of purification: dense mixtures, and how adversarial training removes them."""
