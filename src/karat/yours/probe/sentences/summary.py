"""All sentences of a probe, the one about purification first."""

from typing import TYPE_CHECKING

from karat.yours.probe.sentences.attacks import (
    perturbation_density,
    purified,
    robust_gain,
    sparse_rebuilding,
    transferring,
)
from karat.yours.probe.sentences.sentence import Sentence
from karat.yours.probe.sentences.training import activity, forgotten_start, identity, regime, smoothness

if TYPE_CHECKING:
    from karat.yours.probe.result import Probe


def summarise(probe: "Probe") -> tuple[Sentence, ...]:
    """Return what the numbers of a probe say, without the questions that were not measured."""
    answers = (
        robust_gain(*probe.robustness, probe.versus),
        regime(probe.kernels.linearised, probe.kernels.drifts, probe.layers),
        identity(probe.layers),
        forgotten_start(probe.layers),
        perturbation_density(probe.densities),
        smoothness(probe.pictures.numbers, probe.leftover),
        sparse_rebuilding(probe.rebuilding),
        activity(probe.gates),
        transferring(probe.transfer),
    )
    sentences = [answer for answer in answers if answer is not None]
    return purified(sentences), *sentences
