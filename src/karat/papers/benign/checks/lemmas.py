"""The lemmas of the proof, followed along training."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from karat.papers.benign.bounds_lemmas import gradient_constant, loss_ratio_reach
from karat.papers.benign.checks.lemma_examples import example
from karat.papers.benign.checks.lemma_values import LemmaRun, distance_share, excess_error, lowest_margin
from karat.papers.benign.checks.predictions import loss_ratio_limit
from karat.papers.benign.checks.settings import (
    conditions,
    deepest,
    depth,
    every_setting,
    growth_margin,
    made_up,
)
from karat.papers.benign.experiments.lemma_trace import LemmaResult
from karat.papers.benign.experiments.traces import LEMMAS, LemmaConfig
from karat.study.check import Check, no_conditions
from karat.study.control import Control
from karat.study.finding import RATIO, Finding, Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import (
    Undecided,
    all_of,
    bound,
    certified,
    exact_bound,
    noted,
    one_constant,
    vacuous_if,
)
from karat.study.run import pivot

LemmaRuns = Sequence[LemmaRun]
EXCESS = Unit("error rate above its bound", -1.0, 1.0)


def _distance(runs: LemmaRuns) -> Finding:
    """Largest distance of an attacked point from the span of the data, over its bound."""
    return every_setting(runs, lambda group: bound(list(map(distance_share, group)), "at most", 1.0, RATIO))


def _margin_bound(runs: LemmaRuns) -> Finding:
    """Robust error less the bound from the margins, the worst step of each run; by attack and certificate."""

    relu = _relu(runs)
    attacked, safe = [excess_error(run) for run in relu], [_certified_excess(run.result) for run in relu]
    # At a step where the bound is that of a coin it says nothing; a run needs one where it does.
    smallest = max(min(run.result.margin_bound) for run in relu)
    # The lemma speaks of every single net: no mean over nets, and no spread that could excuse one.
    why = "of every net at every step"
    worst = exact_bound(safe, "at most", 0.0, EXCESS, f"certificate {why}")
    if worst.leaning == "fails":
        worst = exact_bound(attacked, "at most", 0.0, EXCESS, f"attack {why}")
        if worst.leaning == "holds":
            raise Undecided(f"an attack stays {-max(attacked):.2g} below the bound, no certificate does.")
    return vacuous_if(smallest >= 0.5, f"the bound never falls below {smallest:.3g} in a run.", worst)


def _certified_excess(result: LemmaResult) -> float:
    if result.certified_error is None:
        raise Undecided("some runs have no certified error.")
    pairs = zip(result.certified_error, result.margin_bound, strict=True)
    return max(error - limit for error, limit in pairs)


def _smooth(runs: LemmaRuns) -> list[LemmaRun]:
    """Runs with the smooth activation, which some lemmas are confined to."""
    smooth = [run for run in runs if run.config.setting().smooth]
    if not smooth:
        raise Undecided("no run uses the smooth activation that the lemma speaks of.")
    return smooth


def _relu(runs: LemmaRuns) -> list[LemmaRun]:
    """Runs with the ReLU, which other lemmas are confined to."""
    relu = [run for run in runs if run.config.activation == "relu"]
    if not relu:
        raise Undecided("no run uses the ReLU that the lemma speaks of.")
    return relu


def _known(values: Sequence[float | None]) -> list[float]:
    """Numbers that every run must have."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        raise Undecided("in some runs no margin moved, so that there is no gain to compare with.")
    return known


def _printed_constant(config: LemmaConfig) -> float:
    """C2 of a smooth run."""
    return gradient_constant(kappa=config.law.variance, slope=config.slope)


def _increment(runs: LemmaRuns) -> Finding:
    """The one-step inequality and its correlations step by step, and the C2 that the gradients need."""
    smooth = _smooth(runs)
    slacks = _known([run.result.increment_slack for run in smooth])
    correlations = _known([run.result.correlation_low for run in smooth])
    # Correlations are products of two derivatives, each at least the slope.
    above = [low / run.config.slope**2 for low, run in zip(correlations, smooth, strict=True)]
    needed = [run.result.gradient_constant / _printed_constant(run.config) for run in smooth]
    return noted(
        all_of(
            exact_bound(slacks, "at least", 0.0, RATIO, "Taylor's inequality, step by step"),
            exact_bound(above, "at least", 1.0, RATIO, "products of two derivatives"),
            bound(needed, "at most", 1.0, RATIO),
        ),
        f"The gradients need {max(needed):.2g} of the printed C2.",
    )


