"""Checks on adversarial training from the clean net of pure features over d, in l2 and l_inf."""

import math
from typing import Any

from karat.papers.purification.checks.limit_readings import (
    CHEAP,
    HALF_OF_NOTHING,
    NO_ADVERSARIAL_TRAINING,
    NO_CLEAN_TRAINING,
    OVER_D,
    POWERS,
    SLOPE,
    LimitRun,
    LimitRuns,
    both_conditions,
    by_dimension,
    falls,
    largest,
    over_d,
    robust_conditions,
    same_radius_conditions,
    structure,
    vanishes,
)
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import PURER, SMALL, average, halfway
from karat.papers.purification.experiments.limits import (
    BASE,
    L_INF,
    LIMITS,
    LIMITS_EDGE,
    LIMITS_INF,
    LimitsResult,
)
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.papers.purification.experiments.symmetric_measures import TangentDeviation
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ACCURACY, ERROR, LENGTH, LOSS, RATIO, Finding, Unit
from karat.study.judging import all_of, bound, certified, limit, noted, one_constant
from karat.study.run import examples

GAIN = Unit("difference of error rates", -1.0, 1.0)


def _own_attack(every: LimitRuns) -> Finding:
    """The error under the attacker of training, o(1), of a net that was fragile before."""
    before = bound([run.result.clean.fgm for run in largest(every)], "at least", 0.5, ERROR)
    return all_of(vanishes(every, lambda r: r.robust.fgm, ERROR), before)


def _worst_case(every: LimitRuns) -> Finding:
    """The error under every perturbation of the ball, o(1): certificates fall, and are small at the end."""
    runs = largest(every)
    d, table = over_d(every, lambda run: run.result.robust.certified)
    return noted(
        all_of(
            limit(d, table),
            certified(
                [run.result.robust.attacked for run in runs],
                [run.result.robust.certified for run in runs],
                SMALL,
                ERROR,
            ),
            bound([run.result.clean.attacked for run in runs], "at least", 0.5, ERROR),
        ),
        f"Before adversarial training {average([run.result.clean.attacked for run in runs]):.3f}, pure "
        f"features "
        f"{average([run.result.start.attacked for run in runs]):.3f}.",
    )


def _movement(every: LimitRuns) -> Finding:
    """The largest share of the clean weights' energy that moves falls with d, while the mixture goes."""
    runs = largest(every)
    left = [_left(run) for run in runs]
    return noted(
        all_of(vanishes(every, lambda r: r.movement, RATIO), bound(left, "at most", 1 / PURER, RATIO)),
        f"Of the mixture a share {average(left):.1e} is left.",
    )


def _left(run: LimitRun) -> float:
    """The share of the mixture that adversarial training leaves; all of none."""
    clean = run.result.clean.law
    return abs(run.result.robust.law) / clean if clean > 0 else 1.0


def _small_objective(every: LimitRuns) -> Finding:
    """Premise and conclusion: the objective under attack at the end falls with d, so does the worst case."""
    return all_of(falls(every, lambda run: run.result.last_objective), _worst_case(every))


def _excess_objective(every: LimitRuns) -> Finding:
    """The objective under attack, averaged over adversarial training, beyond that of the clean net: o(1)."""
    last = [_excess(run) for run in largest(every)]
    return all_of(falls(every, _excess), bound(last, "at most", HALF_OF_NOTHING, LOSS))


def _excess(run: LimitRun) -> float:
    return run.result.robust_objective - run.result.clean.objective


def _beats(every: LimitRuns) -> Finding:
    """At every d the clean net's error under attack exceeds the robust net's certified one."""
    parts = []
    for d, group in by_dimension(every).items():
        gain = [run.result.clean.attacked - run.result.robust.certified for run in group]
        finding = bound(gain, "at least", 0.1, GAIN)
        parts.append(noted(finding, f"d = {d:.0e}: {finding}."))
    return all_of(*parts)


