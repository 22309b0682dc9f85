"""What a run of the methods must have in common with the printed one, and checks that ask for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from karat.papers.features.checks.reported import MethodRun
from karat.papers.features.experiments.methods import MethodsResult
from karat.papers.features.experiments.settings import LearningConfig, Method
from karat.study.check import Check
from karat.study.control import Control
from karat.study.experiment import Experiment
from karat.study.finding import COSINE, Finding, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, bound
from karat.study.run import Runs

LEAD = Unit("difference of accuracies", -1.0, 1.0)

PRINTED: Mapping[str, Mapping[str, int]] = {
    "tab1": {"d": 500, "D": 100, "k": 5, "n": 50_000, "pairs": 300, "steps": 600},
    "tab2": {"d": 500, "D": 100, "k": 30, "n": 50_000, "pairs": 100, "steps": 200},
    "tab3": {"D": 100, "k": 5, "n": 50_000, "pairs": 300, "steps": 600},
    "tab4": {"d": 500, "D": 100, "k": 5, "n": 50_000, "pairs": 300, "steps": 600},
    "tab5": {"d": 500, "D": 100, "k": 5, "steps": 600},
    "hidden": {"d": 500, "D": 250, "k": 50},
}
"""Experiment -> the settings printed for it."""

STAGE3 = (
    "Momentum 0.95, separate rates and linear decay in classifier learning are ours. Every rate is one of a "
    "few candidates, chosen on a validation sample where there are several; the candidates themselves come "
    "from earlier runs whose test accuracy was looked at."
)
SIGNS = (
    "Training follows Eq 4, so the neurons must lie on the side of their output weights after two steps "
    "(Sec 5.1): accuracies and best cosines alone cannot tell descent from ascent."
)

SMALL_WORLD: Mapping[str, Any] = {
    "n": 5000,
    "n_test": 2000,
    "n_validation": 1000,
    "pairs": 50,
    "steps": 200,
    "lr_a": (50.0,),
    "lr_top": (50.0,),
    "lr_ntk": (1e-4,),
    "n_kernel": 0,
    "pictures": False,
}
"""Size and rates of the controls of parity labels; the rates are those of Table 5 at the same m."""

ASCENT = Control(
    name="feature steps ascend",
    removes="sign",
    settings={"gradient": "ascent"},
    cheap=SMALL_WORLD,
    why="Both feature steps go up the loss, so that every neuron turns to the wrong side.",
)
PERMUTED = Control(
    name="permuted labels",
    removes="labels",
    settings={"labels": "permuted"},
    cheap=SMALL_WORLD,
    why="Training labels in random order say nothing about the relevant patterns.",
)


INTERVAL_WORLD: Mapping[str, Any] = {
    "pairs": 100,
    "lr_a": (100.0,),
    "lr_top": (100.0,),
    "lr_ntk": (1.0,),
    "sampling": "plain",
}
"""What controls of interval labels change in `SMALL_WORLD`: rates of the quick preset."""

TRAINED_METHODS: tuple[Method, ...] = ("network", "ntk", "rf", "one_step", "two_step")
"""Those that controls of Tables 3 to 5 train."""


def collapsed(control: Control, **cheap: Any) -> Control:
    """Return a control at one point of the axes of a table.

    Args:
        control: such as `ASCENT`.
        cheap: settings of that point.
    """
    return replace(control, cheap={**control.cheap, **cheap})


def table_name(experiment: Experiment[LearningConfig, MethodsResult]) -> str:
    """Return "tab1" for the experiment "features.tab1"."""
    return experiment.name.removeprefix("features.")


def printed_settings(table: str, as_paper: bool, config: LearningConfig) -> list[Condition]:
    """Return whether a run has the printed settings.

    Args:
        table: whose settings.
        as_paper: whether the loss must be the paper's: no class weights, no balanced batches.
        config: of the run.
    """
    section = "Sec E.3.1" if table == "hidden" else f"Tab {table[3:]}"
    conditions = [
        Condition(
            name=f"{section}: {name} = {value}",
            status="met" if getattr(config, name) == value else "unmet",
            value=getattr(config, name),
            bound=value,
        )
        for name, value in PRINTED[table].items()
    ]
    conditions.append(is_so("Eq 4: gradient descent on the given labels", _honest(config)))
    if as_paper:
        conditions.append(is_so("Sec E.1: no class weights and no balanced batches", plain(config)))
    return conditions


def _honest(config: LearningConfig) -> bool:
    return config.gradient == "descent" and config.labels == "true" and config.second_step != "skipped"


def plain(config: LearningConfig) -> bool:
    """Return whether the loss is the paper's: no class weights, no balanced batches."""
    return not config.weighted and config.sampling == "plain"


def method_check(
    item: str,
    experiment: Experiment[LearningConfig, MethodsResult],
    evaluate: Callable[[Sequence[MethodRun]], Finding],
    *,
    as_paper: bool = True,
    **more: Any,
) -> Check[LearningConfig, MethodsResult]:
    """Return a check of the methods that is out of regime away from the printed settings.

    Args:
        item: of the claim, such as "tab1".
        experiment: one of the tables.
        evaluate: how its runs are judged.
        as_paper: whether the paper's own loss is judged, or our variant of it.
        more: further fields of the check.
    """

    def judged(runs: Runs[LearningConfig, MethodsResult]) -> Finding:
        chosen = [run for run in runs if plain(run.config) == as_paper]
        if not chosen:
            raise Undecided("no run has the loss that is asked for (class weights, balanced batches).")
        return evaluate(chosen)

    return Check(
        claim_id=f"features.{item}",
        experiment=experiment,
        evaluate=judged,
        conditions=partial(printed_settings, table_name(experiment), as_paper),
        **more,
    )


def accuracies_of(runs: Sequence[MethodRun], method: Method) -> list[float]:
    """Return the test accuracies of a method, one per run; `Undecided` where it was not trained.

    Args:
        runs: of any table.
        method: which one.
    """
    if any(method not in run.result.methods for run in runs):
        raise Undecided(f"the method {method} was not trained.")
    return [run.result.methods[method].test for run in runs]


def descended(runs: Sequence[MethodRun]) -> Finding:
    """Judge whether the neurons lie on the side of their output weights after two steps.

    Args:
        runs: of equal settings.

    Ref: features, Sec 5.1
    """
    return bound([run.result.step2.signed for run in runs], "at least", 0.5, COSINE)
