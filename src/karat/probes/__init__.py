"""Measurements on trained networks."""

from karat.probes.errors import Errors, error_share, flipped_errors, mix_flips

__all__ = ["Errors", "error_share", "flipped_errors", "mix_flips"]
