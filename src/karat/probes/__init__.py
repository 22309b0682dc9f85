"""Measurements on trained networks."""

from karat.probes.errors import Errors, flipped_errors, mix_flips

__all__ = ["Errors", "flipped_errors", "mix_flips"]
