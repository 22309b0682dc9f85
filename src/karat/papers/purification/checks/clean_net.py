"""Checks on the net of clean training: it learns features, with mixtures that make it fragile."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from karat.papers.purification.checks.controls import NO_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    ONE_SIZE,
    average,
    clean_conditions,
    data_conditions,
    each,
    halfway,
    largest_standard,
    mean,
    over_d,
    vanishes,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import COSINE, RATIO, Finding, Unit
from karat.study.judging import all_of, bound, noted, one_constant
from karat.study.run import Run, examples

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


LOST = Unit("share of inputs lost", -1.0, 1.0)


def _feature_learning(every: TwoTrainings) -> Finding:
    """Alignment with the start and coherence of the weights, both o(1)."""
    runs = largest_standard(every)
    return noted(
        all_of(
            vanishes(every, lambda r: r.start_alignment, COSINE),
            vanishes(every, lambda r: r.clean.coherence, COSINE),
        ),
        f"At the largest d: first ratio {mean(runs, lambda r: r.start_alignment):.3f}, second "
        f"{mean(runs, lambda r: r.clean.coherence):.3f}.",
    )


def _universal(every: TwoTrainings) -> Finding:
    """The share of inputs that the move along -y M w* costs the clean net."""
    runs = largest_standard(every)
    lost = bound(each(runs, lambda r: r.clean.accuracy - r.clean.universal), "at least", 0.5, LOST)
    return noted(
        lost,
        f"Accuracy {mean(runs, lambda r: r.clean.accuracy):.2f} without the move, "
        f"{mean(runs, lambda r: r.clean.universal):.2f} with it, "
        f"{mean(runs, lambda r: r.clean.universal_far):.2f} at 1.5 tau.",
    )


def _paper_mixture(every: TwoTrainings) -> Finding:
    """Every clause as one constant over d: mean and largest beta, sizes of N_i, neurons of one feature."""

    def unit(run: Run[OddNetConfig, TwoTrainingsResult]) -> float:
        return run.config.d / run.config.k

    d, mean_beta = over_d(every, lambda run: max(run.result.clean.paper_beta, 0.0) * unit(run))
    _, largest_beta = over_d(every, lambda run: run.result.clean.largest_beta * unit(run))
    _, largest_own = over_d(every, lambda run: float(run.result.clean.largest_own))
    _, single = over_d(
        every, lambda run: run.result.clean.single * run.result.clean.live * run.config.m / run.config.d
    )
    no_mixture = halfway(0.5, "mixtures of order 1/d, k/d over sqrt(d)")
    growing = halfway(0.5, "the sparsity itself, k ~ sqrt(d)")
    runs = largest_standard(every)
    predicted = mean(runs, lambda r: r.support_ratio)
    return noted(
        all_of(
            one_constant(d, mean_beta, "at least", no_mixture),
            one_constant(d, mean_beta, "at most", growing),
            one_constant(d, largest_beta, "at most", growing),
            one_constant(d, largest_own, "at most", growing),
            one_constant(d, single, "at least", growing),
        ),
        f"At the largest d: mean of beta {average([row[-1] for row in mean_beta]):.2g} k/d, largest "
        f"{average([row[-1] for row in largest_beta]):.2g} k/d, largest |N_i| "
        f"{average([row[-1] for row in largest_own]):.0f}, neurons of one feature "
        f"{average([row[-1] for row in single]):.2g} d."
        if mean_beta
        else "",
        f"On live neurons beta/alpha is {mean(runs, lambda r: r.clean.ratio) / predicted:.2f} of E|z|_0/d, "
        f"median {mean(runs, lambda r: r.clean.ratio_median) / predicted:.2f}.",
    )


def _blindness(every: TwoTrainings) -> Finding:
    """What a mixture sees of natural inputs and of the dense direction, in units of its pure part."""

    def on_data(run: Run[OddNetConfig, TwoTrainingsResult]) -> float:
        clean = run.result.clean
        return clean.mixture_on_data_high / clean.alpha / (run.config.k / run.config.d)

    def along(run: Run[OddNetConfig, TwoTrainingsResult]) -> float:
        clean = run.result.clean
        return clean.mixture_along / clean.alpha / (run.config.k / math.sqrt(run.config.d))

    runs = largest_standard(every)
    d, seen = over_d(every, on_data)
    _, dense = over_d(every, along)
    # The size itself: beta = E|z|_0/d in each of d coefficients has the length E|z|_0/sqrt(d).
    expected = [
        run.result.clean.mixture_along
        / run.result.clean.alpha
        / (run.result.support_ratio * math.sqrt(run.config.d))
        for run in runs
    ]
    return noted(
        all_of(
            one_constant(d, seen, "at most", halfway(0.5, "what the dense direction sees, sqrt(d) more")),
            one_constant(d, dense, "at least", halfway(0.5, "what natural inputs see, sqrt(d) less")),
            bound(expected, "at least", 1 / FACTOR, RATIO),
            bound([on_data(run) for run in runs], "at most", math.log(runs[0].config.d), RATIO),
        ),
        "At the largest d 95% of neurons and inputs stay below "
        f"{average([on_data(run) for run in runs]):.2f} k/d |x|; along M w* it is "
        f"{average([along(run) for run in runs]):.2f} k/sqrt(d) |delta|.",
    )


def _cells(
    clean: dict[str, Any], power: float = 0.0, **values: Any
) -> list[tuple[OddNetConfig, TwoTrainingsResult]]:
    """Three sizes: numbers named in `clean` are multiplied by d^power."""
    cells = []
    for d, k in ((50, 7), (100, 9), (200, 14)):
        scaled = {name: value * d**power for name, value in clean.items()}
        cells.append((OddNetConfig(d=d, k=k), made_up(TwoTrainingsResult, clean=scaled, **values)))
    return cells


def _mixtures(power: float) -> list[tuple[OddNetConfig, TwoTrainingsResult]]:
    cells = []
    for d, k in ((50, 7), (100, 9), (200, 14)):
        size = k / d * d**power
        clean = {"paper_beta": size, "largest_beta": 2 * size, "largest_own": 2, "single": 0.2, "live": 0.5}
        clean |= {
            "alpha": 1.0,
            "mixture_on_data_high": size,
            "mixture_along": size * math.sqrt(d),
            "ratio": size,
            "ratio_median": size,
        }
        result = made_up(TwoTrainingsResult, clean=clean, support_ratio=k / d)
        cells.append((OddNetConfig(d=d, k=k), result))
    return cells


CHECKS = (
    Check(
        claim_id="purification.sec6.universal",
        experiment=L2,
        evaluate=_universal,
        conditions=data_conditions,
        satisfied=examples(*_cells({"accuracy": 0.95, "universal": 0.2})),
        violated=examples(*_cells({"accuracy": 0.3, "universal": 0.1})),
        controls=(NO_TRAINING,),
        reading="'A lot' is read as: half of all inputs, right before, are wrong after the move by -tau y M "
        "w*/|M w*|_2; the printed f(x - delta) would carry the sign twice.",
        headline=True,
    ),
    Check(
        claim_id="purification.eq6.2",
        experiment=L2,
        evaluate=_blindness,
        conditions=data_conditions,
        satisfied=examples(*_mixtures(0.0)),
        violated=examples(*_mixtures(-1.0)),
        controls=(
            replace(
                NO_TRAINING,
                why="Before training no neuron leans on one feature alone, so that none has a mixture.",
                unanswered=True,
            ),
        ),
        reading="v is the mixture of neurons of one feature, in units of that feature's coefficient, along M "
        "w* where the text prints sum_j M_j; with high probability is read as on 95% of neurons and inputs. "
        "Both sizes as one constant over d, and at the largest d within log d and within a factor 2 of "
        "E|z|_0/d per coefficient.",
    ),
    Check(
        claim_id="purification.thm5.1a",
        experiment=L2,
        evaluate=_feature_learning,
        conditions=clean_conditions,
        satisfied=examples(*_cells({"coherence": 1.0}, power=-0.5, start_alignment=0.05)[-1:]),
        violated=examples(*_cells({"coherence": 0.5}, start_alignment=0.5)),
        controls=(NO_TRAINING,),
        reading=f"Weighted sums over all neurons, diagonal included. {ONE_SIZE}",
    ),
    Check(
        claim_id="purification.thm5.2",
        experiment=L2,
        evaluate=_paper_mixture,
        conditions=clean_conditions,
        satisfied=examples(*_mixtures(0.0)),
        violated=examples(*_mixtures(1.0)),
        controls=(NO_TRAINING,),
        reading="beta_ij = <w_i, M_j>/w*_j, averaged over all m neurons and all d features off N_i; N_i is "
        "read off the trained weights (at least 0.3 of the largest), live neurons only for the largest ones, "
        "where the paper takes the tickets of the start. Powers d^(+-c) with c <= 0.001 are constants here.",
    ),
)
