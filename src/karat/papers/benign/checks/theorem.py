"""Theorem 3.1 on trained nets, Theorem 3.2, and the paper's headline experiment."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import ndtr

from karat.papers.benign import bounds
from karat.papers.benign.bounds_hypotheses import robust_condition
from karat.papers.benign.checks.predictions import error_floor
from karat.papers.benign.checks.settings import (
    conditions,
    conditions_without_step_size,
    every_setting,
    growth_margin,
    made_up,
)
from karat.papers.benign.experiments.curves import SEC5, THM31
from karat.papers.benign.experiments.evaluation import CurvesResult, Evaluation
from karat.papers.benign.experiments.maps import FLOOR
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.experiments.regime import REGIME
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ERROR, LOSS, Finding, Margin
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import (
    Undecided,
    all_of,
    bound,
    certified,
    equal,
    exact_bound,
    noted,
    one_constant,
    vacuous_if,
)
from karat.study.run import Run, pivot

CurvesRuns = Sequence[Run[MixtureConfig, CurvesResult]]

NO_FALL = Margin(1 / 4, "half-way to a loss that does not fall at all, which would need a constant ~ t^(1/2)")
PRINTED = Margin(0.05, "printed as 0.1, one decimal")


def _loss_law(runs: CurvesRuns) -> Finding:
    """One constant serves all times: loss over the proof's law t^(-1/2) does not grow along a run."""
    return all_of(every_setting(runs, _one_loss_constant), every_setting(runs, _no_training_error))


def _one_loss_constant(runs: CurvesRuns) -> Finding:
    config, steps = runs[0].config, runs[0].result.iterations
    places = [place for place, step in enumerate(steps) if step >= 1]
    times = [config.time(steps[place]) for place in places]
    allowed = [bounds.training_loss_bound(config.setting(), time) for time in times]
    aligned = [run for run in runs if run.result.iterations == steps]
    ratios = [
        [run.result.train_loss[place] / limit for place, limit in zip(places, allowed, strict=True)]
        for run in aligned
    ]
    return one_constant(times, ratios, "at most", NO_FALL)


def _no_training_error(runs: CurvesRuns) -> Finding:
    """No attack breaks a training point: a certificate can show it, PGD can refute it."""
    attacked = [run.result.final.train_error for run in runs]
    safe = [run.result.final.certified_train_error for run in runs]
    return certified(attacked, [error for error in safe if error is not None], 0.0, ERROR)


def _loss_below_bound(runs: CurvesRuns) -> Finding:
    """Loss below the proof's bound at the end; log 2, the loss of the zero net, is no news."""
    config = runs[0].config
    limit = bounds.training_loss_bound(config.setting(), config.elapsed)
    finding = bound([run.result.final.train_loss for run in runs], "at most", limit, LOSS)
    needed = bounds.training_time(config.setting(), math.log(2))
    why = f"the loss bound {limit:.3g} is above log 2; it says something from T = {needed:.2g} on."
    return vacuous_if(limit >= math.log(2), why, finding)


def _trained_loss(runs: CurvesRuns) -> Finding:
    return all_of(every_setting(runs, _loss_below_bound), every_setting(runs, _no_training_error))


def _clean_error(runs: CurvesRuns) -> Finding:
    """The bound at C = 1 in every cell, and one C for the margins that the proof rests on."""

    def below(group: CurvesRuns) -> Finding:
        limit = bounds.clean_error_bound(group[0].config.setting())
        errors = [run.result.final.clean_error for run in group]
        return vacuous_if(limit >= 0.5, _CHANCE, bound(errors, "at most", limit, ERROR))

    return all_of(every_setting(runs, below), _margin_constant(runs))


def _robust_error(runs: CurvesRuns) -> Finding:
    """The same for the worst case in the ball, between PGD's error and a certificate's."""

    def below(group: CurvesRuns) -> Finding:
        limit = bounds.robust_error_bound(group[0].config.setting())
        attacked = [run.result.final.robust_error for run in group]
        safe = [run.result.final.certified_error for run in group]
        finding = certified(attacked, [error for error in safe if error is not None], limit, ERROR)
        return vacuous_if(limit >= 0.5, _CHANCE, finding)

    return all_of(every_setting(runs, below), _margin_constant(runs))


_CHANCE = "the bound is at least 1/2, the error of a coin."


