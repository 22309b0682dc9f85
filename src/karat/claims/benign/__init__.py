"""Checks of benign: how its statements are tested."""

from karat.claims.benign import figures, lemmas, theorem

CHECKS = (*theorem.CHECKS, *figures.CHECKS, *lemmas.CHECKS)
