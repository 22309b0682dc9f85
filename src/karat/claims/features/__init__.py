"""Checks of features: how its statements are tested."""

from karat.claims.features import images, lemmas, students, tables, theory

CHECKS = (*tables.CHECKS, *theory.CHECKS, *lemmas.CHECKS, *images.CHECKS, *students.CHECKS)