def _margin_constant(runs: CurvesRuns) -> Finding:
    r"""The C with which the mean margins alone give the bound, by Lemma 4.2, over the sizes.

    Margins over a Lipschitz constant of the net are :math:`\sqrt{n/d}\, \|\mu\|^2 / C` at least, so C is
    their quotient; errors below one test point cannot show it, the margins can.
    """
    if any(run.result.final.margin is None for run in runs):
        raise Undecided("some nets have no normalised margin.")
    signals = {float(run.config.d): _signal(run.config) for run in runs}
    d, margins = pivot(runs, lambda run: run.config.d, lambda run: run.result.final.margin or math.nan)
    signal = np.array([signals[size] for size in d])
    return one_constant(d, signal / margins, "at most", growth_margin(d, signal))


def _signal(config: MixtureConfig) -> float:
    return math.sqrt(config.n / config.d) * config.mu**2


def _floor(runs: Sequence[Run[MixtureConfig, Evaluation]]) -> Finding:
    r"""No classifier is better: neither the best one there is, in closed form, nor any trained net.

    The strongest classifiers known are :math:`\mathrm{sign} \langle \mu, x \rangle`, and a constant label
    once the attack reaches the signal. PGD's error of a net is a lower bound on its true one.
    """
    configs = {run.config_hash: run.config for run in runs}.values()
    slacks = [_best_error(config) - error_floor(config) for config in configs]
    best = exact_bound(slacks, "at least", 0.0, ERROR, "closed form of the best classifier")

    def above(group: Sequence[Run[MixtureConfig, Evaluation]]) -> Finding:
        errors = [run.result.robust_error for run in group]
        return bound(errors, "at least", error_floor(group[0].config), ERROR)

    note = f"The best known classifiers lie {min(slacks):.3g} to {max(slacks):.3g} above the floor."
    return noted(all_of(every_setting(runs, above), best), note)


def _best_error(config: MixtureConfig) -> float:
    """Robust error of the sign of <mu, x> in a Gaussian mixture, or a constant label's if that is smaller."""
    spread = math.sqrt(config.law.variance)
    mu, tau, flips = config.mu / spread, config.test_tau / spread, config.flip_rate
    return min(0.5, float((1 - flips) * ndtr(tau - mu) + flips * ndtr(tau + mu)))


def _headline(runs: CurvesRuns) -> Finding:
    """Robust training error 0 and robust test error 0.1, both by the paper's own attack."""
    train = bound([run.result.final.train_error for run in runs], "at most", 0.0, ERROR)
    robust = [run.result.final.robust_error for run in runs]
    test = equal(robust, runs[0].config.flip_rate, PRINTED, ERROR)
    safe = [run.result.final.certified_error for run in runs]
    known = [error for error in safe if error is not None]
    note = f"A certificate allows a robust error up to {max(known):.3f}." if known else ""
    return noted(all_of(test, train), f"Robust training error: {train}.", note)


def _trained_conditions(config: MixtureConfig) -> list[Condition]:
    return [*conditions(config), _trained(config)]


def _trained(config: MixtureConfig) -> Condition:
    needed = bounds.training_time(config.setting(), math.log(2))
    return at_least("Thm 3.1: T >= T_bar, at tol = log 2, the loss of the zero net", config.steps, needed)


def _regime_conditions(config: MixtureConfig) -> list[Condition]:
    return [*conditions_without_step_size(config), _trained(config)]


def _robust_regime_conditions(config: MixtureConfig) -> list[Condition]:
    return [*_regime_conditions(config), robust_condition(config.setting())]


def _floor_conditions(config: MixtureConfig) -> list[Condition]:
    return [
        is_so("Thm 3.2: label flips are independent", config.flips == "independent"),
        is_so("Thm 3.2: l2 attacks", config.p == 2, f"p = {config.p:g}"),
        at_most("Thm 3.2: flip rate <= 1/2", config.flip_rate, 0.5),
    ]


def _made_up(
    config: MixtureConfig, *, falls: float = 1.0, error: float = 0.1, margin: float = 0.5, loss: float = 3e-4
) -> CurvesResult:
    """A run whose loss falls as a power of time, with these errors and margins at the end."""
    steps = [1, 10, 100, config.steps]
    losses = [0.5 * step**-falls for step in steps]
    final = Evaluation(
        train_loss=loss,
        train_error=0.0 if falls > 0.5 else 0.3,
        clean_error=error,
        robust_error=error,
        certified_error=error,
        certified_train_error=0.0,
        margin=margin * _signal(config),
    )
    share = [error] * len(steps)
    return CurvesResult(
        iterations=steps,
        train_loss=losses,
        train_error=share,
        clean_error=share,
        robust_error=share,
        final=final,
    )


