"""karat on any model: attack, certify and probe a karat net or a torch.nn.Module."""

from karat.certificates import certify
from karat.models.attacking import attack
from karat.models.checkpoints import Probe, ProbeSettings, probe

__all__ = ["Probe", "ProbeSettings", "attack", "certify", "probe"]
