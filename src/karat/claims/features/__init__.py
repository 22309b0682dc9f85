"""Checks of features: how its statements are tested."""

from karat.claims.features import images, tables, theory

CHECKS = (*tables.CHECKS, *theory.CHECKS, *images.CHECKS)
