"""Checks of convergence: how its statements are tested."""

from karat.claims.convergence import capacity, descent, joint, kernel

CHECKS = (*joint.CHECKS, *descent.CHECKS, *kernel.CHECKS, *capacity.CHECKS)
