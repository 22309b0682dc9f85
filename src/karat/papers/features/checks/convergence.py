"""Theorems 1 and 34: what training promises."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.papers.features.checks.made_up import made_up_methods, made_up_scores
from karat.papers.features.checks.printed_size import PERMUTED, collapsed
from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.tables import GENERAL, PAPER, TAB1
from karat.study.check import Check
from karat.study.finding import LOSS, Finding
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import Undecided, bound, vacuous_if
from karat.study.run import examples


def _theorem1(config: LearningConfig) -> list[Condition]:
    sizes = regimes.theorem1(
        k=config.k,
        D=config.D,
        pairs=config.pairs,
        p_o=config.p_o,
        label_corr=bounds.parity_label_corr(config.p_o),
    )
    return [*sizes, *_theorem26(config)]


def _theorem26(config: LearningConfig) -> list[Condition]:
    """The algorithm that the theorem speaks of."""
    rate = config.k**2 / (config.steps * config.pairs ** (1 / 3))
    return [
        at_least("Thm 26: T = m^(4/3)", config.steps, config.pairs ** (4 / 3)),
        at_most("Thm 26: one rate k^2/(T m^(1/3)) after step two", max(*config.lr_a, config.lr_hidden), rate),
        is_so("Eq 4: no momentum", config.momentum == 0),
        is_so("Eq 4: the whole sample in every step", config.batch_size >= config.n),
        at_most("Lem 23: first rate label_corr^2 sigma~/(k m^3)", config.lr_first, config.theory_lr),
    ]


def convergence(runs: Sequence[MethodRun]) -> Finding:
    """Hinge loss of the trained network against the rate with every constant 1."""
    config = runs[0].config
    predicted = bounds.convergence_bound(config.k, config.pairs, config.steps)
    if any("network" not in run.result.methods for run in runs):
        raise Undecided("the network was not trained.")
    finding = bound([run.result.methods["network"].hinge for run in runs], "at most", predicted, LOSS)
    why = f"with constants 1 the rate is {predicted:.3g}, and the zero function has loss 1."
    return vacuous_if(predicted >= 1, why, finding)


def _theorem34(config: LearningConfig) -> list[Condition]:
    negative = 0.5 if config.negative_rate is None else config.negative_rate
    coherence = 0.0 if config.dictionary == "orthonormal" else math.sqrt(math.log(config.D) / config.d)
    return [
        *regimes.theorem34(
            k=config.k,
            d=config.d,
            D=config.D,
            pairs=config.pairs,
            p_o=config.p_o,
            label_corr=bounds.parity_label_corr(config.p_o),
            p_min=min(negative, 1 - negative),
            sigma_zeta=config.sigma_zeta,
        ),
        at_most(
            "Thm 34: coherence <= 1/(16 D)",
            coherence,
            1 / (16 * config.D),
            "" if coherence == 0 else "random patterns have it of the order sqrt(log D/d)",
        ),
        is_so("Sec F.1.1: unweighted loss after the first two steps", config.sampling == "plain"),
        *_theorem26(config),
    ]


_WIDE = replace(PAPER, k=3, pairs=10**7, steps=10**7)


CHECKS = (
    Check(
        claim_id="features.thm1",
        experiment=TAB1,
        evaluate=convergence,
        conditions=_theorem1,
        satisfied=examples((_WIDE, made_up_methods({"network": made_up_scores(1.0, hinge=0.01)}))),
        violated=examples((_WIDE, made_up_methods({"network": made_up_scores(0.5, hinge=0.9)}))),
        controls=(PERMUTED,),
        reading="Rate of Theorem 26 with constants 1; tol = p_fail = 1/2 in the hypotheses. Rates that fade "
        "linearly are ours too.",
    ),
    Check(
        claim_id="features.appF",
        experiment=GENERAL,
        evaluate=convergence,
        conditions=_theorem34,
        satisfied=examples((_WIDE, made_up_methods({"network": made_up_scores(1.0, hinge=0.01)}))),
        violated=examples((_WIDE, made_up_methods({"network": made_up_scores(0.5, hinge=0.9)}))),
        controls=(collapsed(PERMUTED, d=60, D=20, methods=("network",)),),
        reading="Class weights in the first two steps only; noise zeta/sigma~ (printed zeta/sigma_zeta).",
    ),
)
