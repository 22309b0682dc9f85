"""Experiments of lazy: flips of lazily trained nets, adversarial training in the ball, its worst nets."""