def _loss_ratio(runs: LemmaRuns) -> Finding:
    """Largest ratio of loss derivatives over its bound, unless no run could have reached that bound."""

    def judge(group: LemmaRuns) -> Finding:
        config, limit = group[0].config, loss_ratio_limit(group[0].config)
        reach = loss_ratio_reach(config.d, config.tau, config.elapsed, kappa=config.law.variance)
        finding = bound([run.result.loss_ratio / limit for run in group], "at most", 1.0, RATIO)
        why = (
            "steps so small and few cannot bring the ratio near its bound: at d = "
            f"{config.d} to {reach:.3g} at most, of {limit:.3g}."
        )
        # A bound that no run could have broken has not been tested.
        return vacuous_if(reach < limit, why, finding)

    largest = max(run.result.loss_ratio for run in runs)
    return noted(every_setting(runs, judge), f"The largest ratio itself is {largest:.6g}.")


def _no_drop(runs: LemmaRuns) -> Finding:
    """Largest loss of margin over one step, over every point of every ball, as a share of the largest change.

    The net starts at 0, so margins that never fall also stay >= 0. The attack's points can refute it, a
    lower bound on the gain over each ball can show it.
    """
    drops = _known([run.result.drop_share for run in runs])
    gains = _known([run.result.certified_gain for run in runs])
    return certified(drops, [-gain for gain in gains], 0.0, RATIO)


def _smooth_monotone(runs: LemmaRuns) -> Finding:
    return every_setting(_smooth(runs), _no_drop)


def _relu_monotone(runs: LemmaRuns) -> Finding:
    """The lemma is about every sufficiently large C, so the deepest setting decides."""
    relu = _relu(runs)
    deep = deepest(relu)
    others = [run for run in relu if run.config_hash != deep[0].config_hash]
    broken = sum((run.result.drop_share or 0.0) > 0 for run in others)
    note = (
        f"Judged at C = {depth(deep[0].config):.2g}; at smaller C an attacked margin drops in {broken} of "
        f"{len(others)} runs."
    )
    return noted(_no_drop(deep), note)


def _margin_law(runs: LemmaRuns) -> Finding:
    """Smallest normalised margin over sqrt(n/d) |mu|^2, over all steps, against slope^2/(32 C2)."""

    def judge(group: LemmaRuns) -> Finding:
        config = group[0].config
        floor = config.slope**2 / (32 * _printed_constant(config))
        return bound(list(map(lowest_margin, group)), "at least", floor, RATIO)

    return every_setting(_smooth(runs), judge)


def _relu_margin_law(runs: LemmaRuns) -> Finding:
    """The hidden constant c9/(16 C2): positive in every setting, and one constant over the sizes."""
    relu = _relu(runs)
    positive = every_setting(
        relu, lambda group: bound(list(map(lowest_margin, group)), "at least", 0.0, RATIO)
    )
    d, lows = pivot(relu, lambda run: run.config.d, lowest_margin)
    signals = {float(run.config.d): math.sqrt(run.config.n / run.config.d) * run.config.mu**2 for run in relu}
    margin = growth_margin(d, [signals[size] for size in d])
    return all_of(positive, one_constant(d, lows, "at least", margin))


def _attack_seen(run: LemmaRun) -> list[Condition]:
    """Without a perturbation the distance is 0, whatever the lemma says."""
    if run.result.perturbation is None:
        return [is_so("every training point is moved by tau", False, "no perturbation was recorded")]
    return [at_least("every training point is moved by tau", run.result.perturbation, 0.99)]


def _margins_exceed(run: LemmaRun) -> list[Condition]:
    name = "Lem 4.2: both mean margins are at least |W| tau, at some step"
    return [is_so(name, min(run.result.margin_bound) < 1)]


