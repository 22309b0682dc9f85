"""Runs judged setting by setting, made-up runs, and the hypotheses of Theorem 3.1 as a ledger."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from karat.core.statistics import fit_power_law
from karat.papers.benign.bounds_hypotheses import (
    P_FAIL,
    largest_constant,
    proof_constant,
    theorem_conditions,
)
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.experiment import Experiment, cells
from karat.study.finding import Finding, Margin
from karat.study.hypothesis import Condition, not_checkable
from karat.study.judging import Undecided, all_of
from karat.study.judging.common import ROUNDING, Numbers
from karat.study.run import Run, by_setting, examples

C = TypeVar("C")
R = TypeVar("R")
Mixture = TypeVar("Mixture", bound=MixtureConfig)


def conditions(config: MixtureConfig) -> list[Condition]:
    """Return every hypothesis of Theorem 3.1 at a setting, and how far its hidden constant can be looked at.

    Args:
        config: the setting.

    Ref: benign, Asm 1
    """
    return [*theorem_conditions(config.setting()), _large_constant(config, depth(config))]


def conditions_without_step_size(config: MixtureConfig) -> list[Condition]:
    """Return the same with Asm 1(4) waived, which karat's own sentences drop: no step that small ever trains.

    Args:
        config: the setting.

    Ref: benign, Asm 1
    """
    setting = config.setting()
    others = [
        replace(
            one, status="waived", note="karat's own sentence does without it: no step that small ever trains"
        )
        if one.name.startswith("Asm 1(4)")
        else one
        for one in theorem_conditions(setting)
    ]
    # Asm 1(3) ties the start to the step size: with both at zero neither says anything.
    still = largest_constant(replace(setting, lr=1e-300, init_scale=0.0))
    return [*others, _large_constant(config, still)]


def _large_constant(config: MixtureConfig, met_up_to: float) -> Condition:
    setting = config.setting()
    asked = proof_constant(kappa=config.law.variance, slope=setting.slope, smooth=setting.smooth)
    reach = f"are met up to C = {met_up_to:.2g}" if met_up_to else "are met for no C"
    return not_checkable(
        "Asm 1: C sufficiently large",
        f"no C is named; the hypotheses {reach} at p_fail = {P_FAIL:g}, the proof's own last step asks for "
        f"{asked:.0e}",
    )


def depth(config: MixtureConfig) -> float:
    """Return the largest C up to which a setting meets every hypothesis.

    Args:
        config: the setting.
    """
    return largest_constant(config.setting())


def deepest(runs: Iterable[Run[Mixture, R]]) -> list[Run[Mixture, R]]:
    """Return the runs of the setting that meets the hypotheses up to the largest C.

    A statement about every sufficiently large C is tested where C is largest.

    Args:
        runs: of several settings.
    """
    groups = by_setting(runs)
    if not groups:
        raise Undecided("no run is of the kind that the statement speaks of.")
    return max(groups, key=lambda group: depth(group[0].config))


def sorted_settings(runs: Iterable[Run[C, R]]) -> list[list[Run[C, R]]]:
    """Return runs of equal settings together, in an order that does not depend on which finished first.

    Args:
        runs: to be grouped.
    """
    return sorted(by_setting(runs), key=lambda group: group[0].config_hash)


def every_setting(runs: Iterable[Run[C, R]], judge: Callable[[Sequence[Run[C, R]]], Finding]) -> Finding:
    """Judge every setting by itself: all of them must hold, and the worst shows its numbers.

    Args:
        runs: of several settings.
        judge: of the runs of one setting.
    """
    groups = sorted_settings(runs)
    if not groups:
        raise Undecided("no run is of the kind that the statement speaks of.")
    return all_of(*map(judge, groups))


def growth_margin(sizes: Numbers, law: Numbers) -> Margin:
    """Return the margin within which a constant is one over sizes: half the exponent with which a law grows.

    Args:
        sizes: (g,) what the law is fitted over.
        law: (g,) its values there.
    """
    growth = fit_power_law(sizes, law).exponent if len(sizes) >= 3 else 1.0
    # Over sizes on which the law does not grow there is nothing half-way to: no growth is forgiven.
    return Margin(
        max(growth / 2, ROUNDING), "half-way to no growth with the sizes at all, where the law grows"
    )


def made_up(
    experiment: Experiment[C, R],
    result: Callable[[C], R],
    seeds: int = 12,
    changes: Mapping[str, Any] | None = None,
) -> list[Run[C, R]]:
    """Return runs at the settings of the quick preset with results that nobody measured.

    Args:
        experiment: whose settings.
        result: settings -> what a run there might measure.
        seeds: how many runs of each setting.
        changes: settings to be changed in all of them.
    """
    settings = [cell.config for cell in cells(experiment, "quick", 1, changes)]
    return examples(*((config, result(config)) for config in settings), seeds=seeds)
