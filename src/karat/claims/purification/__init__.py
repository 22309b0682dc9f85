"""Checks of purification: how its statements are tested."""

from karat.claims.purification import images, others, pictures, process, trained

CHECKS = (*trained.CHECKS, *process.CHECKS, *others.CHECKS, *images.CHECKS, *pictures.CHECKS)
