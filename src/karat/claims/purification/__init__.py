"""Checks of purification: how its statements are tested."""

from karat.claims.purification import others, process, trained

CHECKS = (*trained.CHECKS, *process.CHECKS, *others.CHECKS)
