"""Data models of the theory: what is sampled, with everything the model knows about each point."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.data.cluster_law import ClusterLaw, admissible, overlap
    from karat.data.clusters import CLUSTERS, Gaussian, Quartic, TruncatedGaussian
    from karat.data.dictionaries import (
        DICTIONARIES,
        coherence,
        draw_dictionary,
        hadamard,
        identity,
        incoherent,
        orthonormal,
        unitary,
    )
    from karat.data.hypercube import HypercubeMixture
    from karat.data.label_noise import FLIPS
    from karat.data.noisy_mixture import NoisyMixture
    from karat.data.normaliser import Normaliser
    from karat.data.pattern_dictionary import PatternDictionary
    from karat.data.pattern_law import PatternLaw, codebook_law, independent_law, mixture_law
    from karat.data.pattern_tasks import (
        hidden_representation_law,
        interval_law,
        majority_law,
        parity_law,
        random_codes,
    )
    from karat.data.samples import DataModel, Samples
    from karat.data.sparse_code import MULTI_SCALE, SparseCode
    from karat.data.sparse_coding import SparseCoding, draw_w_star
    from karat.data.sphere import UnitSphere, smallest_distance
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "CLUSTERS",
    "DICTIONARIES",
    "FLIPS",
    "MULTI_SCALE",
    "ClusterLaw",
    "DataModel",
    "Gaussian",
    "HypercubeMixture",
    "NoisyMixture",
    "Normaliser",
    "PatternDictionary",
    "PatternLaw",
    "Quartic",
    "Samples",
    "SparseCode",
    "SparseCoding",
    "TruncatedGaussian",
    "UnitSphere",
    "admissible",
    "codebook_law",
    "coherence",
    "draw_dictionary",
    "draw_w_star",
    "hadamard",
    "hidden_representation_law",
    "identity",
    "incoherent",
    "independent_law",
    "interval_law",
    "majority_law",
    "mixture_law",
    "orthonormal",
    "overlap",
    "parity_law",
    "random_codes",
    "smallest_distance",
    "unitary",
]
