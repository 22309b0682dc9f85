"""Checks on clean training from pure features over d: it learns, soils its features, and becomes fragile."""

from collections.abc import Callable

from karat.papers.purification.checks.limit_readings import (
    CHEAP,
    HALF_OF_NOTHING,
    NO_CLEAN_TRAINING,
    OVER_D,
    POWERS,
    SLEEPING_CODES,
    SLOPE,
    LimitRun,
    LimitRuns,
    by_dimension,
    clean_conditions,
    falls,
    fragile_conditions,
    inside,
    largest,
    over_d,
    structure,
    vanishes,
)
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import SMALL, average, halfway
from karat.papers.purification.experiments.limits import LIMITS, LIMITS_INF, LimitsResult
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ERROR, LOSS, RATIO, Finding
from karat.study.judging import Undecided, all_of, bound, noted, one_constant, share_of_points
from karat.study.judging.common import Side
from karat.study.run import Runs, examples


def _clean_error(every: LimitRuns) -> Finding:
    """The clean error, o(1)."""
    runs = largest(every)
    # Pure features have a small error themselves: training must be seen to do something.
    learned = [run.result.clean.objective / max(run.result.start.objective, 1e-9) for run in runs]
    return noted(
        all_of(vanishes(every, lambda r: r.clean.error, ERROR), bound(learned, "at most", LEARNED, RATIO)),
        f"At the largest d the pure features themselves err on "
        f"{average([run.result.start.error for run in runs]):.4f}.",
    )


def _objective(every: LimitRuns) -> Finding:
    """The objective over the second half of clean training, o(1)."""
    runs = largest(every)
    learned = [run.result.clean_objective / max(run.result.start.objective, 1e-9) for run in runs]
    return all_of(
        falls(every, lambda run: run.result.clean_objective),
        bound([run.result.clean_objective for run in runs], "at most", HALF_OF_NOTHING, LOSS),
        bound(learned, "at most", LEARNED, RATIO),
    )


def _falls(every: LimitRuns) -> Finding:
    """The share of inputs that are wrong after the printed move, and right without it."""
    runs = largest(every)
    fallen = _share(runs, lambda r: r.clean.fallen, "at least", 1 - SMALL)
    rows = [
        f"{average([run.result.clean.fallen for run in group]):.4f} at d = {d:.0e}"
        for d, group in by_dimension(every).items()
    ]
    return noted(
        all_of(fallen, _right(runs)),
        f"Wrong after a move by k^-{runs[0].config.fall_power:g}: {', '.join(rows)}; at the radius of "
        f"training, k^-{runs[0].config.radius_power:g}, "
        f"{average([run.result.clean.universal for run in runs]):.4f}.",
    )


def _falls_altogether(every: Runs[PureStartConfig, LimitsResult]) -> Finding:
    """The share of inputs still right after the move by -y M w*/k^2, at every d and for both laws."""
    parts = []
    for runs in (every, every.of(LIMITS_INF)):
        for d, group in by_dimension(runs).items() if runs else ():
            kept = _share(group, lambda r: 1 - r.clean.fallen_dense, "at most", 0.01)
            codes = group[0].result.support / group[0].result.k
            parts.append(noted(kept, f"E|z|_0 = {codes:.2g} k, d = {d:.0e}: {kept}."))
    return all_of(*parts, _right(largest(every)))


