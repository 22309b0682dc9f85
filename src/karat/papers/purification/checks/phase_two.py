"""Checks on training after the lottery: growth, slopes, and the linear net beside it, over d."""

import math
from collections.abc import Callable
from typing import Any

from karat.papers.purification.bounds_second_phase import (
    of_the_coupling,
    of_the_second_phase,
    of_winners,
    short_neurons_from,
)
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.phase_two_findings import (
    PhaseTwoRun,
    deviation,
    largest,
    matched,
    noise,
    non_signal,
    regularity,
    remainder,
    signal,
    slope,
    steepness,
    total_noise,
)
from karat.papers.purification.experiments.phase_two import PHASE_TWO
from karat.papers.purification.experiments.phase_two_config import SCALES, PhaseTwoConfig, PhaseTwoResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.hypothesis import Condition, at_least, at_most, not_checkable
from karat.study.run import examples

WINNERS = (
    "One winner per feature from alpha = 2 b on, all equal by symmetry, as the lottery leaves them; the "
    "remaining neurons hold no feature. The letter beta of S_ept++ and of the error terms is the largest "
    "with which S_ept++ = [m]; with the printed beta and b = beta Xi2^2 no net with |w_i| = 0.35 is in it "
    f"below d = 10^{short_neurons_from(0.35, 1.0):.0f}, whatever c0 < 1."
)
AT_ONE = "Gamma_t is k/d, as Lemma C.7 has it."
STEIN = (
    "The coefficient of sigma_x^2 for small sigma_x, by Stein's identity; nets trained without input noise."
)


def _conditions(config: PhaseTwoConfig) -> list[Condition]:
    return of_the_second_phase(config.d, config.k, config.c0, config.bias_power)


def _regular(config: PhaseTwoConfig) -> list[Condition]:
    decay = config.d ** -(1 + config.decay_power)
    return [*_conditions(config), at_least("Lem C.21: lambda >= 1/d", decay, 1 / config.d)]


def _structure(run: PhaseTwoRun) -> list[Condition]:
    """The sets at the last stop, where neurons are longest."""
    r, config = run.result, run.config
    return of_winners(config.rule, config.threshold, r.alpha[-1], r.beta[-1], r.gamma[-1], r.length[-1])


def _grown(run: PhaseTwoRun) -> list[Condition]:
    config = run.config
    level = 2 * math.sqrt(config.k) * config.threshold
    name = "Lem D.6: S_sure of the start inside S_sure+, alpha >= 2 sqrt(k) b"
    return [*_structure(run), at_least(name, run.result.alpha[-1], level)]


def _flat(run: PhaseTwoRun) -> list[Condition]:
    """Trained nets are as flat as the lemma wants them; steeper ones need the constant that O(.) hides."""
    level, steepest = run.config.rule.xi2**2, max(run.result.lipschitz)
    return [
        at_most("Lem C.22: L_max <= O(Xi2^2), of the trained net", steepest, level),
        not_checkable(
            f"Lem C.22: L_max <= O(Xi2^2), of nets up to {SCALES[-1]:g} times as steep",
            f"no constant is named; L is up to {SCALES[-1] * steepest:.3g} where Xi2^2 is {level:.3g}",
        ),
    ]


def _coupling(config: PhaseTwoConfig) -> list[Condition]:
    return [*_conditions(config), of_the_coupling()]


def _cells(**values: Callable[[PhaseTwoConfig], Any]) -> list[tuple[PhaseTwoConfig, PhaseTwoResult]]:
    """Three sizes at three late stops: name of a value -> what it is at a setting."""
    cells = []
    for d in (10**9, 10**10, 10**11):
        config = PhaseTwoConfig(d=d)
        usual: dict[str, Any] = {
            "time": [2.0, 4.0, 8.0],
            "alpha": [0.36] * 3,
            "beta": [0.36 * config.k / d] * 3,
            "gamma": [0.0] * 3,
            "length": [0.36] * 3,
            "noise": [0.07 * config.threshold] * 3,
            "explicit": 0.12,
            "own": [0.12] * 3,
            "others": [0.2 * config.k / d] * 3,
            "lipschitz": [0.355] * 3,
            "excess": [0.1 * config.k / math.sqrt(d)] * 3,
            "own_noise": [0.05 * config.k / d] * 3,
            "other_noise": [0.05 * config.k**3 / d**2] * 3,
            "output": [1.5] * 3,
            "slopes": [0.4 / scale for scale in SCALES],
            "unmatched": -0.5 * math.log(d) ** 2,
            "rest": 0.3,
            "deviation": 0.3,
        }
        given = {name: value(config) for name, value in values.items()}
        cells.append((config, made_up(PhaseTwoResult, **(usual | given))))
    return cells


def _grows(size: float, power: float) -> Callable[[PhaseTwoConfig], list[float]]:
    return lambda config: [size * (config.d / 1e9) ** power] * 3


CHEAP = {"n_test": 200, "n_few": 10}
"""Settings under which a cell costs a third."""

