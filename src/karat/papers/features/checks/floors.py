"""Theorems 2 and 29 and Corollary 3: what fixed features and kernels cannot do."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.papers.features.checks.made_up import made_up_methods, made_up_scores
from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.kernels import COR3, KernelConfig, KernelResult
from karat.papers.features.experiments.methods import MethodScores, MethodsResult
from karat.papers.features.experiments.settings import LearningConfig, Method
from karat.papers.features.experiments.tables import FLOORS, PAPER
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import LENGTH, LOSS, Finding, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, bound, noted, vacuous_if
from karat.study.run import Run, by_setting, examples

C = TypeVar("C", bound=LearningConfig)

KernelRun = Run[KernelConfig, KernelResult]

EXCESS = Unit("hinge loss above the floor")


def not_idle(p_o: float) -> float:
    """Return the hinge loss that tells a learner from the zero function.

    The zero function has loss 1, a learner of all that fixed features can read has p_o: half-way.

    Args:
        p_o: share of coins in the mixture.
    """
    return (1 + p_o) / 2


def fixed_features(runs: Sequence[MethodRun]) -> Finding:
    """Test hinge loss of random features less the theorem's floor for their number and weight norm."""
    parts, notes = [], []
    for group in by_setting(runs):
        config = group[0].config
        if any("rf" not in run.result.methods for run in group):
            raise Undecided("random features were not trained.")
        scores = [run.result.methods["rf"] for run in group]
        norms = [score.known("weight_norm") for score in scores]
        floors = [bounds.fixed_feature_floor(config.p_o, config.k, config.pairs, norm) for norm in norms]
        hinge = [score.hinge for score in scores]
        excess = [loss - floor for loss, floor in zip(hinge, floors, strict=True)]
        why = f"sqrt(2N) B/2^k is at least 1 at k = {config.k}."
        parts += [
            vacuous_if(max(floors) == 0, why, bound(excess, "at least", 0.0, EXCESS)),
            bound(hinge, "at most", not_idle(config.p_o), LOSS),
        ]
        notes.append(
            f"k = {config.k}, N = {config.pairs}, B = {np.mean(norms):.3g}: hinge {np.mean(hinge):.3f}, "
            f"floor {np.mean(floors):.3f}."
        )
    return noted(all_of(*parts), *notes)


def _theorem2(config: C) -> list[Condition]:
    return [
        *regimes.theorem2(k=config.k, D=config.D, p_o=config.p_o),
        is_so("Thm 2: parity labels", config.task == "parity"),
    ]


def coin_floor(runs: Sequence[MethodRun]) -> Finding:
    r"""Correlation of random features with the label on fair coins, against the slope of the floor in B.

    .. math:: |E[y \Psi]| \le \sqrt{2N} / 2^k

    The hinge loss of every linear model of norm B is at least :math:`1 - B |E[y \Psi]|`, so one set A below
    the slope proves the floor for these features; sampling noise only raises the measured length.
    """
    parts, notes = [], []
    for group in by_setting(runs):
        config = group[0].config
        slope = math.sqrt(2 * config.pairs) / 2**config.k
        if slope < config.n**-0.5:  # below the sampling error of one correlation: nothing could be seen
            continue
        if any("rf_unstructured" not in run.result.methods for run in group):
            raise Undecided("random features without structure were not looked at.")
        strength = [run.result.methods["rf_unstructured"].known("strength") for run in group]
        parts.append(bound(strength, "at most", slope, LENGTH))
        exact = math.sqrt(config.pairs / math.comb(config.D, config.k))
        notes.append(
            f"k = {config.k}: {np.mean(strength):.2g} against {slope:.2g}; Parseval over all sets A gives at "
            f"most {exact:.1g} on average."
        )
    if not parts:
        raise Undecided("every slope lies below the sampling error of a correlation.")
    return noted(all_of(*parts), *notes)


def _theorem29(config: LearningConfig) -> list[Condition]:
    return [
        *regimes.theorem29(k=config.k, D=config.D),
        is_so("Thm 29: the label is a parity", config.task == "parity"),
    ]


