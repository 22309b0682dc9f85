"""Checks of lazy: how its statements are tested."""

from karat.claims.lazy import figures, lemmas, training, worst

CHECKS = (*worst.CHECKS, *figures.CHECKS, *training.CHECKS, *lemmas.CHECKS)
