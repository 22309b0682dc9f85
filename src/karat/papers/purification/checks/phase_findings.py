"""What the checks on the lottery's first phase compare, and what they suppose of the sampled neurons."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from karat.papers.purification.bounds_phase import of_the_first_phase
from karat.papers.purification.checks.readings import halfway
from karat.papers.purification.experiments.phase_one import COUPLED, PROOF_SHARE
from karat.papers.purification.experiments.phase_one_config import PhaseConfig, PhaseResult
from karat.study.curves import curves
from karat.study.finding import RATIO, Finding, Margin, Unit
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import (
    Undecided,
    all_of,
    bound,
    equal,
    every_setting,
    exact_bound,
    limit,
    noted,
    one_constant,
)
from karat.study.run import Run

PhaseRun = Run[PhaseConfig, PhaseResult]
Curve = Callable[[PhaseResult], list[float]]

SPARSITY = halfway(0.16, "the trivial limit d E|z_j|/2, sqrt(k) = d^0.16")
HALF = 0.45
"""A coordinate just above b is awake on every other code of size one; a tenth is left to sampling error."""


def sizes(every: Sequence[PhaseRun]) -> list[PhaseRun]:
    """The runs over d, one sparsity each: those with the most common speed of the bias.

    Args:
        every: all of an experiment.
    """
    shares = [run.config.bias_share for run in every if run.config.k != COUPLED["k"]]
    if not shares:
        raise Undecided("no run of the setting that is judged has finished")
    usual = max(set(shares), key=shares.count)
    return [run for run in every if run.config.bias_share == usual and run.config.k != COUPLED["k"]]


def _late(run: PhaseRun, curve: Curve) -> list[float]:
    """A curve from T_a on; of a run that ends before, its last value."""
    begin = run.config.phases().T_a * (1 - 1e-9)
    values = zip(run.result.passed, curve(run.result), strict=True)
    return [value for passed, value in values if passed >= begin] or curve(run.result)[-1:]


def _early(run: PhaseRun, curve: Curve) -> list[float]:
    """A curve up to T_a."""
    end = run.config.phases().T_a * (1 - 1e-9)
    values = zip(run.result.passed, curve(run.result), strict=True)
    return [value for passed, value in values if passed < end]


def _over_d(
    every: Sequence[PhaseRun], value: Callable[[PhaseRun], float]
) -> tuple[list[float], list[list[float]]]:
    return curves(sizes(every), lambda run: float(run.config.d), value)


def _means(table: Sequence[Sequence[float]]) -> str:
    """Means over seeds, as a list for the caveat."""
    return ", ".join(f"{np.mean(column):.3g}" for column in zip(*table, strict=True)) or "unknown"


def _rarity(run: PhaseRun) -> float:
    """k/d, which Lemma C.7 takes for Gamma_t from T_a on."""
    return run.config.k / run.config.d


def _slowest(run: PhaseRun) -> float:
    """The slowest sure winner of all stops, over the explicit constant."""
    return float(np.nanmin(run.result.sure_least)) / run.result.explicit


def _constant_one(every: Sequence[PhaseRun], value: Callable[[PhaseRun], float]) -> Finding:
    """The largest value over the sizes, one per seed: the constant 1 must serve them all."""
    d, table = _over_d(every, value)
    if len(d) < 3:
        raise Undecided(f"a constant is judged over three sizes at least, here are {len(d)}")
    return noted(
        bound([max(row) for row in table], "at most", 1.0, RATIO),
        f"Measured over formula, from the smallest to the largest d: {_means(table)}.",
    )


def winner_growth(every: Sequence[PhaseRun]) -> Finding:
    """Every sure winner at every stop grows at least half as fast as by codes of size one, none faster.

    Args:
        every: all of an experiment.
    """
    d, most = _over_d(every, lambda run: np.nanmax(run.result.sure_most) / run.result.explicit)
    _, last = _over_d(every, lambda run: run.result.sure_least[-1] / run.result.explicit)
    runs = sizes(every)
    explicit = np.mean([run.result.explicit for run in runs])
    return noted(
        all_of(
            every_setting(
                runs, lambda cells: bound([_slowest(run) for run in cells], "at least", HALF, RATIO)
            ),
            one_constant(d, most, "at most", SPARSITY),
        ),
        f"In units of (1/2) P(|z| = 1) E[y | z_j = 1] = {explicit:.4f}/d. The slowest at T_b, from the "
        f"smallest to the largest d: {_means(last)}; the fastest of all stops: {_means(most)}. "
        f"{min(run.result.steps[-1] for run in runs)} steps and more up to T_b.",
    )


def largest_growth(every: Sequence[PhaseRun]) -> Finding:
    """The largest growth of any coordinate of any sampled neuron at any stop: one constant over d.

    Args:
        every: all of an experiment.
    """
    d, table = _over_d(every, lambda run: max(run.result.largest))
    _, most = _over_d(every, lambda run: run.result.most_possible)
    return noted(
        one_constant(d, table, "at most", SPARSITY),
        f"d times the largest expectation up to T_b: {_means(table)}; trivial limit d E|z_j|/2: "
        f"{_means(most)}.",
    )


def _unit(run: PhaseRun) -> float:
    """(k/d) log d."""
    return _rarity(run) * math.log(run.config.d)


def other_growth(every: Sequence[PhaseRun]) -> Finding:
    """The largest growth of a coordinate that is no potential winner, from T_a on, over (k/d) log d.

    Args:
        every: all of an experiment.
    """
    _, first = _over_d(every, lambda run: max(run.result.others) / run.result.explicit)
    return noted(
        _constant_one(every, lambda run: max(_late(run, lambda r: r.others)) / _unit(run)),
        f"Before T_a one just below b grows at {_means(first)} of a winner's speed.",
    )


def slower(every: Sequence[PhaseRun]) -> Finding:
    """The fastest other coordinate over the slowest winner, in units of k log(d)/d, from T_a on.

    Args:
        every: all of an experiment.
    """

    def ratio(run: PhaseRun) -> float:
        winners = min(_late(run, lambda r: r.winner_least))
        return max(_late(run, lambda r: r.others)) / winners / _unit(run)

    d, least = _over_d(every, lambda run: min(_late(run, lambda r: r.winner_least)))
    _, most = _over_d(every, lambda run: max(_late(run, lambda r: r.winner_most)))

    def linear(runs: Sequence[PhaseRun]) -> list[float]:
        return [
            min(_late(run, lambda r: r.winner_least)) / max(_late(run, lambda r: r.winner_most))
            for run in runs
        ]

    return noted(
        all_of(
            _constant_one(every, ratio),
            every_setting(sizes(every), lambda cells: bound(linear(cells), "at least", 0.8, RATIO)),
            one_constant(d, least, "at least", SPARSITY),
            one_constant(d, most, "at most", SPARSITY),
        ),
        f"Slowest over fastest winner between T_a and T_b: {np.mean(linear(sizes(every))):.3f}.",
    )


def noise_growth(every: Sequence[PhaseRun]) -> Finding:
    """The largest |E[y phi]| at the edge of a half from T_a on, over k/d.

    Args:
        every: all of an experiment.
    """
    return _constant_one(every, lambda run: max(_late(run, lambda r: r.edge)) / _rarity(run))


def _proven(every: Sequence[PhaseRun], curve: Curve) -> Finding:
    """The largest certified probability from T_a on, over k/d, at each of three sizes or more."""
    d, table = _over_d(every, lambda run: max(_late(run, curve)) / _rarity(run))
    if len(d) < 3:
        raise Undecided(f"a constant is judged over three sizes at least, here are {len(d)}")
    values = [value for row in table for value in row]
    return noted(
        exact_bound(values, "at most", 1.0, RATIO, "Bernstein's inequality for each sampled neuron"),
        f"Certificate over k/d, from the smallest to the largest d: {_means(table)}.",
    )


def tail(every: Sequence[PhaseRun]) -> Finding:
    """The largest P(|<w_i, x>| >= sigma_w) from T_a on, over k/d.

    Args:
        every: all of an experiment.
    """
    return _proven(every, lambda r: r.tail)


def early_tail(every: Sequence[PhaseRun]) -> Finding:
    """The largest P(|<w_i, x>| >= lambda sigma_w) up to T_a, over what is printed with the constant one.

    Args:
        every: all of an experiment.
    """
    return _constant_one(every, lambda run: max(_early(run, lambda r: r.early_tail)))


def activation(every: Sequence[PhaseRun]) -> Finding:
    """The largest P(|<w_i, x>| >= b/10) from T_a on, over k/d.

    Args:
        every: all of an experiment.
    """
    _, printed = _over_d(every, lambda run: max(_late(run, lambda r: r.printed_beyond)))
    return noted(
        _proven(every, lambda r: r.beyond),
        f"Beyond the printed level the probability itself, on sampled inputs, is {_means(printed)}.",
    )


def awake(every: Sequence[PhaseRun]) -> Finding:
    """Most neurons near the threshold at T_b over k Xi_2, and the largest rest of a projection over b.

    Args:
        every: all of an experiment.
    """
    rest = [run.result.rest[-1] for run in sizes(every)]
    return noted(
        all_of(
            _constant_one(every, lambda run: run.result.counted[-1] / (run.config.k * run.config.rule.xi2)),
            every_setting(
                sizes(every),
                lambda cells: bound([run.result.rest[-1] for run in cells], "at most", 0.1, RATIO),
            ),
        ),
        f"Most neurons of a net that one of {every[0].config.n_test} inputs brings beyond b/10, over k Xi_2. "
        f"Largest projection without potential winners' features over b: {np.max(rest):.2g}.",
    )


def coupling(every: Sequence[PhaseRun]) -> Finding:
    """The largest deviation of a grown winner from the common growth, over it, from T_a on.

    Args:
        every: all of an experiment.
    """
    runs = [run for run in every if run.config.k == COUPLED["k"]] or list(every)
    if not all(min(_late(run, lambda r: [float(n) for n in r.grown])) for run in runs):
        raise Undecided("no winner has grown beyond 2 sqrt(k) b")
    config = runs[0].config
    allowed = Margin(config.k**1.5 / config.d, "k^1.5/d^2 over a growth 1/d, what the lemma itself allows")
    spread = [max(_late(run, lambda r: r.spread)) for run in runs]
    return noted(
        equal(spread, 0.0, allowed, RATIO),
        f"{runs[0].result.grown[-1]} winners exceed {config.grown:g} sqrt(k) b at T_b, the least of them is "
        f"{np.mean([run.result.lead_least[-1] for run in runs]):.1f} b.",
    )


def chance(every: Sequence[PhaseRun]) -> Finding:
    """Largest distance of the accuracy from one half between T_a and T_b, bias at the proof's speed.

    Args:
        every: all of an experiment.
    """
    runs = [run for run in every if run.config.bias_share == PROOF_SHARE] or list(every)
    if any(np.isnan(run.result.accuracy).all() for run in runs):
        raise Undecided("some net has no sure winner left, or none of its neurons is asleep")
    distance = [float(np.nanmax(np.abs(np.array(run.result.accuracy) - 0.5))) for run in runs]
    begin, early = min(
        (passed / run.config.phases().T_b, value)
        for run in runs
        for passed, value in zip(run.result.passed, run.result.accuracy, strict=True)
        if not math.isnan(value)
    )
    other = [np.nanmax(run.result.accuracy) for run in sizes(every)]
    return noted(
        bound(distance, "at most", 0.1, Unit("distance of the accuracy from 1/2", 0.0, 0.5)),
        f"One sure winner per feature, bias speed {runs[0].config.bias_share:g} of a winner's: accuracy "
        f"{early:.3f} already at {begin:.2g} T_b. With {sizes(every)[0].config.bias_share:g} it reaches "
        f"{max(other):.3f}.",
    )


def flat_loss(every: Sequence[PhaseRun]) -> Finding:
    """The largest distance |f|/4 of l' from 1/2 up to T_b with sigma_0 = d^-2: it vanishes with d.

    Args:
        every: all of an experiment.
    """
    d, table = _over_d(
        every, lambda run: max(_late(run, lambda r: r.output)) / 4 * run.config.d**-run.config.small_start
    )
    return noted(limit(d, table), f"The bound |f|/4 from the smallest to the largest d: {_means(table)}.")


def conditions(config: PhaseConfig) -> list[Condition]:
    """What the lemmas ask of data, start and schedule.

    Args:
        config: of a run.
    """
    return of_the_first_phase(config.d, config.k, config.c0, config.threshold)


def ordinary(run: PhaseRun) -> list[Condition]:
    """S_ept up to T_a and S_ept+ after it, for the neurons that are looked at.

    Args:
        run: one of them.
    """
    name = "Lem C.8: neurons in S_ept, from T_a on in S_ept+: half of the sampled ones, to be looked at"
    return [at_least(name, min(run.result.looked_at), 0.5)]


def early_ordinary(run: PhaseRun) -> list[Condition]:
    """S_ept in the first part of the phase, for the neurons that are looked at.

    Args:
        run: one of them.
    """
    name = "Lem C.4(a): neurons in S_ept up to T_a: half of the sampled ones, to be looked at"
    return [at_least(name, min(_early(run, lambda r: r.looked_at)), 0.5)]


def late_ordinary(run: PhaseRun) -> list[Condition]:
    """S_ept+ in the second part of the phase, for the neurons that are looked at.

    Args:
        run: one of them.
    """
    name = "Lem C.7: neurons in S_ept+ from T_a on: half of the sampled ones, to be looked at"
    return [at_least(name, min(_late(run, lambda r: r.looked_at)), 0.5)]


def winning(run: PhaseRun) -> list[Condition]:
    """What Lemma C.8 asks of the neurons: ordinary, sure winners, and not too far ahead of b.

    Args:
        run: one of them.
    """
    name = "Lem C.8: i in S_sure at t: half of those that began so, to be looked at"
    limit_of_lead = 2 * math.log(math.log(run.config.d))
    return [
        *ordinary(run),
        at_least(name, min(run.result.sure_kept), 0.5),
        at_most("Lem C.8: |<w_i, M_j>| <= 2 b log log d", max(run.result.lead_most), limit_of_lead),
    ]


def at_the_end(run: PhaseRun) -> list[Condition]:
    """What Lemma C.19 asks of the neurons at T_b.

    Args:
        run: one of them.
    """
    name = "Lem C.19: S_pot+ inside the first S_pot: half of the sampled neurons, to be looked at"
    return [*late_ordinary(run), at_least(name, run.result.no_new_plus[-1], 0.5)]