def kernels(runs: Sequence[KernelRun]) -> Finding:
    """Hinge loss of kernel machines, which must have learned something, less their exact floor."""
    parts, notes = [], []
    for group in by_setting(runs):
        config = group[0].config
        excess = [run.result.hinge - run.result.floor for run in group]
        hinge = [run.result.hinge for run in group]
        parts += [
            bound(excess, "at least", 0.0, EXCESS),
            bound(hinge, "at most", not_idle(config.p_o), LOSS),
        ]
        floor = np.mean([run.result.floor for run in group])
        notes.append(f"Bandwidth {config.bandwidth:g}: hinge {np.mean(hinge):.3f}, floor {floor:.4f}.")
    return noted(all_of(*parts), *notes)


def _trained(method: Method, scores: MethodScores) -> MethodsResult:
    return made_up_methods({method: scores})


_FLOOR = replace(PAPER, k=9, D=144, pairs=100)

_SMALL_FLOORS = {"k": 9, "D": 144, "d": 144, "n_test": 2000, "n_validation": 1000}

IDLE_RF = Control(
    name="zero function",
    removes="learner",
    settings={"lr_rf": (0.0,)},
    cheap={**_SMALL_FLOORS, "n": 2000, "methods": ("rf",)},
    why="A floor under a function that never learned says nothing about fixed features.",
)

TOLD_RF = Control(
    name="features that know A",
    removes="formula",
    settings={"fixed_features": "told"},
    cheap={**_SMALL_FLOORS, "n": 5000, "methods": ("rf",), "lr_rf": (0.1, 1.0)},
    why="The floor is for features fixed before the data; steps of the count of relevant ones go below it.",
)
LINEAR_LABELS = Control(
    name="majority labels",
    removes="labels",
    settings={"task": "majority"},
    cheap={"n": 5000, "methods": ("rf_unstructured",), "lr_rf": (0.1,), "steps": 10},
    why="A label that is a majority, no parity, correlates with random features.",
)

_KERNEL = KernelConfig(d=100, D=100, k=5, n=1500, pairs=1, steps=3, methods=())

IDLE_KERNEL = Control(
    name="zero function",
    removes="learner",
    settings={"ridges": (1e12,)},
    cheap={"n": 1000},
    why="A ridge without measure leaves the zero function, which never learned.",
)

RELEVANT_KERNEL = Control(
    name="kernel of the relevant patterns",
    removes="formula",
    settings={"sees": "relevant", "bandwidth": 0.05},
    cheap={"n": 1000},
    why="A kernel that knows A is not fixed before the data and goes below the floor.",
)


def _kernel(hinge: float) -> list[KernelRun]:
    result = KernelResult(
        test=0.75, hinge=hinge, coin_hinge=1.0, rkhs_norm=1.0, eigenvalue=1e-6, floor=0.4995
    )
    return examples((_KERNEL, result))


CHECKS = (
    Check(
        claim_id="features.thm2",
        experiment=FLOORS,
        evaluate=fixed_features,
        conditions=_theorem2,
        satisfied=examples((_FLOOR, _trained("rf", made_up_scores(0.75, hinge=0.55, weight_norm=5.0)))),
        violated=examples((_FLOOR, _trained("rf", made_up_scores(1.0, hinge=0.1, weight_norm=5.0)))),
        controls=(IDLE_RF, TOLD_RF),
        reading="Hinge SGD on random features, the theorem's own constant at the measured N and B; the loss "
        "must also lie half-way below that of the zero function, which no floor could exclude.",
        headline=True,
    ),
    Check(
        claim_id="features.thm29",
        experiment=FLOORS,
        evaluate=coin_floor,
        conditions=_theorem29,
        satisfied=examples((_FLOOR, _trained("rf_unstructured", made_up_scores(0.5, strength=0.01)))),
        violated=examples((_FLOOR, _trained("rf_unstructured", made_up_scores(0.5, strength=0.2)))),
        controls=(LINEAR_LABELS,),
        reading="Random features; 1 - B |E[y Psi]|, below every hinge loss, is compared with the floor "
        "wherever its slope exceeds 1/sqrt(n), the sampling error of one correlation.",
    ),
    Check(
        claim_id="features.cor3",
        experiment=COR3,
        evaluate=kernels,
        conditions=_theorem2,
        satisfied=_kernel(0.6),
        violated=_kernel(0.2),
        controls=(IDLE_KERNEL, RELEVANT_KERNEL),
        reading="Radial kernel; poly(d, L)/2^k is replaced by the exact eigenvalue at the parities. The loss "
        "must also lie half-way below that of the zero function.",
    ),
)
