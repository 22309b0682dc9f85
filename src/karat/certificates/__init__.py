"""Certificates: provable lower bounds on the worst margin in a ball, and brackets with attacks."""

from typing import TYPE_CHECKING

from karat.certificates.bracket import (
    ErrorBracket,
    bracket,
    bracket_of,
)
from karat.lazy import attach

if TYPE_CHECKING:
    from karat.certificates.certificate import STATUSES, Certificate, SoundnessError
    from karat.certificates.curve import status_curve
    from karat.certificates.ladder import certify
    from karat.certificates.layers import UnsupportedLayer
    from karat.certificates.radius import RadiusBracket, minimal_radius_bracket
    from karat.certificates.smoothing import SmoothedCertificate, smoothed_certificate
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "STATUSES",
    "Certificate",
    "ErrorBracket",
    "RadiusBracket",
    "SmoothedCertificate",
    "SoundnessError",
    "UnsupportedLayer",
    "bracket",
    "bracket_of",
    "certify",
    "minimal_radius_bracket",
    "smoothed_certificate",
    "status_curve",
]