_ASCENT = Control(
    name="gradient ascent",
    removes="sign",
    settings={"direction": "ascent"},
    cheap={"steps": 5, "n_test": 60},
    why="Steps that raise the loss lower every margin.",
)
_OUTSIDE = Control(
    name="attack out of the span",
    removes="attack",
    settings={"attacker": "outside"},
    cheap={"steps": 5, "n_test": 60},
    why="Perturbations of the same length that do not follow the net's gradient leave the span of the data.",
)
_NOISIER = Control(
    name="noisier test points",
    removes="structure",
    settings={"test_noise": 20.0},
    cheap={"steps": 5, "n_test": 60},
    why="Points that spread far beyond the cluster law err often, however large their mean margin is.",
)
_FEW_DIMENSIONS = Control(
    name="few dimensions",
    removes="structure",
    # A step moves a margin by about lr d / n, which is the same in few dimensions as in many.
    settings={"d": 40, "lr": 10.0},
    cheap={"d": 4000, "lr": 0.1, "n": 40, "m": 16, "mu": 6.0, "ratio": 0.01, "steps": 100, "n_test": 60}
    | {"draw": "auto", "init_scale": 0.001},
    why="In few dimensions points share directions: flipped labels are not fitted while others are.",
)


def _lemma(
    item: str,
    evaluate: Callable[[LemmaRuns], Finding],
    good: Callable[[LemmaConfig], LemmaResult],
    bad: Callable[[LemmaConfig], LemmaResult],
    *,
    reading: str,
    control: Control = _ASCENT,
    hypotheses: Callable[[LemmaConfig], Sequence[Condition]] = conditions,
    observed: Callable[[LemmaRun], Sequence[Condition]] = no_conditions,
    changes: Mapping[str, float] | None = None,
) -> Check[LemmaConfig, LemmaResult]:
    """A lemma along training; `good` and `bad` are made-up results, `changes` settings of theirs."""
    return Check(
        claim_id=f"benign.{item}",
        experiment=LEMMAS,
        evaluate=evaluate,
        conditions=hypotheses,
        observed=observed,
        satisfied=made_up(LEMMAS, good, changes=changes),
        violated=made_up(LEMMAS, bad, changes=changes),
        controls=(control,),
        reading=reading,
    )


CHECKS = (
    _lemma(
        "lem4.1",
        _distance,
        partial(example, distance=0.1),
        partial(example, distance=1.5),
        reading="Distance over min(init_scale sqrt(m d)/lr, tau).",
        control=_OUTSIDE,
        observed=_attack_seen,
    ),
    _lemma(
        "lem4.4",
        _loss_ratio,
        partial(example, loss_ratio=2.0),
        partial(example, loss_ratio=1e9),
        reading="C_r from its printed forms, C1 = 10/kappa, c0 = 1.",
        control=_FEW_DIMENSIONS,
        changes={"lr": 1.0},
    ),
    _lemma(
        "lemB.9",
        _smooth_monotone,
        partial(example, drop=-0.1, gain=0.05),
        partial(example, drop=0.1, gain=-0.2),
        reading="Smooth runs; the gain over a ball is at least that at its centre less tau times a Lipschitz "
        "bound. The second half of the lemma is Lemma 4.4.",
    ),
    _lemma(
        "lemB.14",
        _margin_law,
        partial(example, margin=0.5),
        partial(example, margin=-0.1),
        reading="Smooth runs; C2 = sqrt(5 C1 C_r) as printed; means over test points.",
    ),
    _lemma(
        "lemB.26",
        _relu_monotone,
        partial(example, drop=-0.1, gain=0.05),
        partial(example, drop=0.1, gain=-0.2),
        reading="c0 is hidden: read as no drop at any point of any ball, at the deepest setting; changes as "
        "shares of the largest one.",
    ),
    _lemma(
        "lemB.33",
        _relu_margin_law,
        partial(example, margin=0.5),
        partial(example, margin=-0.1),
        reading="The hidden c9/C2 is one constant over the sizes; means over test points.",
    ),
    _lemma(
        "lem4.2",
        _margin_bound,
        partial(example, robust_error=0.1, margin_bound=0.2),
        partial(example, robust_error=0.4, margin_bound=0.2),
        reading="c = 1/2, spectral norm of W; margins by means, robust error by certificate. ReLU "
        "runs, for the smooth net has no certificate.",
        control=_NOISIER,
        hypotheses=no_conditions,
        observed=_margins_exceed,
    ),
    _lemma(
        "lem4.3",
        _increment,
        partial(example, slack=0.01),
        partial(example, slack=-0.01),
        reading="Taylor's inequality with the step's own spectral norm, sharper than printed; C2 is tested "
        "beside it.",
        hypotheses=no_conditions,
    ),
)