def _stays_fallen(every: LimitRuns) -> Finding:
    """The share of inputs that are wrong after the move, at every late stop of clean training."""
    runs = largest(every)
    config = runs[0].config
    begin = max(config.d**0.01, 1 / config.scaled_decay)
    late = [stop for stop, time in enumerate(runs[0].result.fallen_times) if time >= begin]
    points = -(-config.n_moved // 4)
    parts = []
    for stop in late:
        wrong = [run.result.fallen_curve[stop] for run in runs]
        parts.append(share_of_points(wrong, points, "at least", 1 - SMALL))
    if not parts:
        raise Undecided("no stop of clean training is late enough")
    return noted(
        all_of(*parts), f"{len(late)} stops from {begin:.3g} to {max(runs[0].result.fallen_times):.3g} d/lr."
    )


def _mixture_law(every: LimitRuns) -> Finding:
    """beta/alpha over k/d as one constant, from both sides."""
    d, table = over_d(every, _over_k)
    mean = average([run.result.clean.law for run in inside(every)])
    return noted(
        all_of(
            one_constant(d, table, "at least", halfway(1 / 3, "mixtures of order 1/d")),
            one_constant(d, table, "at most", halfway(1 / 3, "mixtures of order k^2/d")),
        ),
        f"It is {mean:.4f} of E|z|_0/d, the probability that a neuron wakes.",
    )


def _over_k(run: LimitRun) -> float:
    clean = run.result.clean
    # A net without mixtures has no power law: a tiny positive number shows it as one that falls short.
    return max(clean.beta / clean.alpha * run.config.d / run.config.sparsity, 1e-12 / run.config.d)


def _share(runs: LimitRuns, value: Callable[[LimitsResult], float], side: Side, predicted: float) -> Finding:
    """The share of moved points at which something happens, over nets of one setting."""
    return share_of_points([value(run.result) for run in runs], runs[0].config.n_moved, side, predicted)


def _right(runs: LimitRuns) -> Finding:
    """The clean net errs on few points."""
    wrong = [run.result.clean.error for run in runs]
    return share_of_points(wrong, runs[0].config.n_test, "at most", SMALL)


def _cells(power: float, **clean: float) -> list[tuple[PureStartConfig, LimitsResult]]:
    """Three sizes; numbers of the clean net and the objective are multiplied by (d / 1e8)^power."""
    cells = []
    for d in (10**8, 10**9, 10**10):
        factor = (d / 1e8) ** power
        values = {name: value * factor for name, value in clean.items()}
        objective = values.pop("objective", 0.0)
        result = made_up(
            LimitsResult,
            start={"error": 0.1, "objective": 1.0},
            clean={"alpha": 1.5, **values},
            clean_objective=objective,
            support=4e3,
            k=1000,
        )
        cells.append((PureStartConfig(d=d), result))
    return cells


def _mixtures(power: float) -> list[tuple[PureStartConfig, LimitsResult]]:
    cells = []
    for d in (10**8, 10**9, 10**10):
        config = PureStartConfig(d=d)
        beta = 5 * config.sparsity / d * (d / 1e8) ** power
        cells.append(
            (config, made_up(LimitsResult, clean={"alpha": 1.5, "beta": beta, "law": 1.0}, support=4e3))
        )
    return cells


def _over_time(fallen: float) -> list[tuple[PureStartConfig, LimitsResult]]:
    result = made_up(
        LimitsResult, fallen_times=[20.0, 40.0], fallen_curve=[1.0, fallen], clean={"alpha": 1.5}, support=4e3
    )
    return [(PureStartConfig(d=10**8), result)]


_FEW_CODES = Control(
    name="far fewer codes than k",
    removes="structure",
    settings={"small_rate": 0.05, "robust_time": 0.0},
    cheap=CHEAP,
    why="With a twentieth of k codes the mixture is too small to be seen at this length of the move.",
)

LEARNED = 0.9
"""What training may leave at most of a number of the pure features to have done something."""

CHECKS = (
    Check(
        claim_id="purification.thm5.1b",
        experiment=LIMITS,
        evaluate=_clean_error,
        conditions=clean_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.1, error=0.03)),
        violated=examples(*_cells(0.1, error=0.3)),
        controls=(SLEEPING_CODES, NO_CLEAN_TRAINING),
        reading=f"Error of sign(E_rho f), which is deterministic; Thm 5.1 draws rho. The objective "
        f"must end a tenth below that of the pure features, so that training did something. {OVER_D} "
        f"{POWERS}",
        headline=True,
    ),
    Check(
        claim_id="purification.thmD.1",
        experiment=LIMITS,
        evaluate=_objective,
        conditions=clean_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.1, objective=0.2)),
        violated=examples(*_cells(0.1, objective=0.5)),
        controls=(SLEEPING_CODES, NO_CLEAN_TRAINING),
        reading="Averaged over the second half of clean training; at the largest d at most half of log 2, "
        "the loss of "
        f"a net that says nothing. {SLOPE} {POWERS}",
    ),
    Check(
        claim_id="purification.thm5.1c",
        experiment=LIMITS,
        evaluate=_falls,
        conditions=fragile_conditions,
        observed=structure,
        satisfied=examples(*_cells(0.0, error=0.02, fallen=0.99)),
        violated=examples(*_cells(0.0, error=0.02, fallen=0.5)),
        controls=(NO_CLEAN_TRAINING,),
        reading=f"f != y is read as sign(f) != y; 1 - o(1) as at least {1 - SMALL:g} of fresh inputs at the "
        f"largest "
        "d, of a net that errs on at most a quarter without the move, part (b) of the same theorem. tau = "
        f"k^-0.51, the smallest that c = 0.001 allows. {POWERS}",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.1c.time",
        experiment=LIMITS,
        evaluate=_stays_fallen,
        conditions=fragile_conditions,
        observed=structure,
        satisfied=examples(*_over_time(0.99)),
        violated=examples(*_over_time(0.5)),
        controls=(_FEW_CODES,),
        reading=f"1 - o(1) is read as at least {1 - SMALL:g} at the largest d, at every stop from max(T_c, "
        f"1/(lr lambda)) to the end of clean training. {POWERS}",
    ),
    Check(
        claim_id="purification.thmE.1",
        experiment=LIMITS,
        beside=(LIMITS_INF,),
        evaluate=_falls_altogether,
        conditions=fragile_conditions,
        observed=structure,
        satisfied=examples(*_cells(0.0, error=0.02, fallen_dense=1.0)),
        violated=examples(*_cells(0.0, error=0.02, fallen_dense=0.8)),
        controls=(NO_CLEAN_TRAINING,),
        reading="e^-Omega(log^2 d) is read as at most one input in a hundred at every d, for both laws of "
        "the code "
        "that are run: Assumption 2.1 leaves the constant of |z|_0 = Theta(k) free. The printed f(x - "
        "delta) "
        f"with delta = -y ... would carry the sign twice. Xi2^10 is 1 up to a thousandth. {POWERS}",
    ),
    Check(
        claim_id="purification.eq5.1",
        experiment=LIMITS,
        evaluate=_mixture_law,
        conditions=clean_conditions,
        observed=structure,
        satisfied=examples(*_mixtures(0.0)),
        violated=examples(*_mixtures(0.4)),
        controls=(NO_CLEAN_TRAINING,),
        reading="As printed: beta/alpha = Theta(k/d), one constant from above and from below over d; equal "
        "in all "
        "features and of the sign of w* by symmetry.",
        headline=True,
    ),
)
