"""Experiments of benign: adversarial training on noisy mixtures and on digits."""
