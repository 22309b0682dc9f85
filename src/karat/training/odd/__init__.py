"""Training of the odd two-layer net: fast exact passes, schedules of bias and noise, descent."""

from karat.training.odd.batches import Batches, FreshBatches
from karat.training.odd.bias import (
    BiasSchedule,
    FrozenBias,
    GrowingBias,
    NoiseSchedule,
    ProportionalNoise,
    RelativeStep,
    ShrinkingNoise,
    TwoStageBias,
    triple_log,
)
from karat.training.odd.forward import GateBlock, Gates, OddClassifier, forward
from karat.training.odd.trainer import OddTrainer

__all__ = [
    "Batches",
    "BiasSchedule",
    "FreshBatches",
    "FrozenBias",
    "GateBlock",
    "Gates",
    "GrowingBias",
    "NoiseSchedule",
    "OddClassifier",
    "OddTrainer",
    "ProportionalNoise",
    "RelativeStep",
    "ShrinkingNoise",
    "TwoStageBias",
    "forward",
    "triple_log",
]