_LOW = Control(
    name="low thresholds",
    removes="structure",
    settings={"bias_power": 8.0, "step": 1e-11},
    cheap=CHEAP,
    why="With hardly a threshold all neurons are awake on every input, and grow in all features.",
)
_NOISY = Control(
    name="large neuron noise",
    removes="structure",
    settings={"noise": 100.0, "steps": 0},
    cheap=CHEAP,
    why="Noise far beyond the threshold wakes every neuron on every input.",
)
_COIN = Control(
    name="labels of a coin",
    removes="labels",
    settings={"labels": "coin", "steps": 0},
    cheap={"n_few": 10},
    why="Labels that know nothing push no coordinate.",
)
_OWN = Control(
    name="own labels",
    removes="labels",
    settings={"labels": "own"},
    cheap=CHEAP,
    why="Labels that a neuron's own code sets push it at the trivial limit d E|z_j|/2.",
)
_NO_DECAY = Control(
    name="no regulariser",
    removes="structure",
    settings={"decay_power": 10.0},
    cheap=CHEAP,
    why="Without a regulariser weights grow as long as training lasts.",
)
_GAP = Control(
    name="no inputs near the boundary",
    removes="structure",
    settings={"gap": 2.0},
    cheap={"n_few": 10},
    why="Where every score is large a steep net has a loss that is nearly flat.",
)
_NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"steps": 0},
    cheap={"n_few": 10},
    why="At alpha = 2 b small codes wake no neuron.",
)
_LARGE = Control(
    name="large thresholds",
    removes="scale",
    settings={"bias_power": 0.05, "lead_power": 0.5, "lead": 2.5, "steps": 0},
    cheap={"n_few": 10},
    why="With thresholds of order one the biases of k awake neurons do not cancel to a constant.",
)

CHECKS = (
    Check(
        claim_id="purification.lemC.14",
        experiment=PHASE_TWO,
        evaluate=signal,
        conditions=_conditions,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(own=_grows(0.01, 0.0))),
        controls=(_COIN, _OWN),
        reading=f"{WINNERS} From below at the first stop, where L is small and the claim says something: "
        "0.45 of the explicit constant, as in Lemma C.8. From above at every stop.",
    ),
    Check(
        claim_id="purification.lemC.15",
        experiment=PHASE_TWO,
        evaluate=largest,
        conditions=_conditions,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(own=_grows(0.2, 0.15))),
        controls=(_OWN,),
        reading=f"{WINNERS} The largest over winners, neurons of other features and neurons without one, at "
        "every stop.",
    ),
    Check(
        claim_id="purification.lemC.16",
        experiment=PHASE_TWO,
        evaluate=non_signal,
        conditions=_conditions,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(others=_grows(0.01, 0.0))),
        controls=(_NOISY,),
        reading=f"{WINNERS} {AT_ONE}",
    ),
    Check(
        claim_id="purification.lemC.17a",
        experiment=PHASE_TWO,
        evaluate=noise,
        conditions=_conditions,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(own_noise=_grows(0.01, 0.0))),
        controls=(_NOISY,),
        reading=f"{WINNERS} {AT_ONE} {STEIN}",
    ),
    Check(
        claim_id="purification.lemC.17b",
        experiment=PHASE_TWO,
        evaluate=total_noise,
        conditions=_conditions,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(other_noise=_grows(1e-9, 0.0))),
        controls=(_NOISY,),
        reading=f"{WINNERS} {STEIN} Xi2 = d^(2 gamma c0) is 1 up to a thousandth.",
    ),
    Check(
        claim_id="purification.lemC.20",
        experiment=PHASE_TWO,
        evaluate=steepness,
        conditions=_conditions,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(excess=_grows(0.01, 0.0))),
        controls=(_LOW,),
        reading=f"{WINNERS} Maxima over inputs and over sizes of the code from 1/sqrt(k) to 1; what other "
        "neurons add is judged apart, as |beta| times the largest number of them that is awake.",
    ),
    Check(
        claim_id="purification.lemC.21",
        experiment=PHASE_TWO,
        evaluate=regularity,
        conditions=_regular,
        observed=_structure,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(length=lambda config: [0.3, 0.5, 0.9])),
        controls=(_NO_DECAY,),
        reading=f"{WINNERS} lambda = 1/d. Constants over d, and over the time of training from 1/(lr lambda) "
        "on; |f| as its maximum over inputs.",
    ),
    Check(
        claim_id="purification.lemC.22",
        experiment=PHASE_TWO,
        evaluate=slope,
        conditions=_conditions,
        observed=_flat,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(slopes=lambda config: [0.5 * math.exp(-scale) for scale in SCALES])),
        controls=(_GAP,),
        reading="On the trained net, and on the same net with weights, threshold and noise multiplied by up "
        f"to {SCALES[-1]:g}, which multiplies L: the proof uses nothing of the net but L. Without the "
        "condition on L it would not hold: a net that a single code moves from -C to C may have E[loss'] = "
        "1/(1 + e^C).",
    ),
    Check(
        claim_id="purification.claimD.7",
        experiment=PHASE_TWO,
        evaluate=matched,
        conditions=_conditions,
        observed=_grown,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(unmatched=lambda config: 0.0)),
        controls=(_NO_TRAINING,),
        reading=f"{WINNERS} The probability by exact Gaussian tails for each input and a union over its "
        "codes; its exponent over log(d)^2 must not fall with d.",
    ),
    Check(
        claim_id="purification.claimD.8",
        experiment=PHASE_TWO,
        evaluate=remainder,
        conditions=_conditions,
        observed=_grown,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(rest=lambda config: 0.3 * (config.d / 1e9) ** 0.15)),
        controls=(_LARGE,),
        reading=f"{WINNERS} The maximum over inputs, with rho drawn; Xi2 = d^(2 gamma c0).",
    ),
    Check(
        claim_id="purification.lemD.6a",
        experiment=PHASE_TWO,
        evaluate=deviation,
        conditions=_coupling,
        observed=_grown,
        satisfied=examples(*_cells()),
        violated=examples(*_cells(deviation=lambda config: 0.3 * (config.d / 1e9) ** 0.15)),
        controls=(_NO_TRAINING, _LARGE),
        reading=f"{WINNERS} The maximum over inputs, with rho drawn and alpha = sqrt(k): what does not match "
        "<w*, z> would grow with alpha. The text prints alpha = o(1), while part (b) needs it large.",
    ),
)
