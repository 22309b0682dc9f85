"""What the checks on training after the lottery compare."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from karat.papers.purification.checks.readings import SMALL, halfway
from karat.papers.purification.experiments.phase_two_config import SCALES, PhaseTwoConfig, PhaseTwoResult
from karat.study.curves import curves
from karat.study.finding import RATIO, Finding, Unit
from karat.study.judging import all_of, bound, every_setting, exact_bound, noted, one_constant
from karat.study.run import Run

PhaseTwoRun = Run[PhaseTwoConfig, PhaseTwoResult]
PhaseTwoRuns = Sequence[PhaseTwoRun]

SPARSITY = halfway(0.15, "a factor sqrt(k) = d^0.15, as in the trivial limit d E|z_j|/2")
RARITY = halfway(0.7, "growth without the factor Gamma_t = k/d = d^-0.7")
HALF = 0.45
"""A winner just above b is awake on every other code of size one; a tenth is left to sampling error."""
FLAT_TIME = halfway(1 / 3, "weights without a regulariser, which grow like t^(1/3)")


def _over_d(
    every: PhaseTwoRuns, value: Callable[[PhaseTwoRun], float]
) -> tuple[list[float], list[list[float]]]:
    return curves(every, lambda run: float(run.config.d), value)


def _means(table: Sequence[Sequence[float]]) -> str:
    return ", ".join(f"{np.mean(column):.3g}" for column in zip(*table, strict=True)) or "unknown"


def _errors(run: PhaseTwoRun) -> list[float]:
    r"""d times the two error terms of the growth lemmas, at every stop."""
    c, r = run.config, run.result
    width, log_d = c.rule.width(c.threshold), math.log(c.d)
    return [
        math.sqrt(c.k) * (noise * log_d + length / (width * math.sqrt(c.d)))
        for noise, length in zip(r.noise, r.length, strict=True)
    ]


def _worst(*lists: Sequence[float]) -> float:
    """The largest quotient of the first list by the sum of the others."""
    top, *below = lists
    return max(abs(value) / sum(parts) for value, *parts in zip(top, *below, strict=True))


def signal(every: PhaseTwoRuns) -> Finding:
    """Growth of winners: from below at the first stop, where L is small; from above at all of them.

    Args:
        every: runs over d.
    """

    def first(runs: PhaseTwoRuns) -> list[float]:
        return [run.result.own[0] / run.result.explicit for run in runs]

    d, most = _over_d(
        every, lambda run: _worst(run.result.own, [1 + L for L in run.result.lipschitz], _errors(run))
    )
    return noted(
        all_of(
            every_setting(every, lambda cells: bound(first(cells), "at least", HALF, RATIO)),
            one_constant(d, most, "at most", SPARSITY),
        ),
        f"At the first stop L is {max(run.result.lipschitz[0] for run in every):.2g} at most and winners "
        f"grow at {np.mean(first(every)):.3f} of (1/4) P(|z| = 1) E[y | z_j = 1]; over 1 + L and the "
        f"error terms at most {_means(most)} from the smallest to the largest d.",
    )


def largest(every: PhaseTwoRuns) -> Finding:
    """The largest growth of any coordinate at any stop over (1 + L)/d and the error terms.

    Args:
        every: runs over d.
    """

    def value(run: PhaseTwoRun) -> float:
        r = run.result
        most = [max(abs(own), other) for own, other in zip(r.own, r.others, strict=True)]
        return _worst(most, [1 + L for L in r.lipschitz], _errors(run))

    d, table = _over_d(every, value)
    return one_constant(d, table, "at most", SPARSITY)


def non_signal(every: PhaseTwoRuns) -> Finding:
    """The largest growth of a coordinate that is no potential winner, over Gamma_t (log d + L + ...)/d.

    Args:
        every: runs over d.
    """

    def value(run: PhaseTwoRun) -> float:
        c, r = run.config, run.result
        log_d = math.log(c.d)
        noise = [math.sqrt(c.k) * sigma * log_d for sigma in r.noise]
        return _worst(r.others, [log_d + L for L in r.lipschitz], noise) * c.d / c.k

    d, table = _over_d(every, value)
    return one_constant(d, table, "at most", RARITY)


def noise(every: PhaseTwoRuns) -> Finding:
    """What input noise adds to a coordinate, over Gamma_t (|w_ij|/sigma_rho + L) sigma_x^2/d.

    Args:
        every: runs over d.
    """

    def value(run: PhaseTwoRun) -> float:
        r = run.result
        own, other = (
            _worst(moved, [abs(w) / s for w, s in zip(weights, r.noise, strict=True)], r.lipschitz)
            for moved, weights in ((r.own_noise, r.alpha), (r.other_noise, r.beta))
        )
        return max(own, other) * run.config.d / run.config.k

    d, table = _over_d(every, value)
    return one_constant(d, table, "at most", RARITY)


def total_noise(every: PhaseTwoRuns) -> Finding:
    """What input noise adds to all coordinates of a neuron together, over k^3 Xi_2^4 sigma_x^2/d^2.

    Args:
        every: runs over d.
    """

    def value(run: PhaseTwoRun) -> float:
        c, r = run.config, run.result
        total = [own + (c.d - 1) * other for own, other in zip(r.own_noise, r.other_noise, strict=True)]
        return max(total) * c.d / (c.k**3 * c.rule.xi2**4)

    d, table = _over_d(every, value)
    return one_constant(d, table, "at most", halfway(0.3, "one more factor k = d^0.3"))


def steepness(every: PhaseTwoRuns) -> Finding:
    """L against the winner's own coordinate, and what all other neurons add, over k/sqrt(d).

    Args:
        every: runs over d.
    """
    beyond = [
        L - abs(alpha) - excess
        for run in every
        for L, alpha, excess in zip(run.result.lipschitz, run.result.alpha, run.result.excess, strict=True)
    ]
    d, table = _over_d(every, lambda run: max(run.result.excess) * math.sqrt(run.config.d) / run.config.k)
    return noted(
        all_of(
            exact_bound(beyond, "at most", 1e-9, Unit("slope"), "every input, up to rounding"),
            one_constant(d, table, "at most", halfway(0.2, "an excess that does not vanish with k/sqrt(d)")),
        ),
        f"What neurons without the feature can add, over k/sqrt(d): {_means(table)}.",
    )


def regularity(every: PhaseTwoRuns) -> Finding:
    """L, |w| and |f|/log d over powers of Xi_2: one constant over d, and over the time of training.

    Args:
        every: runs over d.
    """

    def last(name: str) -> Callable[[PhaseTwoRun], float]:
        logs = 1 if name == "output" else 0

        def value(run: PhaseTwoRun) -> float:
            unit = run.config.rule.xi2**2 * math.log(run.config.d) ** logs
            return float(max(getattr(run.result, name))) / unit

        return value

    parts, notes = [], []
    for name in ("lipschitz", "length", "output"):
        d, table = _over_d(every, last(name))
        parts.append(one_constant(d, table, "at most", SPARSITY))
        notes.append(f"{name} {_means(table)}")
    late = [stop for stop, time in enumerate(every[0].result.time) if time >= 1]
    times = [every[0].result.time[stop] for stop in late]

    def lengths(cells: PhaseTwoRuns) -> list[list[float]]:
        return [[run.result.length[stop] for stop in late] for run in cells]

    parts.append(
        every_setting(every, lambda cells: one_constant(times, lengths(cells), "at most", FLAT_TIME))
    )
    return noted(all_of(*parts), f"From the smallest to the largest d: {'; '.join(notes)}.")


def slope(every: PhaseTwoRuns) -> Finding:
    """The mean of loss' times max(1, L^2 log(d)^2), over d and over nets that are steeper by a factor.

    Args:
        every: runs over d.
    """

    def unit(run: PhaseTwoRun, scale: float) -> float:
        return max(1.0, (scale * run.result.lipschitz[-1] * math.log(run.config.d)) ** 2)

    d, table = _over_d(every, lambda run: run.result.slopes[0] * unit(run, 1.0))
    steeper = halfway(1.0, "a mean slope like 1/(L^3 log(d)^2)")

    def scaled(cells: PhaseTwoRuns) -> list[list[float]]:
        return [
            [mean * unit(run, scale) for mean, scale in zip(run.result.slopes, SCALES, strict=True)]
            for run in cells
        ]

    _, steepest = _over_d(every, lambda run: run.result.slopes[-1])
    return noted(
        all_of(
            one_constant(d, table, "at least", SPARSITY),
            every_setting(every, lambda cells: one_constant(SCALES, scaled(cells), "at least", steeper)),
        ),
        f"Of nets {SCALES[-1]:g} times as steep E loss' is {_means(steepest)}.",
    )


def matched(every: PhaseTwoRuns) -> Finding:
    """The exponent of the probability that g_1 misses alpha <w*, z>, over log(d)^2.

    Args:
        every: runs over d.
    """
    rare = Unit("logarithm of a probability", high=0.0)
    d, table = _over_d(every, lambda run: -run.result.unmatched / math.log(run.config.d) ** 2)
    return all_of(
        every_setting(
            every,
            lambda cells: bound([run.result.unmatched for run in cells], "at most", math.log(SMALL), rare),
        ),
        one_constant(d, table, "at least", SPARSITY),
    )


def _small_as_xi2(name: str) -> Callable[[PhaseTwoRuns], Finding]:
    def evaluate(every: PhaseTwoRuns) -> Finding:
        d, table = _over_d(every, lambda run: getattr(run.result, name) * run.config.rule.xi2**2)
        return noted(
            one_constant(d, table, "at most", SPARSITY),
            f"Largest over inputs, from the smallest to the largest d: {_means(table)}.",
        )

    return evaluate


remainder = _small_as_xi2("rest")
deviation = _small_as_xi2("deviation")
