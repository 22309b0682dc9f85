"""Two checkpoints of one network: what training changed inside, in numbers, pictures and sentences."""

from karat.models.checkpoints.measure import probe
from karat.models.checkpoints.result import Probe
from karat.models.checkpoints.settings import ProbeSettings

__all__ = ["Probe", "ProbeSettings", "probe"]
