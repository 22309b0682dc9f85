"""Two checkpoints of one network: what training changed inside, in numbers, pictures and sentences."""

from karat.yours.probe.measure import probe
from karat.yours.probe.result import Probe
from karat.yours.probe.settings import ProbeSettings

__all__ = ["Probe", "ProbeSettings", "probe"]
