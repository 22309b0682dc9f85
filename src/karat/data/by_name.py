"""The data models that can be chosen by name."""

from karat.data.hypercube import HypercubeMixture
from karat.data.noisy_mixture import NoisyMixture
from karat.data.pattern_dictionary import PatternDictionary
from karat.data.samples import DataModel
from karat.data.sparse_coding import SparseCoding
from karat.data.sphere import UnitSphere

DATA_MODELS: dict[str, type[DataModel]] = {
    "noisy_mixture": NoisyMixture,
    "sparse_coding": SparseCoding,
    "pattern_dictionary": PatternDictionary,
    "hypercube": HypercubeMixture,
    "sphere": UnitSphere,
}
