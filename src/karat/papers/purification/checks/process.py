"""Checks on how training gets there: the mixture law, pure starts and the drift of <w_i, M w*>."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.papers.purification.bounds_hypotheses import late
from karat.papers.purification.checks.controls import CHEAP
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    algorithm_conditions,
    clean_conditions,
    data_conditions,
    each,
    halfway,
    largest_standard,
    mean,
    over_d,
    standard,
)
from karat.papers.purification.experiments.drift import DRIFT, DriftResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.pureinit import PUREINIT, PureInitResult
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding, Unit
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, noted, one_constant, vacuous_if
from karat.study.run import Run, examples, grouped

DriftRuns = Sequence[Run[StepConfig, DriftResult]]

DRIFT_UNIT = Unit("drift per unit of h")


def _pure_start(every: Sequence[Run[OddNetConfig, PureInitResult]]) -> Finding:
    """From beta = 0: the mixture reached by clean training, in units of E|z|_0/d, and its signs."""
    runs = largest_standard(every)
    before, after, again = (
        np.mean(values)
        for values in (
            each(runs, lambda r: r.clean.pgd[0]),
            each(runs, lambda r: r.clean.pgd[-1]),
            each(runs, lambda r: r.robust.pgd[-1]),
        )
    )
    return noted(
        all_of(
            bound(each(runs, lambda r: r.clean.ratio[-1] / r.predicted), "at least", 1 / FACTOR, RATIO),
            bound(each(runs, lambda r: r.clean.aligned[-1]), "at least", 0.75, SHARE),
        ),
        f"In units of E|z|_0/d, after training from exactly 0. Accuracy under attack: {before:.3f} -> "
        f"{after:.3f}, and {again:.3f} after adversarial training.",
    )


def _drift(every: DriftRuns) -> Finding:
    """The worst neuron's step below decay and one-sided growth, against the noise the claim allows, per d."""
    findings = []
    for d, runs in sorted(grouped(standard(every), lambda run: run.config.d).items()):
        allowed = mean(runs, lambda r: r.noise_allowed)
        growth = float(np.mean(each(runs, lambda r: max(r.largest_growth))))
        # The first stop is left out: drifts are still small there, and sampling noise counts more.
        whole = np.mean([np.mean(run.result.total_ratio[1:]) for run in runs])
        note = (
            f"d = {d}: growth reaches {growth:.2f}, the noise term "
            f"{np.mean(each(runs, lambda r: max(r.largest_noise))):.3f}, {allowed:.3f} is allowed; with both "
            f"indicators and the noise term the step is {whole:.3f} of the sum of its parts, on another "
            "sample."
        )
        finding = bound(each(runs, lambda r: max(r.shortfall)), "at most", allowed, DRIFT_UNIT)
        findings.append(
            noted(
                vacuous_if(
                    allowed >= growth, f"at d = {d} it allows more noise than there is growth.", finding
                ),
                note,
            )
        )
    if not findings:
        raise Undecided("no run has finished")
    return all_of(*findings)


def _lowest(every: DriftRuns) -> Finding:
    """The sum over sure winners as one constant times k d, and the smallest <w_i, M w*> against its floor.

    The sum must also be the work of training: more than rows as short as those of the start can have.
    """

    def in_units(run: Run[StepConfig, DriftResult]) -> float:
        return run.result.sure_total[-1] / (run.config.k * run.config.d)

    d, sums = over_d(every, in_units)
    whole = one_constant(d, sums, "at least", halfway(0.5, "a sum of order d, without the factor k"))
    runs = largest_standard(every)
    config = runs[0].config
    power, lowest = config.ticket_rule().xi2 ** 4, each(runs, lambda r: r.lowest[-1])
    floor = -(config.k**3) * power * config.sigma_x**2 / (mean(runs, lambda r: r.lambda_) * config.d**2)
    reach = mean(runs, lambda r: r.reach)
    # By Cauchy-Schwarz no inner product can be below -|w_i| |M w*|: a floor under that says nothing.
    pointwise = [] if floor <= -reach else [bound(lowest, "at least", floor, Unit("inner product"))]
    # A row of the start has the length init_scale sqrt(d), M w* has sqrt(d).
    at_start = [run.result.sure * config.init_scale * config.d for run in runs]
    made = [
        total - most for total, most in zip(each(runs, lambda r: r.sure_total[-1]), at_start, strict=True)
    ]
    said = f"says nothing, |w_i| |M w*| is at most {reach:.3g}" if not pointwise else "is judged"
    return noted(
        all_of(whole, bound(made, "at least", 0.0, Unit("inner product")), *pointwise),
        f"Sum of <w_i, M w*> over {mean(runs, lambda r: r.sure):.0f} sure winners at the largest d: "
        f"{np.mean([in_units(run) for run in runs]):.3f} k d; over all neurons "
        f"{mean(runs, lambda r: r.total[-1]) / (config.k * config.d):.2f} k d.",
        f"The smallest <w_i, M w*> is {np.mean(lowest):.3f}; its floor {floor:.3g} {said}.",
    )


