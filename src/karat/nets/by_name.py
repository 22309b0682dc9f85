"""The nets that can be chosen by name."""

from karat.nets.deep import Deep
from karat.nets.linear import Linear
from karat.nets.odd_two_layer import OddTwoLayer
from karat.nets.two_layer import TwoLayer

NETS = {"linear": Linear, "two_layer": TwoLayer, "odd_two_layer": OddTwoLayer, "deep": Deep}
