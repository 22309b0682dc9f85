"""What the lemmas say of one run as single numbers, for their checks and for their figures."""

import math

from karat.papers.benign.experiments.lemma_trace import LemmaResult
from karat.papers.benign.experiments.traces import LemmaConfig
from karat.study.run import Run

LemmaRun = Run[LemmaConfig, LemmaResult]

ROUNDING = 1e-12
"""Margins are sums of m rounded terms in float64; a drop below this is not one."""


def distance_share(run: LemmaRun) -> float:
    """Return the largest distance of an attacked point from the span of the data, over its bound.

    Args:
        run: from the theorem's start.

    Ref: benign, Lemma 4.1
    """
    if run.result.distance_bound == 0:
        return 0.0 if run.result.distance == 0 else math.inf
    return run.result.distance / run.result.distance_bound


def excess_error(run: LemmaRun) -> float:
    """Return by how much, over all steps, the robust error exceeds the bound from the margins; at most 0.

    Args:
        run: from the theorem's start.

    Ref: benign, Lemma 4.2
    """
    pairs = zip(run.result.robust_error, run.result.margin_bound, strict=True)
    return max(error - bound for error, bound in pairs)


def active_share(run: LemmaRun) -> float:
    """Return the smaller of two shares: robustly active samples per neuron, and neurons per sample.

    Args:
        run: from the theorem's start, with the ReLU.

    Ref: benign, Lemma 4.5
    """
    return min(run.result.active.samples, run.result.active.neurons)


def movement_share(run: LemmaRun) -> float:
    r"""Return the relative movement of the first step over :math:`\gamma \|\mu\| / 10`; at least 1.

    Args:
        run: from the theorem's start.

    Ref: benign, Prop B.34
    """
    return run.result.first_step.movement / (run.config.setting().slope * run.config.mu / 10)


def lowest_margin(run: LemmaRun) -> float:
    """Return the smallest normalised margin over all steps.

    Args:
        run: from the theorem's start.

    Ref: benign, Lemma B.14
    """
    return min(run.result.normalised_margin)
