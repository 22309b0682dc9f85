"""What a run of the methods must have in common with the printed one, and checks that ask for it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.methods import MethodsResult
from karat.papers.features.experiments.settings import LearningConfig, Method
from karat.study.claim import Check, Finding
from karat.study.experiment import Experiment

PRINTED = {
    "tab1": {"d": 500, "D": 100, "k": 5, "n": 50_000, "pairs": 300, "steps": 600},
    "tab2": {"d": 500, "D": 100, "k": 30, "n": 50_000, "pairs": 100, "steps": 200},
    "tab3": {"D": 100, "k": 5, "n": 50_000, "pairs": 300, "steps": 600},
    "tab4": {"d": 500, "D": 100, "k": 5, "n": 50_000, "pairs": 300, "steps": 600},
    "tab5": {"d": 500, "D": 100, "k": 5, "steps": 600},
    "hidden": {"d": 500, "D": 250, "k": 50},
}
"""Experiment -> the settings printed for it."""

STAGE3 = (
    "Momentum 0.95, separate rates and linear decay in classifier learning are ours; rates are chosen on a "
    "validation sample."
)
WEIGHTS = "Class weights in the first two steps are ours too."


def table_name(experiment: Experiment[LearningConfig, MethodsResult]) -> str:
    """Return "tab1" for the experiment "features.tab1"."""
    return experiment.name.removeprefix("features.")


def unmet_size(table: str, later: bool, run: MethodRun) -> list[str]:
    """Return what a run changes in the printed settings.

    Args:
        table: whose settings.
        later: whether the steps after feature learning matter, and with them their loss.
        run: to be judged.
    """
    config = run.config
    section = "Sec E.3.1" if table == "hidden" else f"Tab {table[3:]}"
    other = ", ".join(
        f"{name} = {value}" for name, value in PRINTED[table].items() if getattr(config, name) != value
    )
    unmet = [f"{section}: {other}"] if other else []
    if table == "tab2" and config.weighted:
        unmet.append("Sec E.1.2: no class weights in the first two steps")
    if later and config.sampling != "plain":
        unmet.append("Sec F.1.1: unweighted loss after the first two steps (batches were balanced)")
    return unmet


def method_check(
    item: str,
    experiment: Experiment[LearningConfig, MethodsResult],
    evaluate: Callable[[Sequence[MethodRun]], Finding],
    *,
    later: bool = True,
    **more: Any,
) -> Check[LearningConfig, MethodsResult]:
    """Return a check of the methods that is out of regime away from the printed settings.

    Args:
        item: of the claim, such as "tab1".
        experiment: one of the tables.
        evaluate: how its runs are judged.
        later: whether the steps after feature learning matter.
        more: further fields of the check.
    """
    return Check(
        claim_id=f"features.{item}",
        experiment=experiment,
        evaluate=evaluate,
        hypotheses=partial(unmet_size, table_name(experiment), later),
        **more,
    )


def accuracies_of(runs: Sequence[MethodRun], method: Method) -> list[float]:
    """Return the test accuracies of a method, one per run; a KeyError names one that was not trained.

    Args:
        runs: of any table.
        method: which one.
    """
    return [run.result.methods[method].test for run in runs]
