"""The figures drawn from the runs of the tables: who learns better, and where the neurons point."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from karat.papers.features.checks.printed_size import WEIGHTS, accuracies_of, method_check
from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.settings import Method
from karat.papers.features.experiments.tables import HIDDEN, TAB1, TAB2, TAB3, TAB4, TAB5
from karat.study.claim import Finding
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, worst_finding

CHANCE = 0.03
"""Distance from one half that counts as chance: four standard deviations of 5,000 test points."""

SIMILAR = 0.02
"""Distance in accuracy at which NTK has reached the network."""

SLIGHT = 0.03
"""Accuracy that may be lost without structure."""


def ranking(runs: Sequence[MethodRun]) -> Finding:
    """Smallest lead of the network over both fixed-feature methods, over all runs.

    A lead within the sampling error of the test set would not be one; it is compared with zero.
    """
    ntk, rf = accuracies_of(runs, "ntk"), accuracies_of(runs, "rf")
    fixed = np.maximum(ntk, rf)
    leads = np.array(accuracies_of(runs, "network")) - fixed
    return lower_bound_finding(list(leads), 0.0, deterministic=True)


def figure5(runs: Sequence[MethodRun]) -> Finding:
    """The network leads with structure; without it every method is at chance."""
    finding = ranking(runs)
    methods: tuple[Method, ...] = ("network_unstructured", "ntk_unstructured", "rf_unstructured")
    away = max(abs(value - 0.5) for method in methods for value in accuracies_of(runs, method))
    note = f"Without structure the three methods are within {away:.3f} of chance."
    verdict = "fails" if away > CHANCE else finding.verdict
    return replace(finding, verdict=verdict, caveat=note)


def figure7(runs: Sequence[MethodRun]) -> Finding:
    """Interval labels: the network learns faster than NTK, which reaches it, RF stays below; no structure.

    The worst of four comparisons: lead over RF, distance to NTK, lead in mean accuracy over the steps (speed)
    and accuracy lost without structure, by the network or NTK.
    """
    network, ntk, rf = (np.array(accuracies_of(runs, method)) for method in ("network", "ntk", "rf"))
    lost = np.maximum(
        network - accuracies_of(runs, "network_unstructured"), ntk - accuracies_of(runs, "ntk_unstructured")
    )
    comparisons = {
        "lead over RF": lower_bound_finding(list(network - rf), 0.0),
        "distance of NTK": upper_bound_finding(list(abs(network - ntk)), SIMILAR),
        "lead over NTK in mean accuracy over the steps": lower_bound_finding(
            [_mean_lead(run, "network", "ntk") for run in runs], 0.0
        ),
        "loss without structure": upper_bound_finding(list(lost), SLIGHT),
    }
    listed = "; ".join(
        f"{name} {finding.measured:.3f} ({finding.verdict})" for name, finding in comparisons.items()
    )
    majority = max(_majority_unstructured(run) for run in runs)
    note = f"Means: {listed}. Without structure a constant answer already reaches {majority:.3f}."
    return replace(worst_finding(list(comparisons.values())), caveat=note)


def _mean_lead(run: MethodRun, first: Method, second: Method) -> float:
    """Mean over the evaluated steps of the difference of two test-accuracy curves."""
    leader, follower = run.result.methods[first], run.result.methods[second]
    # The network's curve begins after its feature steps, so the two are evaluated at different steps.
    behind = np.interp(leader.curve_steps, follower.curve_steps, follower.curve)
    return float(np.mean(np.array(leader.curve) - behind))


def _majority_unstructured(run: MethodRun) -> float:
    if run.result.majority_unstructured is None:
        raise KeyError("majority_unstructured")
    return run.result.majority_unstructured


def aligned(runs: Sequence[MethodRun]) -> Finding:
    """Smallest over runs of the neurons' mean |cos| to the ground truth after two steps, against 0.99."""
    cosines = [run.result.step2.cos_mean for run in runs]
    return lower_bound_finding(cosines, 0.99, deterministic=True)


def hidden(runs: Sequence[MethodRun]) -> Finding:
    """After two steps all neurons lie along one axis, the difference of the class means."""
    before = [run.result.step1.cos_mean for run in runs]
    after = [run.result.step2.cos_mean for run in runs]
    finding = lower_bound_finding(after, 0.95, deterministic=True)
    note = f"Mean |cos| to the class-mean difference: {np.mean(before):.3f}, then {np.mean(after):.3f}."
    return replace(finding, caveat=note)


CHECKS = (
    method_check("fig5", TAB1, figure5, reading="Chance is read as one half up to 0.03.", headline=True),
    method_check("fig6", TAB1, aligned, later=False, reported="cosine > 0.99", headline=True),
    method_check(
        "fig7",
        TAB2,
        figure7,
        reading="NTK within 0.02 is similar, a loss up to 0.03 slight; speed is the mean accuracy over the "
        f"evaluated steps. {WEIGHTS}",
    ),
    method_check("fig8", TAB2, aligned, later=False, reported="clusters at +- the relevant sum"),
    method_check("fig9", TAB3, ranking),
    method_check("fig10", TAB3, aligned, later=False),
    method_check("fig11", TAB4, ranking),
    method_check("fig12", TAB4, aligned, later=False),
    method_check("fig13", TAB5, ranking),
    method_check("fig14", TAB5, aligned, later=False),
    method_check("secE.3.1", HIDDEN, hidden, reading="Ground truth is the class-mean difference."),
)
