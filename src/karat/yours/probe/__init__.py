"""Two checkpoints of one network: what training changed inside, in numbers, pictures and sentences."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.yours.probe.measure import probe
    from karat.yours.probe.result import Probe
    from karat.yours.probe.settings import ProbeSettings
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = ["Probe", "ProbeSettings", "probe"]
