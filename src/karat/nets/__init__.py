"""Networks as values: linear, two-layer, odd two-layer, deep; image networks by name; the torch adapter."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.nets import init
    from karat.nets.by_name import NETS
    from karat.nets.deep import Deep
    from karat.nets.linear import Linear
    from karat.nets.module import ModuleClassifier, NetClassifier, as_classifier, to_module
    from karat.nets.net import Net, Parameters
    from karat.nets.networks import NETWORKS, build_network
    from karat.nets.odd_two_layer import OddTwoLayer
    from karat.nets.two_layer import TwoLayer, inverse_root_width
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "NETS",
    "NETWORKS",
    "Deep",
    "Linear",
    "ModuleClassifier",
    "Net",
    "NetClassifier",
    "OddTwoLayer",
    "Parameters",
    "TwoLayer",
    "as_classifier",
    "build_network",
    "init",
    "inverse_root_width",
    "to_module",
]
