"""karat on any model: attack, certify and probe a karat net or a torch.nn.Module."""

from karat.certificates import certify
from karat.yours.attacking import attack
from karat.yours.probe import Probe, ProbeSettings, probe

__all__ = ["Probe", "ProbeSettings", "attack", "certify", "probe"]
