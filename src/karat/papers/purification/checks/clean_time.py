"""Checks on clean training over time and dimension: features, mixtures, and the direction that fools."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from karat.papers.purification.bounds_hypotheses import SLACK
from karat.papers.purification.checks.controls import NO_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    ONE_SIZE,
    average,
    clean_conditions,
    data_conditions,
    halfway,
    largest_standard,
    mean,
    over_d,
    vanishes,
)
from karat.papers.purification.experiments.clean_time import CLEAN_TIME, CleanTimeResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import COSINE, RATIO, Finding
from karat.study.judging import all_of, bound, noted, one_constant
from karat.study.run import Run, examples

TimeRun = Run[OddNetConfig, CleanTimeResult]
TimeRuns = Sequence[TimeRun]

NO_STEP = replace(
    NO_TRAINING,
    settings={"clean_steps": 0},
    cheap={"n_test": 1000},
)


def _feature_learning(every: TimeRuns) -> Finding:
    """Alignment with the start and coherence of the weights, both o(1) at every stop from T_c on."""
    runs = largest_standard(every)
    return noted(
        all_of(
            vanishes(every, lambda r: max(r.late(r.start_alignment)), COSINE),
            vanishes(every, lambda r: max(r.late(r.coherence)), COSINE),
        ),
        f"At the last stop of the largest d: first ratio {mean(runs, lambda r: r.start_alignment[-1]):.3f}, "
        f"second {mean(runs, lambda r: r.coherence[-1]):.3f}.",
    )


def _in_units(value: Callable[[CleanTimeResult], float]) -> Callable[[TimeRun], float]:
    """A coefficient in units of k/d."""
    return lambda run: value(run.result) * run.config.d / run.config.k


def _paper_mixture(every: TimeRuns) -> Finding:
    """The printed bounds on largest and mean beta at the largest d; one constant for what hides one."""
    runs = largest_standard(every)
    slack = runs[0].config.d ** SLACK
    largest = [_in_units(lambda r: max(r.late(r.largest_beta)))(run) for run in runs]
    low = [_in_units(lambda r: min(r.late(r.mean_beta)))(run) for run in runs]
    high = [_in_units(lambda r: max(r.late(r.mean_beta)))(run) for run in runs]
    d, most = over_d(every, lambda run: float(max(run.result.most_tickets, 1)))
    _, winners = over_d(every, lambda run: max(min(run.result.late(run.result.winning_tickets)), 0.1))
    growing = halfway(0.5, "the sparsity itself, k ~ sqrt(d)")
    return noted(
        all_of(
            bound(largest, "at most", slack, RATIO),
            bound(low, "at least", 1 / slack, RATIO),
            bound(high, "at most", slack, RATIO),
            one_constant(d, most, "at most", growing),
            one_constant(
                d,
                [[count / size for count, size in zip(row, d, strict=True)] for row in winners],
                "at least",
                growing,
            ),
        ),
        f"At the largest d, in units of k/d: largest |beta_ij| {average(largest):.3g}, mean "
        f"{average(low):.3g} to {average(high):.3g} over the stops. Of the neurons live in the end "
        f"{mean(runs, lambda r: r.without_ticket):.0%} had no ticket for their feature; with N_i read off "
        f"the trained weights beta/alpha is {mean(runs, lambda r: r.clean.ratio / r.support_ratio):.2f} of "
        f"E|z|_0/d and the largest |N_i| {mean(runs, lambda r: r.clean.largest_own):.0f}.",
    )


def _blindness(every: TimeRuns) -> Finding:
    """What a mixture sees of natural inputs and of the dense direction, in units of its pure part."""

    def on_data(run: TimeRun) -> float:
        clean = run.result.clean
        return clean.mixture_on_data_high / clean.alpha / (run.config.k / run.config.d)

    def along(run: TimeRun) -> float:
        clean = run.result.clean
        return clean.mixture_along / clean.alpha / (run.config.k / math.sqrt(run.config.d))

    runs = largest_standard(every)
    # The tilde of the upper bound is a logarithm, the lower bound has none.
    d, seen = over_d(every, lambda run: on_data(run) / math.log(run.config.d))
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


def _cells(power: float = 0.0, **values: float) -> list[tuple[OddNetConfig, CleanTimeResult]]:
    """Three sizes with one stop, its values multiplied by d^power."""
    cells = []
    for d, k in ((50, 7), (100, 9), (200, 14)):
        lists = {name: [value * d**power] for name, value in values.items()}
        cells.append((OddNetConfig(d=d, k=k), made_up(CleanTimeResult, time=[9.0], T_c=1.0, **lists)))
    return cells


def _mixtures(power: float) -> list[tuple[OddNetConfig, CleanTimeResult]]:
    cells = []
    for d, k in ((50, 7), (100, 9), (200, 14)):
        size = k / d * d**power
        clean: dict[str, Any] = {
            "alpha": 1.0,
            "mixture_on_data_high": size,
            "mixture_along": size * math.sqrt(d),
            "ratio": size,
        }
        result = made_up(
            CleanTimeResult,
            time=[9.0],
            T_c=1.0,
            mean_beta=[size],
            largest_beta=[size],
            winning_tickets=[d // 2],
            most_tickets=2,
            clean=clean,
            support_ratio=k / d,
        )
        cells.append((OddNetConfig(d=d, k=k), result))
    return cells


CHECKS = (
    Check(
        claim_id="purification.thm5.1a",
        experiment=CLEAN_TIME,
        evaluate=_feature_learning,
        conditions=clean_conditions,
        satisfied=examples(*_cells(-0.5, coherence=1.0, start_alignment=1.0)),
        violated=examples(*_cells(coherence=0.5, start_alignment=0.5)),
        controls=(NO_STEP,),
        reading=f"Weighted sums over all neurons, diagonal included; the largest over the stops from T_c on. "
        f"{ONE_SIZE}",
    ),
    Check(
        claim_id="purification.thm5.2",
        experiment=CLEAN_TIME,
        evaluate=_paper_mixture,
        conditions=clean_conditions,
        satisfied=examples(*_mixtures(0.0)),
        violated=examples(*_mixtures(1.0)),
        controls=(NO_STEP,),
        reading="N_i are the potential winners' tickets at the start, the same at every stop from T_c on, "
        f"as the text says; beta_ij = <w_i, M_j>/w*_j off N_i. c = {SLACK:g} as printed, so that d^c adds "
        "0.5%. Of Omega(d) neurons with one ticket and alpha > d^-c, alpha is read as at least 1/2.",
    ),
    Check(
        claim_id="purification.eq6.2",
        experiment=CLEAN_TIME,
        evaluate=_blindness,
        conditions=data_conditions,
        satisfied=examples(*_mixtures(0.0)),
        violated=examples(*_mixtures(-1.0)),
        controls=(
            replace(
                NO_STEP,
                why="Before training no neuron leans on one feature alone, so that none has a mixture.",
                unanswered=True,
            ),
        ),
        reading="v is the mixture of neurons of one feature, in units of that feature's coefficient, along M "
        "w* where the text prints sum_j M_j; with high probability is read as on 95% of neurons and inputs. "
        "Both sizes as one constant over d, the first times log d for its tilde, and at the largest d within "
        "log d and within a factor 2 of "
        "E|z|_0/d per coefficient.",
    ),
)