def _l_inf(every: LimitRuns) -> Finding:
    """The clean net falls at k^-(2 - c1), the robust one provably holds at k^-(1.75 + 2 c0)."""
    runs = largest(every)
    kept = [1 - run.result.clean.fallen for run in runs]
    d, table = over_d(every, lambda run: max(1 - run.result.clean.fallen, 0.5 / run.config.n_moved))
    return noted(
        all_of(bound(kept, "at most", SMALL, ACCURACY), limit(d, table), _worst_case(every)),
        f"At k^-{runs[0].config.fall_power:g} the clean net keeps {average(kept):.3f}.",
    )


def _tangent(every: LimitRuns) -> Finding:
    """A bound on the deviation from the tangent in the ball, times log d: one constant over d."""
    d, above = over_d(every, lambda run: _deviation(run) * math.log(run.config.d))
    runs = largest(every)
    return noted(
        all_of(
            one_constant(d, above, "at most", halfway(1 / 6, "a deviation that grows like sqrt(k)")),
            bound([_left(run) for run in runs], "at most", 1 / PURER, RATIO),
            bound([_deviation(run) * math.log(run.config.d) for run in runs], "at most", 1.0, RATIO),
        ),
        f"At the largest d at most {average([_deviation(run) for run in runs]):.4f} on average over inputs, "
        f"1/log d is {1 / math.log(runs[0].config.d):.4f}.",
    )


def _deviation(run: LimitRun) -> float:
    deviation = run.result.deviation
    return math.inf if deviation is None else max(deviation.bound, 1e-12)


def _dense_part(every: LimitRuns) -> Finding:
    """The longest dense part of a neuron over adversarial training: at most one, and of order k/sqrt(d)."""
    d, table = over_d(
        every, lambda run: run.result.largest_dense / (run.config.sparsity / math.sqrt(run.config.d))
    )
    parts = [
        bound([run.result.largest_dense for run in group], "at most", 1.0, LENGTH)
        for group in by_dimension(every).values()
    ]
    return all_of(*parts, one_constant(d, table, "at most", halfway(1 / 6, "a dense part of order 1")))


def _cells(
    power: float = 0.0, config: PureStartConfig | None = None, **values: Any
) -> list[tuple[PureStartConfig, LimitsResult]]:
    """Three sizes; the numbers are multiplied by (d / 1e8)^power, those of nets too."""
    cells = []
    for d in (10**8, 10**9, 10**10):
        factor = (d / 1e8) ** power
        scaled = {
            name: {key: number * factor for key, number in value.items()}
            if isinstance(value, dict)
            else value * factor
            for name, value in values.items()
        }
        scaled["clean"] = {"alpha": 1.5, "law": 1.0, "attacked": 1.0, "fgm": 1.0} | scaled.get("clean", {})
        bound = scaled.pop("deviation", {}).get("bound", 0.0)
        scaled["deviation"] = TangentDeviation(reached=0.0, bound=bound, worst_bound=bound)
        cells.append((_at(d, config), made_up(LimitsResult, support=4e3, **scaled)))
    return cells


def _both_radii(power: float, kept: float, error: float) -> list[tuple[PureStartConfig, LimitsResult]]:
    """Three sizes at which what the clean net keeps, and the robust one's error, change like d^power."""
    cells = []
    for d in (10**8, 10**9, 10**10):
        factor = (d / 1e8) ** power
        robust = {"attacked": error * factor, "certified": error * factor}
        clean = {"alpha": 1.5, "fallen": 1 - kept * factor, "attacked": 1.0}
        cells.append((_at(d, L_INF), made_up(LimitsResult, clean=clean, robust=robust, support=4e3)))
    return cells


def _at(d: int, config: PureStartConfig | None) -> PureStartConfig:
    return PureStartConfig(d=d) if config is None else PureStartConfig(**(vars(config) | {"d": d}))


