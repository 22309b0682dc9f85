"""The figures drawn from the runs of the tables: who learns better, and where the neurons point."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from karat.papers.features.checks.made_up import made_up_methods, made_up_scores
from karat.papers.features.checks.printed_size import (
    ASCENT,
    PERMUTED,
    SIGNS,
    SMALL_WORLD,
    TRAINED_METHODS,
    accuracies_of,
    collapsed,
    descended,
    method_check,
)
from karat.papers.features.checks.reported import REPORTED, MethodRun
from karat.papers.features.experiments.methods import MethodScores, MethodsResult
from karat.papers.features.experiments.settings import LearningConfig, Method
from karat.papers.features.experiments.tables import HIDDEN, INTERVAL, PAPER, TAB1, TAB2, TAB3, TAB4, TAB5
from karat.study.control import Control
from karat.study.finding import ACCURACY, COSINE, RATIO, Finding, Margin, Unit
from karat.study.judging import all_of, bound, equal, noted
from karat.study.run import by_setting, examples

LEAD = Unit("difference of accuracies", -1.0, 1.0)

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

IMPROVED = 0.99
"""Largest share of 1 - cos that step two may leave of step one's: less than a hundredth is no improvement."""


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


def aligned(runs: Sequence[MethodRun]) -> Finding:
    """Mean cosine to the truth on the side of the output weight after two steps, better than after one."""
    one, two = ([getattr(run.result, step).cos_mean for run in runs] for step in ("step1", "step2"))
    left = [(1 - b) / (1 - a) if a < 1 else math.nan for a, b in zip(one, two, strict=True)]
    return noted(
        all_of(
            bound([run.result.step2.signed for run in runs], "at least", 0.99, COSINE),
            bound(left, "at most", IMPROVED, RATIO),
        ),
        f"Mean |cos| {np.mean(one):.4f} after one step, {np.mean(two):.4f} after two.",
    )


def rescaled_gap(runs: Sequence[MethodRun]) -> Finding:
    """Accuracy that step-one directions lack with the lengths of step two: half the printed gap at least."""
    one, two = (np.array(accuracies_of(runs, method)) for method in ("one_step_rescaled", "two_step"))
    table1 = REPORTED["tab1", ""]
    printed_gap = (table1["two_step"].test - table1["one_step"].test) / 100
    return noted(
        bound(two - one, "at least", printed_gap / 2, LEAD),
        f"Rescaled One Step {100 * one.mean():.1f}%, Two Step {100 * two.mean():.1f}%.",
    )


def hidden(runs: Sequence[MethodRun]) -> Finding:
    """After two steps all neurons lie along one axis, the difference of the class means."""
    before = [run.result.step1.cos_mean for run in runs]
    return noted(
        bound([run.result.step2.signed for run in runs], "at least", 0.95, COSINE),
        f"Mean |cos| to the class-mean difference after one step: {np.mean(before):.3f}.",
    )


SKIPPED = Control(
    name="no second step",
    removes="training",
    settings={**SMALL_WORLD, "methods": (), "second_step": "skipped"},
    why="Neurons after one step are not improved by a second one.",
)
IDLE = Control(
    name="untrained fixed features",
    removes="learner",
    settings={**SMALL_WORLD, "lr_ntk": (0.0,), "lr_rf": (0.0,)},
    why="A lead over methods that never learned is none.",
)
_RANKED = {"methods": ("network", "ntk", "rf")}
_TURNED = {"methods": ()}


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


def _steps(one: float) -> MethodsResult:
    return made_up_methods({"one_step_rescaled": made_up_scores(one), "two_step": made_up_scores(1.0)})


def _figure7(network_without: float) -> MethodsResult:
    methods: dict[Method, MethodScores] = {
        "network": made_up_scores(1.0, curve=(0.9, 1.0)),
        "ntk": made_up_scores(0.99, curve=(0.6, 0.99)),
        "rf": made_up_scores(0.7),
        "network_unstructured": made_up_scores(network_without),
        "ntk_unstructured": made_up_scores(0.99),
    }
    return made_up_methods(methods, majority_unstructured=0.95)


def _at(**settings: object) -> LearningConfig:
    return replace(PAPER, **settings)  # type: ignore[arg-type]


