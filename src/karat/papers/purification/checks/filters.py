"""Checks of AlexNet's first layer: smoother filters, tickets, sparse codes, what the filters span."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.purification.checks.codes import PRINTED_SHARE, span, sparse_codes, sparse_inputs
from karat.papers.purification.checks.image_examples import ALEXNET_CONFIG, ALEXNET_RESULT, curves
from karat.papers.purification.checks.image_examples import tickets as winners
from karat.papers.purification.checks.image_records import (
    LESS,
    all_images,
    paper_runs,
    paper_settings,
    smoothed_attacker,
    without_attack,
    without_training,
)
from karat.papers.purification.checks.paper_nets import ALEXNET_WHOLE
from karat.papers.purification.experiments.alexnet import ALEXNET, AlexnetConfig, AlexnetResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, Finding, Unit
from karat.study.hypothesis import Condition
from karat.study.judging import all_of, bound, every_setting, noted, vacuous_if
from karat.study.run import Run, Runs, examples

AlexnetRuns = Sequence[Run[AlexnetConfig, AlexnetResult]]

REMEMBERED = 0.2**2
"""Share of a filter's energy along its start above which theta(w0, w) exceeds the 0.2 of the principle."""

LUCKY = 0.75
"""A lead at the start is read as a rank half-way between chance and the best of all."""

RANK = Unit("rank among all starts", 0.0, 1.0)


def filters(runs: AlexnetRuns) -> Finding:
    r"""Judge the mean roughness of robust filters over that of clean ones, and of those trained on clean.

    .. math:: \operatorname{rough}(w) = \sum |\nabla w|^2 / \|w\|^2.

    More clean training smooths filters as well, so robust ones must be smoother than these, too.
    """
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _smoother)


def _smoother(runs: AlexnetRuns) -> Finding:
    rough = [
        {name: float(np.mean(values)) for name, values in run.result.filter_roughness.items()} for run in runs
    ]
    findings = [
        bound([nets["robust"] / nets[other] for nets in rough], "at most", LESS, RATIO)
        for other in ("clean", "continued")
    ]
    clean, robust, continued = (
        np.mean([nets[name] for nets in rough]) for name in ("clean", "robust", "continued")
    )
    config = runs[0].config
    note = (
        f"Weight decay {config.weight_decay:g}, rate {config.lr:g}: roughness {clean:.2f} to {robust:.2f}, "
        f"without attacker {continued:.2f}; {_forgotten_start(runs)}."
    )
    return noted(all_of(*findings), note)


def _forgotten_start(runs: AlexnetRuns) -> str:
    """How much of the smoothing is a forgotten start, which the theory's mixtures do not depend on."""
    left = [run.result.leftover_robust for run in runs]
    before, after = np.mean([(each.energy_before, each.energy_after) for each in left], axis=0)
    cosine, share = np.mean([each.cosine for each in left]), np.mean([each.forgotten for each in left])
    fall = "there is no fall" if np.isnan(share) else f"{share:.0%} of the fall is the start being forgotten"
    return (
        f"along the own start {before:.0%} then {after:.0%} of the energy, cos(w'-w, w0) {cosine:.2f}; {fall}"
    )


def tickets(runs: AlexnetRuns) -> Finding:
    """Judge the rank of a filter's start among all starts in correlation with the feature it ends at.

    A filter that still contains its start is correlated with it whatever it has learned: no ticket to see.
    """
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _leading)


def _leading(runs: AlexnetRuns) -> Finding:
    ranks = [float(np.mean(run.result.lottery.first_ranks)) for run in runs]
    kept = float(np.mean([run.result.lottery.remembered for run in runs]))
    start, other = (
        np.mean([cosines[0] for cosines in per_run])
        for per_run in (
            [run.result.lottery.own for run in runs],
            [run.result.lottery.others for run in runs],
        )
    )
    note = (
        "Rank: share of the other filters whose start is less correlated with a feature than the start of "
        f"the filter that ends there, 1/2 by chance. Cosine at the start {start:.3f}, others {other:.3f}; "
        f"{kept:.1%} of the energy of clean filters lies along their start."
    )
    trivial = "the filters still hold their start, so that the lead may be nothing but that memory."
    finding = bound(ranks, "at least", LUCKY, RANK)
    return noted(vacuous_if(kept > REMEMBERED, trivial, finding), note)


