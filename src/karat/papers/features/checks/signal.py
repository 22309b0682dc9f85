"""Lemma 6 and Section 5: what the two feature-learning steps write into the neurons."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.papers.features import bounds
from karat.papers.features import bounds_regimes as regimes
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.signal import LEM6, SignalResult
from karat.papers.features.experiments.tables import PAPER
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import COSINE, RATIO, Finding, Margin
from karat.study.hypothesis import Condition
from karat.study.judging import Undecided, all_of, bound, noted, one_constant
from karat.study.run import Run, examples, grouped, pivot

SignalRun = Run[LearningConfig, SignalResult]

WRONG_WORLD = Margin(
    0.18,
    "labels without meaning, or the wrong sign, leave an error that does not fall with D, so that its ratio "
    "to the bound grows like D^0.36 (D^(1/2) less the logarithms of the bound): half of it",
)

IMPROVED = 1.01
"""Smallest gain that is called an improvement: less than a hundredth is none."""

ROUGHLY = 0.9
"""Smallest cosine that is `roughly proportional`: 26 degrees."""


def _fair(runs: Sequence[SignalRun]) -> list[SignalRun]:
    """Those with p_o = 1/2, for which alone the mixture is in the paper's family."""
    half = [run for run in runs if run.config.p_o == 0.5]
    if not half:
        raise Undecided("no run has p_o = 1/2.")
    return half


def _most_samples(runs: Sequence[SignalRun]) -> list[SignalRun]:
    """Those of the base dimension with the most samples."""
    same = [run for run in runs if run.config.D == runs[0].config.D]
    most = max(run.config.n for run in same)
    return [run for run in same if run.config.n == most]


def first_step(runs: Sequence[SignalRun]) -> Finding:
    """Largest errors of relevant and background components over the lemma's bounds: one constant for all D.

    The lemma is about population gradients: only runs with n in proportion to D are looked at, in which
    sampling noise falls like the lemma's own error.
    """
    half = _fair(runs)
    by_share = grouped(half, lambda run: run.config.n / run.config.D)
    growing = max(by_share.values(), key=lambda group: len({run.config.D for run in group}))
    parts = [
        _constant(growing, lambda run: run.result.signal_worst / _activation_error(run.config)),
        _constant(growing, lambda run: 4 * run.result.background_worst / _activation_error(run.config)),
    ]
    largest = _most_samples(half)
    mean = np.mean([run.result.signal_ratio for run in largest])
    noise = np.mean([run.result.background / run.result.background_sampling for run in largest])
    note = (
        f"At D = {largest[0].config.D} eps_e = {_activation_error(largest[0].config):.3g} beside beta gamma "
        f"< 1/2. Relevant components are {mean:.3f} times beta gamma/sigma~ on average and background ones "
        f"{noise:.2f} times what the finite sample alone causes."
    )
    return noted(all_of(*parts), note)


def _constant(runs: Sequence[SignalRun], ratio: Callable[[SignalRun], float]) -> Finding:
    D, ratios = pivot(runs, lambda run: run.config.D, ratio)
    complete = ratios[~np.isnan(ratios).any(axis=1)]
    return one_constant(D, complete, "at most", WRONG_WORLD)


def _activation_error(config: LearningConfig) -> float:
    return bounds.activation_error(k=config.k, D=config.D, pairs=config.pairs, p_o=config.p_o)


def _lemma15(config: LearningConfig) -> list[Condition]:
    return regimes.lemma15(k=config.k, D=config.D, pairs=config.pairs, p_o=config.p_o, noise=config.noise)