def _late_conditions(config: StepConfig) -> list[Condition]:
    return [*clean_conditions(config), late(config.theorem_setting())]


def _pure_cell(ratio: float) -> tuple[OddNetConfig, PureInitResult]:
    clean = {"ratio": [0.0, ratio], "aligned": [0.5, 0.95], "pgd": [0.8, 0.2]}
    result = made_up(PureInitResult, predicted=0.02, clean=clean, robust={"pgd": [0.7]})
    return OddNetConfig(d=200, k=14, start="pure"), result


def _drift_cells(**values: Any) -> list[tuple[StepConfig, DriftResult]]:
    usual = {
        "shortfall": [0.1],
        "largest_growth": [1.0],
        "largest_noise": [0.1],
        "total_ratio": [1.0, 1.0],
        "noise_allowed": 0.3,
        "total": [1.0],
        "lowest": [0.0],
        "reach": 1.0,
        "lambda_": 1e-4,
    }
    return [
        (
            StepConfig(d=d, k=k),
            made_up(DriftResult, **({"sure_total": [0.1 * k * d]} | usual | values)),
        )
        for d, k in ((50, 7), (100, 9), (200, 14))
    ]


_PURE_UNTRAINED = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0},
    cheap=CHEAP,
    why="Pure features themselves have no mixture, and numbers that are all 0 follow no power law.",
    unanswered=True,
)
_RANDOM_STEPS = Control(
    name="random labels",
    removes="labels",
    settings={"step_labels": "random"},
    cheap={"d": 50, "k": 7, "batch": 512, "sigma_x": 0.05},
    why="A step on labels of a coin does not push <w_i, M w*> by what the true labels promise.",
)

CHECKS = (
    Check(
        claim_id="purification.sec6.pureinit",
        experiment=PUREINIT,
        evaluate=_pure_start,
        conditions=data_conditions,
        satisfied=examples(_pure_cell(0.018)),
        violated=examples(_pure_cell(0.004)),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"clean_steps": 0, "robust_steps": 0},
                cheap={**CHEAP, "d": 100, "k": 9},
                why="Pure features themselves have no mixture.",
            ),
        ),
        headline=True,
        reading=f"Accumulates: at least 1/{FACTOR:g} of E|z|_0/d, with the sign of w* in three quarters of "
        "the coefficients, half-way from chance to all.",
    ),
    Check(
        claim_id="purification.claimE.3",
        experiment=DRIFT,
        evaluate=_drift,
        conditions=algorithm_conditions,
        satisfied=examples(*_drift_cells()),
        violated=examples(*_drift_cells(shortfall=[0.8])),
        controls=(_RANDOM_STEPS,),
        reading="One indicator is half of the pair's gate, by the symmetry x -> -x. The constant of O(.) is "
        "taken as 1 at every d, more than the claim says; prediction and step are on two samples.",
    ),
    Check(
        claim_id="purification.lemE.2",
        experiment=DRIFT,
        evaluate=_lowest,
        conditions=_late_conditions,
        satisfied=examples(*_drift_cells()),
        violated=examples(*_drift_cells(sure_total=[1.0])),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"clean_steps": 0},
                cheap={"batch": 256},
                why="At the start rows are too short for a sum of this order.",
            ),
        ),
        reading="Xi2 = d^(2 gamma c0) with gamma = 0.005, a constant here; the sum as one constant over d, "
        "and beyond what the lengths of the start allow.",
    ),
)
