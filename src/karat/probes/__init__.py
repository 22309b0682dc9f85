"""Measurements on trained networks."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.probes.errors import Errors, error_share, flipped_errors, mix_flips
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = ["Errors", "error_share", "flipped_errors", "mix_flips"]
