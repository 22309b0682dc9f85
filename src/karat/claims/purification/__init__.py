"""Checks of purification: how its statements are tested."""

from karat.claims.purification import data, images, lottery, others, pictures, process, trained

CHECKS = (
    *trained.CHECKS,
    *process.CHECKS,
    *lottery.CHECKS,
    *others.CHECKS,
    *data.CHECKS,
    *images.CHECKS,
    *pictures.CHECKS,
)
