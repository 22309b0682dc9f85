"""Checks on the lottery's first phase, for single neurons inside the lemmas' own regime."""

import math
from collections.abc import Callable
from typing import Any

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.phase_findings import (
    activation,
    at_the_end,
    awake,
    chance,
    conditions,
    coupling,
    early_ordinary,
    early_tail,
    flat_loss,
    largest_growth,
    late_ordinary,
    noise_growth,
    ordinary,
    other_growth,
    slower,
    tail,
    winner_growth,
    winning,
)
from karat.papers.purification.experiments.phase_one import COUPLED, PHASE_ONE, PROOF_SHARE
from karat.papers.purification.experiments.phase_one_config import PhaseConfig, PhaseResult
from karat.papers.purification.experiments.phase_one_measures import MULTIPLES
from karat.study.check import Check
from karat.study.control import Control
from karat.study.run import examples

TIMES = (
    "Times are in units of sigma_0 d/(C lr), with the speed C of the bias: T_a = log(d)^2.5, T_b = d/k. "
    "C is a quarter of a winner's explicit speed, where the proof has a twentieth: with that S_ept+ = [m] "
    "first holds near d = 1e8, since a winner's own length counts in it."
)
ALONE = (
    "Neurons are drawn from the Gaussian start conditioned on being sure winners, so the event of Lemma B.2 "
    "is not needed."
)

_FIXED: dict[str, Any] = {
    "explicit": 0.05,
    "passed": [0.0, 1e9],
    "steps": [0, 600],
    "looked_at": [1.0, 1.0],
    "no_new_plus": [0.0, 1.0],
    "sure_kept": [1.0, 1.0],
    "lead_most": [1.0, 4.0],
    "most_possible": 0.4,
}
_POINTS = ((100_000, 41), (300_000, 58), (1_000_000, 86))


def _cells(**values: Callable[[int, int], float]) -> list[tuple[PhaseConfig, PhaseResult]]:
    """Three sizes at two stops: name of a curve -> its value at (d, k)."""
    return [
        (
            PhaseConfig(d=d, k=k),
            made_up(PhaseResult, **(_FIXED | {name: [value(d, k)] * 2 for name, value in values.items()})),
        )
        for d, k in _POINTS
    ]


def _constant(size: float) -> Callable[[int, int], float]:
    return lambda d, k: size


def _rare(size: float) -> Callable[[int, int], float]:
    return lambda d, k: size * k / d


def _coupled(**values: list[Any]) -> tuple[PhaseConfig, PhaseResult]:
    return PhaseConfig(**COUPLED), made_up(PhaseResult, **(_FIXED | {"lead_least": [9.0]} | values))


def _proof_speed(accuracy: float) -> tuple[PhaseConfig, PhaseResult]:
    config = PhaseConfig(d=100_000, k=41, bias_share=PROOF_SHARE)
    return config, made_up(PhaseResult, **(_FIXED | {"accuracy": [0.5, accuracy]}))


CHEAP = {"sure": 4, "wrong": 2, "typical": 2, "n": 60, "n_test": 200, "stretch": 1.4}
"""Settings under which a cell costs a tenth."""

_LOW_THRESHOLDS = Control(
    name="low thresholds",
    removes="structure",
    settings={"threshold": 0.01},
    cheap={**CHEAP, "stretch": 2.0},  # b has far to go from there
    why="With hardly a threshold every neuron is awake on every input, and all coordinates grow alike.",
)
_COIN = Control(
    name="labels of a coin",
    removes="labels",
    settings={"labels": "coin"},
    cheap={**CHEAP, "length": 0.0},
    why="Labels that know nothing push no coordinate.",
)
_OWN_LABELS = Control(
    name="own labels",
    removes="labels",
    settings={"labels": "own"},
    cheap={**CHEAP, "bias_share": PROOF_SHARE},
    why="Labels that a neuron sets itself push it at the trivial limit d E|z_j|/2, once small codes wake it.",
)
_OWN_EDGE = Control(
    name="own labels, low thresholds",
    removes="labels",
    settings={"labels": "own", "threshold": 0.1, "length": 0.0},
    cheap=CHEAP,
    why="At a low threshold many inputs lie at the edge, and the neuron's own labels agree on one side of "
    "it.",
)
_NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"length": 0.0},
    cheap=CHEAP,
    why="At the start a share of all neurons is near its threshold on every input.",
)
_ASLEEP = Control(
    name="asleep on small codes",
    removes="structure",
    settings={"d": 1_000_000, "k": 16, "bias_share": 0.6, "grown": 0.3},
    cheap={**CHEAP, "typical": 1, "wrong": 1},
    why="A winner below sqrt(k) b sleeps on small codes, and grows slower than one awake on all.",
)
_SLOW_BIAS = Control(
    name="slow bias",
    removes="structure",
    settings={"bias_share": 0.1},
    cheap={**CHEAP, "d": 100_000, "k": 41},
    why="The slower the bias, the earlier small codes wake the winners, and the net knows the labels.",
)
_LARGE_START = Control(
    name="large start",
    removes="scale",
    settings={"small_start": 0.0},
    cheap=CHEAP,
    why="Weights of order one have outputs that grow with d before the phase ends.",
)

