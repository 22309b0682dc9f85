"""karat: a laboratory for the theory of robust feature learning.

The public names are loaded when first used, so that `import karat` stays quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

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
    from karat.api import check, run, sweep
    from karat.core.ball import Ball
    from karat.yours import attack, certify, probe

_HOME = {
    "Ball": "karat.core.ball",
    "attack": "karat.yours",
    "certify": "karat.yours",
    "probe": "karat.yours",
    "run": "karat.api",
    "check": "karat.api",
    "sweep": "karat.api",
}
_PACKAGES = (
    "attacks",
    "certificates",
    "core",
    "data",
    "lab",
    "nets",
    "papers",
    "probes",
    "study",
    "training",
)

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
    "run",
    "study",
    "sweep",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"karat.{name}")
    raise AttributeError(f"module 'karat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