def _dense(power: float) -> list[tuple[PureStartConfig, LimitsResult]]:
    """Three sizes at which mixtures are k/d times d^power."""
    cells = []
    for d in (10**8, 10**9, 10**10):
        config = PureStartConfig(d=d)
        beta = config.sparsity / d * (d / 1e8) ** power
        result = made_up(
            LimitsResult,
            clean={"alpha": 1.5, "beta": beta},
            largest_dense=beta * math.sqrt(d),
            support=4e3,
        )
        cells.append((config, result))
    return cells


_LARGE_BALL = Control(
    name="a ball that wakes neurons",
    removes="ball",
    settings={"radius_power": 0.35, "robust_time": 0.0},
    cheap=CHEAP,
    why="At tau far above b / |w| a perturbation wakes sleeping neurons, whose outputs have a kink there.",
)

_LONG_STEPS = Control(
    name="steps too long",
    removes="scale",
    settings={"robust_share": 40.0, "robust_time": 5.0},
    cheap={**CHEAP, "n_test": 200, "n_moved": 50, "n_attack": 20, "n_linear": 1},
    why="Steps far beyond the stable ones overshoot: mixtures grow with the other sign instead of vanishing.",
)

_RADIUS = (
    f"at tau = k^-{BASE.radius_power:g} (it asks for at most k^-(0.5 + c); at k^-0.501 see corF.2 and thmF.1)"
)