_MULTIPLES = ", ".join(f"{multiple:g}" for multiple in MULTIPLES)
LATE = "From T_a on Gamma_t is k/d, as Lemma C.7 has it; before, Gamma_t is of order one at these d."

CHECKS = (
    Check(
        claim_id="purification.lemC.8",
        experiment=PHASE_ONE,
        evaluate=winner_growth,
        conditions=conditions,
        observed=winning,
        satisfied=examples(*_cells(sure_least=_constant(0.045), sure_most=_constant(0.05))),
        violated=examples(*_cells(sure_least=_constant(0.005), sure_most=_constant(0.05))),
        controls=(_COIN, _OWN_LABELS),
        reading=f"{TIMES} {ALONE} Every winner at every stop: the slowest must reach 0.45 of the explicit "
        "constant, half of it because one just above b is awake on every other code of size one, less a "
        "tenth for sampling.",
    ),
    Check(
        claim_id="purification.lemC.9",
        experiment=PHASE_ONE,
        evaluate=largest_growth,
        conditions=conditions,
        observed=ordinary,
        satisfied=examples(*_cells(largest=_constant(0.05))),
        violated=examples(*_cells(largest=lambda d, k: 0.05 * math.sqrt(k))),
        controls=(_OWN_LABELS,),
        reading=f"{TIMES} The maximum over sure winners, those of the wrong sign and typical neurons, and "
        "over all sizes of a coordinate: what it depends on beside them is the same for all coordinates of "
        "a neuron.",
    ),
    Check(
        claim_id="purification.lemC.10",
        experiment=PHASE_ONE,
        evaluate=other_growth,
        conditions=conditions,
        observed=ordinary,
        satisfied=examples(*_cells(others=_rare(0.1))),
        violated=examples(*_cells(others=_constant(0.01))),
        controls=(_LOW_THRESHOLDS,),
        reading=f"{TIMES} {LATE} Maxima as in Lemma C.9.",
    ),
    Check(
        claim_id="purification.lemC.11",
        experiment=PHASE_ONE,
        evaluate=noise_growth,
        conditions=conditions,
        observed=ordinary,
        satisfied=examples(*_cells(edge=_rare(0.1))),
        violated=examples(*_cells(edge=_constant(0.01))),
        controls=(_OWN_EDGE,),
        reading=f"{TIMES} {LATE} By Stein's identity the expectation is (sigma_x^2/d) w_ij E[y "
        "phi(.)]/sigma with the noise of neuron and input together.",
    ),
    Check(
        claim_id="purification.lemC.4a",
        experiment=PHASE_ONE,
        evaluate=early_tail,
        conditions=conditions,
        observed=early_ordinary,
        satisfied=examples(*_cells(early_tail=_constant(0.1))),
        violated=examples(*_cells(early_tail=_constant(3.0))),
        controls=(_LOW_THRESHOLDS,),
        reading=f"{TIMES} The maximum over neurons, stops and lambda = {_MULTIPLES}, on sampled inputs; the "
        "left-out feature is the leading one, or any other: then the leading one is on with probability "
        "E|z|_0/d. sigma_w is b/sqrt(c1 log d), so that at a low threshold no neuron is in S_ept.",
    ),
    Check(
        claim_id="purification.lemC.4b",
        experiment=PHASE_ONE,
        evaluate=tail,
        conditions=conditions,
        observed=late_ordinary,
        satisfied=examples(*_cells(tail=_rare(0.1))),
        violated=examples(*_cells(tail=_constant(0.01))),
        controls=(_NO_TRAINING,),
        reading=f"{TIMES} Judged at lambda = 1, where the exponential terms are powers of d that no one "
        "names; the left-out feature is any but the leading one.",
    ),
    Check(
        claim_id="purification.lemC.7",
        experiment=PHASE_ONE,
        evaluate=activation,
        conditions=conditions,
        observed=late_ordinary,
        satisfied=examples(*_cells(beyond=_rare(0.1), printed_beyond=_constant(0.5))),
        violated=examples(*_cells(beyond=_constant(0.01), printed_beyond=_constant(0.5))),
        controls=(_NO_TRAINING,),
        reading=f"{TIMES} The level (c2/10 c1) b is read as b/10, which is what Lemmas C.17 and C.19 use: "
        "c2/c1 is below 0.001 with the text's own gamma, and projections beyond it are common at any d that "
        "can be run.",
    ),
    Check(
        claim_id="purification.lemC.18",
        experiment=PHASE_ONE,
        evaluate=coupling,
        conditions=conditions,
        observed=late_ordinary,
        satisfied=examples(_coupled(spread=[1e-9, 2e-9], grown=[6, 6])),
        violated=examples(_coupled(spread=[0.5, 0.5], grown=[6, 6])),
        controls=(_ASLEEP,),
        reading=f"{TIMES} Here C is 0.35 of it and k = 16, so that winners pass 2 sqrt(k) b before they are "
        "too long for S_ept+. The largest deviation over the sampled winners, relative to their growth, "
        "with loss' = 1/2; the constant of O(.) is 1. None of them has a second feature.",
    ),
    Check(
        claim_id="purification.lemC.19",
        experiment=PHASE_ONE,
        evaluate=awake,
        conditions=conditions,
        observed=at_the_end,
        satisfied=examples(*_cells(counted=lambda d, k: 0.2 * k, rest=_constant(0.01))),
        violated=examples(*_cells(counted=lambda d, k: 0.2 * d, rest=_constant(0.5))),
        controls=(_NO_TRAINING,),
        reading=f"{TIMES} Both halves, at T_b, as maxima over inputs: no number of draws shows a probability "
        "exp(-log(d)^2). Neurons of a whole net count by their tickets, see `most_near_threshold`.",
    ),
    Check(
        claim_id="purification.sec6.kinetics",
        experiment=PHASE_ONE,
        evaluate=slower,
        conditions=conditions,
        observed=winning,
        satisfied=examples(
            *_cells(winner_least=_constant(0.045), winner_most=_constant(0.05), others=_rare(0.01))
        ),
        violated=examples(
            *_cells(winner_least=_constant(0.045), winner_most=_constant(0.05), others=_constant(0.01))
        ),
        controls=(_LOW_THRESHOLDS,),
        reading=f"{TIMES} {ALONE} From T_a to T_b: the fastest other coordinate over the slowest winner, one "
        "constant over d; linear is read as speeds within a fifth of each other.",
    ),
    Check(
        claim_id="purification.sec6.chance",
        experiment=PHASE_ONE,
        evaluate=chance,
        conditions=conditions,
        satisfied=examples(_proof_speed(0.52)),
        violated=examples(_proof_speed(0.99)),
        controls=(_SLOW_BIAS,),
        reading="The net has one sure winner per feature, as Lemma B.2 promises, and the proof's own speed "
        "of the bias, C against 20 C of winners; 'around 50%' is read as within 10%, sign(0) = +1, noise "
        "rho is drawn. T_a and T_b have the constant 1/C.",
    ),
    Check(
        claim_id="purification.sec6.flat",
        experiment=PHASE_ONE,
        evaluate=flat_loss,
        conditions=conditions,
        satisfied=examples(*_cells(output=lambda d, k: 0.1 * d)),
        violated=examples(*_cells(output=lambda d, k: 1e-9 * d**3)),
        controls=(_LARGE_START,),
        reading=f"{TIMES} sigma_0 = d^-2 stands for 1/poly(d); |loss' - 1/2| <= |f|/4 for every input.",
    ),
)
