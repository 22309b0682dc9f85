"""How the statements are judged: measured shares against exact formulas, intervals over seeds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from karat.study.check import Check
from karat.study.control import Control
from karat.study.experiment import Experiment
from karat.study.finding import ACCURACY, RATIO, Finding, Margin
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import all_of, bound, curve, equal, exact_bound, noted
from karat.study.run import Run, examples, pivot
from karat_tsipras2019.bounds import gated_accuracy, gated_gap, robust_bound
from karat_tsipras2019.experiments import GIVEN, TRAINED, GivenResult, TrainedResult, TsiprasConfig

R = TypeVar("R")
Given = Sequence[Run[TsiprasConfig, GivenResult]]
Trained = Sequence[Run[TsiprasConfig, TrainedResult]]


PRINTED = Margin(0.005, "half of the last digit of the printed 0.99 and 0.01")
VISIBLE = Margin(0.02, "a trade-off curve drawn over [0, 1] would show more")


def _conditions(config: TsiprasConfig, item: str, strength: float) -> list[Condition]:
    """The theorem on training speaks of the distribution and of weights of norm 1; training sees samples."""
    found = [at_least(f"eta >= {strength:g}/sqrt(d)", config.strength, strength)] if strength else []
    if item.startswith("thm"):
        found.append(at_least("tau >= 2 eta", config.attack, 2))
    if item.startswith("thm2.2"):
        found.append(at_most("p <= 0.975", config.p_strong, 0.975))
        # In the unit ball the weights of least adversarial loss are zero below this.
        found.append(at_most("2 eta < 2 p - 1", 2 * config.eta, 2 * config.p_strong - 1))
        found.append(at_least("samples stand for the distribution: n >= 5 d", config.n, 5 * config.d))
    return found


def _once(runs: Given) -> list[GivenResult]:
    """One result per seed: seeds share their draws over the values of `trust`."""
    least = min(run.config.trust for run in runs)
    return [run.result for run in runs if run.config.trust == least]


def _mean_is_accurate(runs: Given) -> Finding:
    values = [result.average for result in _once(runs)]
    return all_of(bound(values, "at least", 0.99, ACCURACY), _exact(runs, values, 0))


def _mean_is_fragile(runs: Given) -> Finding:
    values = [result.average_robust for result in _once(runs)]
    return all_of(bound(values, "at most", 0.01, ACCURACY), _exact(runs, values, 2))


def _exact(runs: Given, values: Sequence[float], radius: int) -> Finding:
    config = runs[0].config
    exact = gated_accuracy(0.0, config.d, config.eta, config.p_strong, radius * config.eta)
    return equal(values, exact, PRINTED, ACCURACY)


def _strong_is_robust(runs: Given) -> Finding:
    p, results = runs[0].config.p_strong, _once(runs)
    shares = [result.strong for result in results], [result.strong_robust for result in results]
    return all_of(*(equal(values, p, VISIBLE, ACCURACY) for values in shares))


def _bound(runs: Given) -> Finding:
    ratios = [run.result.largest_ratio for run in runs]
    return exact_bound(ratios, "at most", 1.0, RATIO, "closed forms of 204 classifiers")


def _bound_is_attained(runs: Given) -> Finding:
    """The measured curve over the trust c is the exact one, which misses the bound by the printed gap."""
    trusts, table = pivot(runs, lambda run: run.config.trust, lambda run: run.result.gated_robust)
    config = runs[0].config
    given = [(trust * config.eta, config.d, config.eta, config.p_strong) for trust in trusts]
    bounds = [robust_bound(gated_accuracy(*one), config.p_strong) for one in given]
    predicted = [limit - gated_gap(*one) for limit, one in zip(bounds, given, strict=True)]
    exact = [gated_accuracy(*one, tau=2 * config.eta) for one in given]
    off = [abs(one - other) for one, other in zip(exact, predicted, strict=True)]
    ratio = min(value / limit for value, limit in zip(predicted, bounds, strict=True))
    parts = (
        curve(trusts, table, predicted, VISIBLE, ACCURACY),
        # Of 1 - accuracy, as the bound has it, the rounding alone is left.
        exact_bound(off, "at most", 1e-9, ACCURACY, "closed form against closed form"),
    )
    return noted(all_of(*parts), f"Robust accuracy over its bound: {ratio:.4f} at least.")


def _standard(runs: Trained) -> Finding:
    clean = [run.result for run in runs if run.config.radius == 0]
    accurate = bound([result.accuracy for result in clean], "at least", 0.99, ACCURACY)
    fragile = bound([result.robust_accuracy for result in clean], "at most", 0.01, ACCURACY)
    return noted(all_of(fragile, accurate), f"Standard accuracy {accurate}.")


def _robust(runs: Trained) -> Finding:
    hard = [run.result for run in runs if run.config.radius == 2]
    both, p = [min(result.accuracy, result.robust_accuracy) for result in hard], runs[0].config.p_strong
    return bound(both, "at least", p, ACCURACY)


_NO_SIGNAL = Control(
    name="no signal",
    removes="structure",
    settings={"strength": 0.0},
    why="weak features that know nothing of the label are neither accurate nor worth attacking",
)
_WEAK = Control(
    name="weak attack",
    removes="attack",
    settings={"attack": 0.5},
    why="an attack of half eta cannot turn the weak features against the label",
)
_STRONG = Control(
    name="radius above 1",
    removes="attack",
    settings={"strong_tau": 1.5},
    why="beyond radius 1 the strong feature itself can be turned",
)
_FAR = replace(_STRONG, settings={"attack": 100.0})


def _check(
    item: str,
    experiment: Experiment[TsiprasConfig, R],
    evaluate: Callable[[Sequence[Run[TsiprasConfig, R]]], Finding],
    satisfied: tuple[TsiprasConfig, R],
    violated: tuple[TsiprasConfig, R],
    control: Control,
    strength: float = 0.0,
) -> Check[TsiprasConfig, R]:
    return Check(
        claim_id=f"tsipras2019.{item}",
        experiment=experiment,
        evaluate=evaluate,
        satisfied=examples(satisfied),
        violated=examples(violated),
        controls=(control,),
        conditions=lambda config: _conditions(config, item, strength),
        headline=item in ("thm2.1", "thm2.2.robust"),
    )


_CONFIG = TsiprasConfig(d=400, strength=3.0, radius=0.0)
_ETA = _CONFIG.eta
_MEAN, _FOOLED = (gated_accuracy(0.0, 400, _ETA, 0.95, tau) for tau in (0, 2 * _ETA))
_GATED, _ATTACKED = (gated_accuracy(_ETA, 400, _ETA, 0.95, tau) for tau in (0, 2 * _ETA))
_TRUE = _CONFIG, GivenResult(_MEAN, _FOOLED, 0.95, 0.95, _GATED, _ATTACKED, largest_ratio=0.99)
_FRAGILE = TrainedResult(accuracy=0.999, robust_accuracy=0.001, bound=0.019, strong_weight=0.1)
_SAFE = TrainedResult(accuracy=0.95, robust_accuracy=0.95, bound=0.95, strong_weight=1.0)
_HARD = replace(_CONFIG, radius=2.0)


def _but(**values: float) -> tuple[TsiprasConfig, GivenResult]:
    return _CONFIG, replace(_TRUE[1], **values)


CHECKS = (
    _check("sec2.1.average", GIVEN, _mean_is_accurate, _TRUE, _but(average=0.98), _NO_SIGNAL, 3),
    _check("sec2.1.fragile", GIVEN, _mean_is_fragile, _TRUE, _but(average_robust=0.5), _NO_SIGNAL, 3),
    _check("sec2.1.strong", GIVEN, _strong_is_robust, _TRUE, _but(strong_robust=0.5), _STRONG),
    _check("thm2.1", GIVEN, _bound, _TRUE, _but(largest_ratio=1.01), _WEAK),
    _check("thm2.1.tight", GIVEN, _bound_is_attained, _TRUE, _but(gated_robust=0.5), _WEAK),
    _check("thm2.2.standard", TRAINED, _standard, (_CONFIG, _FRAGILE), (_CONFIG, _SAFE), _NO_SIGNAL, 4),
    _check("thm2.2.robust", TRAINED, _robust, (_HARD, _SAFE), (_HARD, _FRAGILE), _FAR, 4),
)
