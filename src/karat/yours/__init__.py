"""karat on any model: attack, certify and probe a karat net or a torch.nn.Module."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.certificates.ladder import certify
    from karat.yours.attacking import attack
    from karat.yours.probe.result import Probe
    from karat.yours.probe.settings import ProbeSettings
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = ["Probe", "ProbeSettings", "attack", "certify"]
