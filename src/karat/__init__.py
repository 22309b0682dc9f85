"""karat: a laboratory for the theory of robust feature learning.

The public names are loaded when first used, so that `import karat` stays quick.
"""

from typing import TYPE_CHECKING

from karat.lazy import attach
from karat.version import __version__

if TYPE_CHECKING:
    from karat import (
        attacks,
        certificates,
        core,
        data,
        lab,
        nets,
        papers,
        probes,
        study,
        training,
    )
    from karat.api import check, regime, run, sweep
    from karat.certificates.ladder import certify
    from karat.core.ball import Ball
    from karat.yours.attacking import attack
    from karat.yours.probe.measure import probe
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Ball",
    "__version__",
    "attack",
    "attacks",
    "certificates",
    "certify",
    "check",
    "core",
    "data",
    "lab",
    "nets",
    "papers",
    "probe",
    "probes",
    "regime",
    "run",
    "study",
    "sweep",
    "training",
]