_CODES = replace(PAPER, task="hidden", D=250, k=50, methods=())
_WEIGHTED = replace(INTERVAL, weighted=True)
_BALANCED = _at(negative_rate=0.8, weighted=True, sampling="balanced")
_GOOD, _NO_LEAD = made_up_methods(_scores()), made_up_methods(_scores(rf=0.99))
_ALIGNED, _TURNED_AWAY = made_up_methods({}), made_up_methods({}, side=-1)
_INTERVAL = {"pairs": 100, "lr_a": (100.0,), "lr_ntk": (1.0,)}

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
        "fig6",
        TAB1,
        aligned,
        satisfied=examples((PAPER, _ALIGNED)),
        violated=examples((PAPER, _TURNED_AWAY)),
        controls=(ASCENT, PERMUTED, SKIPPED),
        reported="cosine > 0.99",
        reading="Mean over all neurons of the cosine to sum_A M_j times the sign of the output weight; the "
        "second step must also bring the neurons nearer.",
        headline=True,
    ),
    method_check(
        "secE.1.1.scale",
        TAB1,
        rescaled_gap,
        satisfied=examples((PAPER, _steps(0.53))),
        violated=examples((PAPER, _steps(1.0))),
        controls=(PERMUTED,),
        reported="52.2 after one step, 100.0 after two",
        reading="Step-one directions get the lengths, biases and output weights of step two; the gap stays "
        "if half of the printed one does.",
    ),
    method_check(
        "fig7",
        TAB2,
        figure7,
        satisfied=examples((INTERVAL, _figure7(0.99))),
        violated=examples((INTERVAL, _figure7(0.8))),
        controls=(collapsed(PERMUTED, weighted=False, **_INTERVAL),),
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
        controls=(collapsed(PERMUTED, weighted=True, **_INTERVAL),),
        reading="As Figure 7, with class weights in the first two steps, which are ours.",
    ),
    method_check(
        "fig8",
        TAB2,
        aligned,
        satisfied=examples((INTERVAL, _ALIGNED)),
        violated=examples((INTERVAL, _TURNED_AWAY)),
        controls=(
            collapsed(PERMUTED, weighted=False, **_INTERVAL),
            collapsed(SKIPPED, weighted=False, **_INTERVAL),
        ),
        reported="clusters at +- the relevant sum",
        reading="As Figure 6: mean signed cosine of 0.99, improved by the second step.",
    ),
    method_check(
        "fig9",
        TAB3,
        every_part(ranking),
        satisfied=examples((_at(d=100), _GOOD), (_at(d=2000), _GOOD)),
        violated=examples((_at(d=100), _GOOD), (_at(d=2000), _NO_LEAD)),
        controls=(
            collapsed(ASCENT, d=100, methods=TRAINED_METHODS),
            collapsed(IDLE, d=100, **_RANKED),
        ),
        reading="As Figure 5; without structure only the network is run. In pattern space nothing but the "
        f"start depends on d, so this repeats Figure 5. {SIGNS}",
    ),
    method_check(
        "fig10",
        TAB3,
        every_part(aligned),
        satisfied=examples((_at(d=100), _ALIGNED), (_at(d=2000), _ALIGNED)),
        violated=examples((_at(d=100), _ALIGNED), (_at(d=2000), _TURNED_AWAY)),
        controls=(
            collapsed(ASCENT, d=100, **_TURNED),
            collapsed(PERMUTED, d=100, **_TURNED),
            collapsed(SKIPPED, d=100),
        ),
        reading="As Figure 6; in pattern space this repeats it, since the steps do not depend on d.",
    ),
    method_check(
        "fig11",
        TAB4,
        every_part(ranking),
        satisfied=examples((_at(negative_rate=0.8), _GOOD)),
        violated=examples((_at(negative_rate=0.8), _NO_LEAD)),
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
        "fig12",
        TAB4,
        every_part(aligned),
        satisfied=examples((_at(negative_rate=0.8), _ALIGNED)),
        violated=examples((_at(negative_rate=0.8), _TURNED_AWAY)),
        controls=(
            collapsed(ASCENT, negative_rate=0.8, weighted=False, sampling="plain", **_TURNED),
            collapsed(SKIPPED, negative_rate=0.8, weighted=False, sampling="plain"),
        ),
        reading="As Figure 6, with the paper's own loss.",
    ),
    method_check(
        "fig13",
        TAB5,
        every_part(ranking),
        satisfied=examples((_at(n=25_000), _GOOD)),
        violated=examples((_at(n=25_000), _NO_LEAD)),
        controls=(collapsed(IDLE, **_RANKED),),
        reading=f"As Figure 5; without structure only the network is run. {SIGNS}",
    ),
    method_check(
        "fig14",
        TAB5,
        every_part(aligned),
        satisfied=examples((_at(n=25_000), _ALIGNED)),
        violated=examples((_at(n=25_000), _TURNED_AWAY)),
        controls=(collapsed(ASCENT, **_TURNED), collapsed(PERMUTED, **_TURNED), SKIPPED),
        reading="As Figure 6.",
    ),
    method_check(
        "secE.3.1",
        HIDDEN,
        hidden,
        satisfied=examples((_CODES, _ALIGNED)),
        violated=examples((_CODES, made_up_methods({}, step2=0.5))),
        controls=(
            collapsed(PERMUTED, **_TURNED),
            collapsed(SKIPPED),
        ),
        reading="Ground truth is the class-mean difference; a mean cosine of 0.95 is read as a cluster.",
    ),
)