def _clean_alexnet(config: AlexnetConfig) -> list[Condition]:
    return paper_settings(config, ALEXNET_WHOLE)


def _whole_alexnet(config: AlexnetConfig) -> list[Condition]:
    return [*_clean_alexnet(config), smoothed_attacker(config.attacker)]


_UNTRAINED = without_training(
    ALEXNET,
    "Filters that stay as they were drawn have learned nothing.",
    # As many atoms as pixel values, so that the codes reach the error at which they are compared.
    code_stride=2,
    code_iterations=30,
    coded=2,
)
_STRANGERS = Control(
    name="starts of others",
    removes="structure",
    settings={"other_starts": True},
    cheap=vars(ALEXNET.preset("tiny").config),
    why="A filter that got its start from another one has no lead towards its own feature.",
)
_FEW_ATOMS = Control(
    name="few atoms",
    removes="scale",
    settings={"code_stride": 8},
    cheap=vars(ALEXNET.preset("tiny").config) | {"code_stride": 2},
    why="A sixteenth of the places leaves much of a perturbation outside the span.",
)
_NO_ATTACK = without_attack(ALEXNET, "More clean training removes no mixtures.", attacker="l2:0")


def _check(
    item: str,
    evaluate: Callable[[Runs[AlexnetConfig, AlexnetResult]], Finding],
    control: Control,
    violated: dict[str, Any],
    reading: str,
    *,
    conditions: Callable[[AlexnetConfig], list[Condition]] = _whole_alexnet,
    reported: float | str | None = None,
    headline: bool = False,
) -> Check[AlexnetConfig, AlexnetResult]:
    """A check whose violating example differs in some values from the satisfying one."""
    return Check(
        claim_id=f"purification.{item}",
        experiment=ALEXNET,
        evaluate=evaluate,
        conditions=conditions,
        observed=all_images,
        satisfied=examples((_PAPER_RATES, ALEXNET_RESULT)),
        violated=examples((_PAPER_RATES, replace(ALEXNET_RESULT, **violated))),
        controls=(control,),
        reported=reported,
        reading=reading,
        headline=headline,
    )


_PAPER_RATES = replace(ALEXNET_CONFIG, lr=0.02, weight_decay=5e-4)
_ROUGH = {"filter_roughness": ALEXNET_RESULT.filter_roughness | {"robust": [2.5, 2.5]}}
_CHANCE = {"lottery": winners(0.5)}
_UNSPANNED = {"span": ALEXNET_RESULT.span | {"clean_delta|robust": 1e-3}}

CHECKS = (
    _check(
        "fig1",
        filters,
        _NO_ATTACK,
        _ROUGH,
        "Purer is read as smoother by a tenth: sum |grad u|^2 of unit filters, against clean filters and "
        "against the same epochs without attacker. Forgotten: the share of the fall that vanishes when each "
        "filter's own start is projected out; the theory's mixtures do not depend on it.",
        headline=True,
    ),
    _check(
        "fig4",
        sparse_inputs,
        _UNTRAINED,
        {"curves": curves(image_robust=900)},
        "Convolutional Lasso with unit atoms, 4/3 per pixel value as in the paper, at relative squared error "
        "0.1: a sparsity says nothing without an error, and the paper states none.",
        reported=PRINTED_SHARE,
    ),
    _check(
        "fig8",
        tickets,
        _STRANGERS,
        _CHANCE,
        "A feature is the direction a filter ends at. An initial lead: the start of the filter that ends "
        "there has a mean rank of 3/4 among all starts. Vacuous where more than 4% of the filters' energy, "
        "theta = 0.2, lies along their start.",
        conditions=_clean_alexnet,
    ),
    _check(
        "fig12",
        sparse_codes,
        _UNTRAINED,
        {"curves": curves(robust_delta_robust=250)},
        "A tenth fewer non-zero coefficients at relative squared error 0.1; images with mean zero per "
        "channel, perturbations rescaled to their images.",
    ),
    _check(
        "rem8.2",
        span,
        _FEW_ATOMS,
        _UNSPANNED,
        "Relative squared error; the paper does not say of what its regression error is a share. Vacuous "
        "where the untrained filters span as well.",
        reported="< 5e-5",
    ),
)
