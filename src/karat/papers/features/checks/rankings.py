"""Figures 5, 7, 9, 11 and 13: who learns better."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from karat.papers.features.checks.made_up import made_up_methods, made_up_scores
from karat.papers.features.checks.printed_size import (
    ASCENT,
    INTERVAL_WORLD,
    LEAD,
    PERMUTED,
    SIGNS,
    SMALL_WORLD,
    TRAINED_METHODS,
    accuracies_of,
    collapsed,
    descended,
    method_check,
)
from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.methods import MethodScores, MethodsResult
from karat.papers.features.experiments.settings import Method
from karat.papers.features.experiments.tables import INTERVAL, PAPER, TAB1, TAB2, TAB3, TAB4, TAB5
from karat.study.control import Control
from karat.study.finding import ACCURACY, Finding, Margin
from karat.study.judging import all_of, bound, equal, noted
from karat.study.run import by_setting, examples

CLEAR = 0.05
"""Smallest lead in accuracy that is `significant`: ten times the standard deviation that the paper gives."""

TRAINED = 0.625
"""Accuracy of a fixed-feature method that has learned something: half-way between chance and 0.75, what
knowing the label of the readable half of the inputs gives."""

CHANCE = Margin(0.03, "four standard deviations of the accuracy on 5,000 test points of a fair coin")

SIMILAR = 0.02
"""Distance in accuracy at which NTK has reached the network."""

SLIGHT = 0.03
"""Accuracy that may be lost without structure."""


def every_part(judge: Callable[[Sequence[MethodRun]], Finding]) -> Callable[[Sequence[MethodRun]], Finding]:
    """Return the evaluation that asks for the same in every part of a table.

    Args:
        judge: runs of equal settings -> finding.
    """
    return lambda runs: all_of(*map(judge, by_setting(runs)))


def ranking(runs: Sequence[MethodRun]) -> Finding:
    """Lead of the network over the better fixed-feature method, both of which must have learned something."""
    ntk, rf = (np.array(accuracies_of(runs, method)) for method in ("ntk", "rf"))
    leads = np.array(accuracies_of(runs, "network")) - np.maximum(ntk, rf)
    parts = [
        bound(leads, "at least", CLEAR, LEAD),
        bound(np.minimum(ntk, rf), "at least", TRAINED, ACCURACY),
        descended(runs),
    ]
    if runs[0].config.negative_rate is None and "network_unstructured" in runs[0].result.methods:
        parts.append(equal(accuracies_of(runs, "network_unstructured"), 0.5, CHANCE, ACCURACY))
    return all_of(*parts)


def figure5(runs: Sequence[MethodRun]) -> Finding:
    """The network leads with structure; without it every method is at chance."""
    methods: tuple[Method, ...] = ("ntk_unstructured", "rf_unstructured")
    at_chance = [equal(accuracies_of(runs, method), 0.5, CHANCE, ACCURACY) for method in methods]
    return all_of(ranking(runs), *at_chance)


def figure7(runs: Sequence[MethodRun]) -> Finding:
    """Interval labels: the network learns faster than NTK, which reaches it, RF stays below; no structure."""
    network, ntk, rf = (np.array(accuracies_of(runs, method)) for method in ("network", "ntk", "rf"))
    comparisons = {
        "lead over RF": bound(network - rf, "at least", CLEAR, LEAD),
        "distance of NTK": bound(abs(network - ntk), "at most", SIMILAR, LEAD),
        "lead over NTK in mean accuracy over the steps": bound(
            [_mean_lead(run, "network", "ntk") for run in runs], "at least", 0.0, LEAD
        ),
        "loss of the network without structure": bound(
            network - accuracies_of(runs, "network_unstructured"), "at most", SLIGHT, LEAD
        ),
        "loss of NTK without structure": bound(
            ntk - accuracies_of(runs, "ntk_unstructured"), "at most", SLIGHT, LEAD
        ),
    }
    listed = "; ".join(f"{name} {finding} ({finding.outcome})" for name, finding in comparisons.items())
    majorities = [run.result.majority_unstructured for run in runs]
    majority = max((share for share in majorities if share is not None), default=math.nan)
    return noted(
        all_of(*comparisons.values(), descended(runs)),
        f"Means: {listed}. Without structure a constant answer already reaches {majority:.3f}.",
    )


def _mean_lead(run: MethodRun, first: Method, second: Method) -> float:
    """Mean over the evaluated steps of the difference of two test-accuracy curves."""
    leader, follower = run.result.methods[first], run.result.methods[second]
    # The network's curve begins after its feature steps, so the two are evaluated at different steps.
    behind = np.interp(leader.curve_steps, follower.curve_steps, follower.curve)
    return float(np.mean(np.array(leader.curve) - behind))


IDLE = Control(
    name="untrained fixed features",
    removes="learner",
    settings={"lr_ntk": (0.0,), "lr_rf": (0.0,)},
    cheap=SMALL_WORLD,
    why="A lead over methods that never learned is none.",
)

_RANKED = {"methods": ("network", "ntk", "rf")}


def _scores(
    network: float = 1.0, ntk: float = 0.84, rf: float = 0.76, coins: float = 0.5
) -> dict[Method, MethodScores]:
    unstructured: tuple[Method, ...] = ("network_unstructured", "ntk_unstructured", "rf_unstructured")
    return {
        "network": made_up_scores(network),
        "ntk": made_up_scores(ntk),
        "rf": made_up_scores(rf),
        **{method: made_up_scores(coins) for method in unstructured},
    }


def _figure7(network_without: float) -> MethodsResult:
    methods: dict[Method, MethodScores] = {
        "network": made_up_scores(1.0, curve=(0.9, 1.0)),
        "ntk": made_up_scores(0.99, curve=(0.6, 0.99)),
        "rf": made_up_scores(0.7),
        "network_unstructured": made_up_scores(network_without),
        "ntk_unstructured": made_up_scores(0.99),
    }
    return made_up_methods(methods, majority_unstructured=0.95)


_WEIGHTED = replace(INTERVAL, weighted=True)

_BALANCED = replace(PAPER, negative_rate=0.8, weighted=True, sampling="balanced")

_GOOD, _NO_LEAD = made_up_methods(_scores()), made_up_methods(_scores(rf=0.99))


CHECKS = (
    method_check(
        "fig5",
        TAB1,
        figure5,
        satisfied=examples((PAPER, _GOOD)),
        violated=examples((PAPER, made_up_methods(_scores(coins=0.6)))),
        controls=(ASCENT, PERMUTED, IDLE),
        reading=f"Significantly lower is read as by {CLEAR:g} at least, chance as one half up to 0.03. "
        f"{SIGNS}",
        headline=True,
    ),
    method_check(
        "fig7",
        TAB2,
        figure7,
        satisfied=examples((INTERVAL, _figure7(0.99))),
        violated=examples((INTERVAL, _figure7(0.8))),
        controls=(collapsed(PERMUTED, weighted=False, **INTERVAL_WORLD),),
        reading="NTK within 0.02 is similar, a loss up to 0.03 slight; speed is the mean accuracy over the "
        "evaluated steps. The paper's own loss, without class weights.",
    ),
    method_check(
        "fig7.weighted",
        TAB2,
        figure7,
        as_paper=False,
        satisfied=examples((_WEIGHTED, _figure7(0.99))),
        violated=examples((_WEIGHTED, _figure7(0.8))),
        controls=(collapsed(PERMUTED, weighted=True, **INTERVAL_WORLD),),
        reading="As Figure 7, with class weights in the first two steps, which are ours.",
    ),
    method_check(
        "fig9",
        TAB3,
        every_part(ranking),
        satisfied=examples((replace(PAPER, d=100), _GOOD), (replace(PAPER, d=2000), _GOOD)),
        violated=examples((replace(PAPER, d=100), _GOOD), (replace(PAPER, d=2000), _NO_LEAD)),
        controls=(
            collapsed(ASCENT, d=100, methods=TRAINED_METHODS),
            collapsed(IDLE, d=100, **_RANKED),
        ),
        reading="As Figure 5; without structure only the network is run. In pattern space nothing but the "
        f"start depends on d, so this repeats Figure 5. {SIGNS}",
    ),
    method_check(
        "fig11",
        TAB4,
        every_part(ranking),
        satisfied=examples((replace(PAPER, negative_rate=0.8), _GOOD)),
        violated=examples((replace(PAPER, negative_rate=0.8), _NO_LEAD)),
        controls=(collapsed(IDLE, negative_rate=0.8, weighted=False, sampling="plain", **_RANKED),),
        reading=f"As Figure 5, with the paper's own loss; that NTK is less stable is not judged. {SIGNS}",
    ),
    method_check(
        "fig11.balanced",
        TAB4,
        every_part(ranking),
        as_paper=False,
        satisfied=examples((_BALANCED, _GOOD)),
        violated=examples((_BALANCED, _NO_LEAD)),
        controls=(collapsed(IDLE, negative_rate=0.8, weighted=True, sampling="balanced", **_RANKED),),
        reading="As Figure 11, with class weights in the first two steps and balanced batches after them.",
    ),
    method_check(
        "fig13",
        TAB5,
        every_part(ranking),
        satisfied=examples((replace(PAPER, n=25_000), _GOOD)),
        violated=examples((replace(PAPER, n=25_000), _NO_LEAD)),
        controls=(collapsed(IDLE, **_RANKED),),
        reading=f"As Figure 5; without structure only the network is run. {SIGNS}",
    ),
)