def _net_at(config: MixtureConfig, *, above_floor: float) -> Evaluation:
    error = error_floor(config) + above_floor
    return Evaluation(train_loss=0.1, train_error=0.0, clean_error=error, robust_error=error)


_ASCENT = Control(
    name="gradient ascent",
    removes="sign",
    settings={"direction": "ascent"},
    cheap={"n_test": 100},
    why="Steps that raise the loss fit nothing and learn the wrong side of the signal.",
)
_SMALL_ASCENT = Control(
    name="gradient ascent",
    removes="sign",
    settings={"direction": "ascent"},
    cheap={"m": 100, "n_test": 100},
    why=_ASCENT.why,
)


def _regime(
    item: Literal["thm3.1.1.regime", "thm3.1.2.regime", "thm3.1.3.regime"],
    evaluate: Callable[[CurvesRuns], Finding],
    bad: Callable[[MixtureConfig], CurvesResult],
) -> Check[MixtureConfig, CurvesResult]:
    """A part of Theorem 3.1 on trained nets, where every hypothesis but the step size is met."""
    robust = item == "thm3.1.3.regime"
    return Check(
        claim_id=f"benign.{item}",
        experiment=REGIME,
        evaluate=evaluate,
        conditions=_robust_regime_conditions if robust else _regime_conditions,
        satisfied=made_up(REGIME, _made_up),
        violated=made_up(REGIME, bad),
        controls=(_ASCENT,),
        reading=_REGIME_READINGS[item],
        headline=True,
    )


_REGIME_READINGS = {
    "thm3.1.1.regime": "The proof's bound at time sum of steps, c0 = 1; training error between PGD's and a "
    "certificate's.",
    "thm3.1.2.regime": "c = 1/2 and C = 1 in every cell; beside it the C of the margins, one constant over "
    "the cells.",
    "thm3.1.3.regime": "As part 2; the robust error lies between PGD's and a certificate's.",
}

CHECKS = (
    Check(
        claim_id="benign.thm3.1.1",
        experiment=THM31,
        evaluate=_loss_law,
        conditions=_trained_conditions,
        satisfied=made_up(THM31, _made_up),
        violated=made_up(THM31, partial(_made_up, falls=0.0)),
        controls=(_SMALL_ASCENT,),
        reading="T_bar hides a constant: loss over the proof's law in the time sum of steps may not grow "
        "along a run. Training error between PGD's and a certificate's.",
        headline=True,
    ),
    _regime("thm3.1.1.regime", _trained_loss, partial(_made_up, loss=2.0)),
    _regime("thm3.1.2.regime", _clean_error, partial(_made_up, error=0.2)),
    _regime("thm3.1.3.regime", _robust_error, partial(_made_up, error=0.2)),
    Check(
        claim_id="benign.thm3.2",
        experiment=FLOOR,
        evaluate=_floor,
        conditions=_floor_conditions,
        satisfied=made_up(FLOOR, partial(_net_at, above_floor=0.03)),
        violated=made_up(FLOOR, partial(_net_at, above_floor=-0.03)),
        controls=(
            Control(
                name="no attack",
                removes="attack",
                settings={"attack_step_ratio": 1e-6},
                cheap={"mu": 2.0, "test_ratio": 1.0, "steps": 30},
                why="Without a perturbation a net keeps its clean error, below what an attack would force.",
            ),
        ),
        reading="PGD's robust error of a net is a lower bound on its true one; the best classifier known is "
        "compared in closed form.",
        headline=True,
    ),
    Check(
        claim_id="benign.sec5",
        experiment=SEC5,
        evaluate=_headline,
        satisfied=made_up(SEC5, partial(_made_up, error=0.11)),
        violated=made_up(SEC5, partial(_made_up, error=0.2)),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"lr": 1e-9, "steps": 1},
                cheap={"m": 50, "n_test": 200},
                why="A net that is not trained neither fits the training set nor generalises.",
            ),
        ),
        reported="100% robust training accuracy; robust test error converges to 0.1",
        reading="PGD strength and step in units of |mu|; all parameters trained, PyTorch start. 0.1 is "
        "read as its printed decimal; both errors by the paper's attack.",
        headline=True,
    ),
)