def improvement(runs: Sequence[SignalRun]) -> Finding:
    """Growth of the ratio relevant / background in step two, mean over n, at p_o = 1/2."""
    half = _fair(runs)
    same = [run for run in half if run.config.D == half[0].config.D]
    by_seed = grouped(same, lambda run: run.seed)
    gains = [float(np.mean([run.result.gain for run in group])) for group in by_seed.values()]
    explained = float(np.mean([run.result.gain_predicted for run in same]))
    by_n = grouped(same, lambda run: run.config.n)
    few, many = min(by_n), max(by_n)
    growth = _mean_ratio(by_n[many]) / _mean_ratio(by_n[few])
    return noted(
        bound(gains, "at least", IMPROVED, RATIO),
        f"Using all samples instead of the active ones predicts {explained:.2f}; {many / few:.0f} times more "
        f"samples raise the ratio itself by {growth:.1f}, pure sampling noise would by "
        f"{(many / few) ** 0.5:.1f}.",
    )


def _mean_ratio(runs: Sequence[SignalRun]) -> float:
    return float(np.mean([run.result.ratio_one for run in runs]))


def class_means(runs: Sequence[SignalRun]) -> Finding:
    """Cosine of both gradients to sum_A M_j, to which E[y x] is proportional, with their sign."""
    largest = _most_samples(_fair(runs))
    differences = [run.result.closed_form_difference for run in largest]
    return noted(
        all_of(
            bound([run.result.signed_one for run in largest], "at least", ROUGHLY, COSINE),
            bound([run.result.signed_two for run in largest], "at least", ROUGHLY, COSINE),
        ),
        f"The real second step and the one along mean(y x) differ by {np.mean(differences):.1g}.",
    )


_SMALL = {"d": 100, "D": 100, "n": 10_000, "pairs": 30}

SHUFFLED = Control(
    name="permuted labels",
    removes="labels",
    settings={"labels": "permuted"},
    cheap={"p_o": 0.5, "pairs": 20},
    why="Labels in random order have no correlation with any pattern.",
)

WRONG_SIGN = Control(
    name="feature steps ascend",
    removes="sign",
    settings={"gradient": "ascent"},
    cheap={"p_o": 0.5, "pairs": 20},
    why="Both steps go up the loss: every component has the wrong sign.",
)

NO_SECOND = Control(
    name="no second step",
    removes="training",
    settings={"second_step": "skipped"},
    cheap={"p_o": 0.5, **_SMALL},
    why="Without a second step nothing improves.",
)


def _signal(worst: Callable[[LearningConfig], float], **changes: Any) -> list[SignalRun]:
    """Runs at four D whose errors of components are given."""
    configs = [replace(PAPER, d=D, D=D, n=400 * D) for D in (100, 50, 200, 400)]
    numbers = dict.fromkeys(SignalResult.__dataclass_fields__, 1.0)
    return examples(
        *(
            (
                config,
                SignalResult(
                    **(numbers | {"signal_worst": worst(config), "background_worst": worst(config)} | changes)
                ),
            )
            for config in configs
        )
    )


CHECKS = (
    Check(
        claim_id="features.lem6",
        experiment=LEM6,
        evaluate=first_step,
        conditions=_lemma15,
        satisfied=_signal(_activation_error),
        violated=_signal(lambda config: 0.125),
        controls=(SHUFFLED, WRONG_SIGN),
        reading="Error terms of Lemma 15, its full version, with one constant for all D and p_fail = 1/2; "
        "beta is the share of active samples. Samples, n = 100 D, stand for the population.",
    ),
    Check(
        claim_id="features.sec5.1.improve",
        experiment=LEM6,
        evaluate=improvement,
        satisfied=_signal(_activation_error, gain=1.3),
        violated=_signal(_activation_error, gain=0.9),
        controls=(NO_SECOND,),
        reading="Ratio of lengths of the relevant and the background part, mean over neurons and n; the "
        "paper speaks of population gradients, whose background is far below sampling noise.",
    ),
    Check(
        claim_id="features.sec5.2.mean",
        experiment=LEM6,
        evaluate=class_means,
        satisfied=_signal(_activation_error, signed_one=0.99, signed_two=0.99),
        violated=_signal(_activation_error, signed_one=-0.99, signed_two=0.99),
        controls=(SHUFFLED, WRONG_SIGN),
        reading="Both steps, at the largest n of the base size; E[y x] is proportional to sum_A M_j, and "
        f"roughly is read as a cosine of {ROUGHLY:g}.",
    ),
)
