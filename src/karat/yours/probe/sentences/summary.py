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


def summarise(found: "Probe") -> tuple[Sentence, ...]:
    """Return what the numbers of a probe say, without the questions that were not measured."""
    answers = (
        robust_gain(*found.robustness, found.versus),
        regime(found.kernels.linearised, found.kernels.drifts, found.layers),
        identity(found.layers),
        forgotten_start(found.layers),
        perturbation_density(found.densities),
        smoothness(found.pictures.numbers, found.leftover),
        sparse_rebuilding(found.rebuilding),
        activity(found.gates),
        transferring(found.transfer),
    )
    sentences = [answer for answer in answers if answer is not None]
    return purified(sentences), *sentences