CHECKS = (
    Check(
        claim_id="purification.thm5.3a",
        experiment=LIMITS,
        evaluate=_own_attack,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.1, robust={"fgm": 0.3})),
        violated=examples(*_cells(0.0, robust={"fgm": 0.5})),
        controls=(NO_ADVERSARIAL_TRAINING, NO_CLEAN_TRAINING),
        reading=f"Against the fast gradient method, one of the attackers that the theorem allows, "
        f"{_RADIUS}. {OVER_D} {POWERS}",
    ),
    Check(
        claim_id="purification.thm5.3b",
        experiment=LIMITS,
        evaluate=_worst_case,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.2, robust={"attacked": 0.3, "certified": 0.32})),
        violated=examples(*_cells(0.0, robust={"attacked": 0.5, "certified": 0.6})),
        controls=(NO_ADVERSARIAL_TRAINING, NO_CLEAN_TRAINING),
        reading=f"Every perturbation, {_RADIUS}: certificates must be small and fall, an attack can refute "
        f"it; of a net that "
        f"is fragile before. {OVER_D} {POWERS}",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.3c",
        experiment=LIMITS,
        evaluate=_movement,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.2, movement=0.05, robust={"law": 0.001})),
        violated=examples(*_cells(0.1, movement=0.5, robust={"law": 0.9})),
        controls=(NO_ADVERSARIAL_TRAINING, NO_CLEAN_TRAINING),
        reading="The largest over all steps of adversarial training; weights that do not move at all purify "
        f"nothing, so the mixture must fall by a factor {PURER:g} as well. {OVER_D}",
        headline=True,
    ),
    Check(
        claim_id="purification.thmF.1",
        experiment=LIMITS_EDGE,
        evaluate=_excess_objective,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.1, robust_objective=0.2)),
        violated=examples(*_cells(0.1, robust_objective=0.9)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="Averaged over every step of adversarial training, its first ones included; at the largest "
        "d at most half "
        f"of log 2, the loss of a net that says nothing. {SLOPE}",
    ),
    Check(
        claim_id="purification.corF.2",
        experiment=LIMITS_EDGE,
        evaluate=_small_objective,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.2, last_objective=0.3, robust={"attacked": 0.3, "certified": 0.32})),
        violated=examples(*_cells(0.0, last_objective=0.3, robust={"attacked": 0.5, "certified": 0.6})),
        controls=(NO_ADVERSARIAL_TRAINING, NO_CLEAN_TRAINING),
        reading=f"The premise, an objective under attack that is o(1), as falling with d at the end of "
        f"training. {OVER_D}",
    ),
    Check(
        claim_id="purification.corF.3",
        experiment=LIMITS_EDGE,
        evaluate=_beats,
        conditions=same_radius_conditions,
        observed=structure,
        satisfied=examples(*_cells(robust={"certified": 0.3})),
        violated=examples(*_cells(clean={"attacked": 0.2}, robust={"certified": 0.4})),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="The third sentence, at the same radius for both nets and at every d: the share that an "
        "attack "
        "breaks on the clean net less the share that is not proven on the robust one. 99.9% and 0.01% of the "
        "first two are for sufficiently large d.",
        headline=True,
    ),
    Check(
        claim_id="purification.eqF.17",
        experiment=LIMITS_EDGE,
        evaluate=_tangent,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.2, deviation={"bound": 0.01})),
        violated=examples(*_cells(0.3, deviation={"bound": 0.5})),
        controls=(_LARGE_BALL, NO_CLEAN_TRAINING),
        reading="O(1/log d) as one constant over d and at most 1/log d at the largest; an upper bound over "
        "the whole "
        "ball by duality, mean over inputs.",
    ),
    Check(
        claim_id="purification.eqF.13",
        experiment=LIMITS,
        evaluate=_dense_part,
        conditions=robust_conditions,
        satisfied=examples(*_dense(0.0)),
        violated=examples(*_dense(0.9)),
        controls=(_LONG_STEPS,),
        reading="The dense part is what a neuron has beside its own feature. (F.12) with equal neurons is "
        "the same "
        "number: its r of order k/sqrt(d) as one constant over d.",
    ),
    Check(
        claim_id="purification.thm5.4",
        experiment=LIMITS_INF,
        evaluate=_l_inf,
        conditions=both_conditions,
        observed=structure,
        satisfied=examples(*_both_radii(-0.2, 0.2, 0.1)),
        violated=examples(*_both_radii(0.0, 0.9, 0.5)),
        controls=(NO_ADVERSARIAL_TRAINING, NO_CLEAN_TRAINING),
        reading=f"c1 = {2 - L_INF.fall_power:.0e} <= c0, E|z|_0 = {L_INF.small_rate:g} k; trained and "
        f"certified at k^-{L_INF.radius_power:g}. Row "
        f"and column sums "
        f"of M = I are one. {OVER_D}",
        headline=True,
    ),
    Check(
        claim_id="purification.thmF.4",
        experiment=LIMITS_INF,
        evaluate=_excess_objective,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(*_cells(-0.1, L_INF, robust_objective=0.2)),
        violated=examples(*_cells(0.1, L_INF, robust_objective=0.9)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="Averaged over every step of adversarial training, its first ones included; at the largest "
        "d at most half "
        f"of log 2, the loss of a net that says nothing. {SLOPE}",
    ),
    Check(
        claim_id="purification.corF.5",
        experiment=LIMITS_INF,
        evaluate=_small_objective,
        conditions=robust_conditions,
        observed=structure,
        satisfied=examples(
            *_cells(-0.2, L_INF, last_objective=0.3, robust={"attacked": 0.1, "certified": 0.1})
        ),
        violated=examples(
            *_cells(0.0, L_INF, last_objective=0.3, robust={"attacked": 0.5, "certified": 0.6})
        ),
        controls=(NO_ADVERSARIAL_TRAINING, NO_CLEAN_TRAINING),
        reading=f"The premise, an objective under attack that is o(1), as falling with d at the end of "
        f"training. {OVER_D}",
    ),
    Check(
        claim_id="purification.corF.6",
        experiment=LIMITS_INF,
        evaluate=_beats,
        conditions=same_radius_conditions,
        observed=structure,
        satisfied=examples(*_cells(0.0, L_INF, robust={"certified": 0.3})),
        violated=examples(*_cells(0.0, L_INF, clean={"attacked": 0.2}, robust={"certified": 0.4})),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="The third sentence, at the same radius for both nets and at every d.",
    ),
)
