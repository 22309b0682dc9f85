"""Every check holds on runs made to satisfy its statement, and fails on runs made to break it."""

import math
from dataclasses import replace

import pytest

from karat.papers.convergence.bounds import regret_gap
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.built import BuiltConfig, BuiltResult
from karat.papers.convergence.experiments.capacity import CapacityConfig, CapacityResult
from karat.papers.convergence.experiments.deep import DeepConfig, DeepResult, LayerLengths
from karat.papers.convergence.experiments.kernel import KernelConfig, KernelResult
from karat.papers.convergence.experiments.shattering import ShatteringConfig, ShatteringResult
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig, TwoLayerResult
from karat.papers.convergence.experiments.vs_lazy import Enclosure, VsLazyResult
from karat.study.registry import CHECKS
from karat.study.run import Run, Runs

TWO_LAYER = (
    TwoLayerConfig(m=64, R=2.0, tol=0.1, lr=0.5),
    TwoLayerResult(
        reference=0.201,
        reference_bound=0.2,
        target_loss=0.2,
        steps=[10, 100, 1000],
        gap=[0.3, 0.03, 0.003],
        final_gap=0.003,
        best_loss=0.05,
        robust_loss=0.1,
        frobenius=1.0,
        rows=0.1,
        pattern_change=0.1,
        left_ball=None,
        left_triple=None,
        loss_before_exit=0.25,
        regret_constant=-0.5,
    ),
)
DEEP = (
    DeepConfig(m=64, depth=2),
    DeepResult(
        reference=0.201,
        reference_bound=0.2,
        steps=[30],
        gap=[0.01],
        final_gap=0.01,
        start_loss=1.0,
        frobenius=1.0,
        pattern_change=0.1,
        norm=LayerLengths(low=0.9, high=1.1, mean=1.0),
        wide_norm=1.0,
        equivalence=1e-13,
    ),
)
SHATTERING = (
    ShatteringConfig(d=4),
    ShatteringResult(
        shattered=1.0, held=1.0, smallest_distance=2.1, points=16, offset=1.0, ratio_measured=0.75, ratio=0.75
    ),
)
CAPACITY = (
    CapacityConfig(d=2),
    CapacityResult(tau=0.1, attacked_width=2, width=2, parameters=9, success=[0.0, 0.5], n=10),
)
KERNEL = (
    KernelConfig(activation="relu"),
    KernelResult(
        supremum=0.1,
        robust_error=0.0,
        norm=5.0,
        kernel_error=0.5,
        kernel_size=1.0,
        degrees=[1.0],
        even_weight=1.0,
        odd_weight=0.0,
    ),
)
BUILT = (
    BuiltConfig(m=100),
    BuiltResult(
        error=0.1,
        bound=10.0,
        finite_sum_error=0.1,
        finite_sum_bound=5.0,
        random_feature_norm=30.0,
        kernel_norm=4.0,
        row_radius=30.0,
        frobenius=10.0,
        interpolant_error=0.1,
        robust_loss=0.05,
        certified_loss=0.1,
        slope=3.0,
        spacing=0.01,
    ),
)
VS_LAZY = (
    VsLazyConfig(side=10, m=100, C0=1.0),
    VsLazyResult(
        loss=0.5,
        bound=0.4,
        linear=Enclosure(loss=0.5, bound=0.45),
        train_accuracy=1.0,
        largest_train_accuracy=1.0,
        test_accuracy=0.9,
        clean_accuracy=1.0,
        value=0.1,
        gradient=0.1,
        flip_ratio=1.0,
        flip_radius=0.3,
        start_gradient=0.0,
        row_movement=1.0,
        frobenius_movement=1.0,
        kernel_norm=4.0,
        random_feature_norm=10.0,
        convergence_loss=0.6,
        lazy_loss=0.8,
    ),
)


def cells(base, settings=None, **values):
    """Runs of three seeds with other settings and values than the example."""
    config, result = base
    return [Run(replace(config, **settings or {}), replace(result, **values), seed) for seed in range(3)]


def widths(**powers):
    """Projected runs at three widths, values that follow powers of m."""
    return [
        run
        for m in (16, 64, 256)
        for run in cells(
            TWO_LAYER, {"m": m, "projected": True}, **{name: m**power for name, power in powers.items()}
        )
    ]


def dimensions(start, power):
    """Runs on padded images whose flip radius follows a power of d, with some noise."""
    return [
        replace(run, result=replace(run.result, flip_radius=side ** (2 * power) * (1 + 0.01 * run.seed)))
        for side in (10, 14, 20)
        for run in cells(VS_LAZY, {"start": start, "side": side, "padded_from": 10})
    ]


def sizes(robust_power):
    """Smallest nets at three dimensions: ordinary ones of one size, robust ones that grow."""
    return [
        run
        for d in (2, 4, 8)
        for share, parameters in ((0.0, 20), (0.8, round(10 * d**robust_power)))
        for run in cells(CAPACITY, {"d": d, "share": share}, parameters=parameters)
    ]


def parity(**values):
    return [
        run
        for activation in ("relu", "quadratic_relu")
        for antipodes in ("same", "opposite")
        for run in cells(KERNEL, {"activation": activation, "antipodes": antipodes}, **values)
    ]


CASES = {
    "thm5.1": (cells(TWO_LAYER), cells(TWO_LAYER, final_gap=0.2)),
    "def3.2": (
        cells(TWO_LAYER) + cells(TWO_LAYER, {"attack": "random"}),
        cells(TWO_LAYER) + cells(TWO_LAYER, {"attack": "random"}, final_gap=0.2),
    ),
    "thm5.1.regret": (cells(TWO_LAYER), cells(TWO_LAYER, regret_constant=1.0)),
    "thm5.1.exit": (
        cells(TWO_LAYER) + cells(TWO_LAYER, left_triple=5),
        cells(TWO_LAYER) + cells(TWO_LAYER, left_triple=5, loss_before_exit=0.35),
    ),
    "cor5.1": (cells(TWO_LAYER), cells(TWO_LAYER, best_loss=0.2)),
    "appC.2": (cells(TWO_LAYER), cells(TWO_LAYER, {"m": 128}, best_loss=0.2) + cells(TWO_LAYER)),
    "thm5.1.gap": (widths(), [*widths(), *cells(TWO_LAYER, {"projected": True}, gap=[9.0, 9.0, 9.0])]),
    "eq10": (widths(pattern_change=-0.5, rows=-0.5), widths(pattern_change=-0.1, rows=-0.5)),
    "thm4.1": (cells(DEEP), cells(DEEP, final_gap=0.2)),
    "lemA.2": (cells(DEEP), cells(DEEP, wide_norm=1.41)),
    "lemA.4": (cells(DEEP), cells(DEEP, equivalence=1e-3)),
    "thm6.1": (cells(SHATTERING), cells(SHATTERING, shattered=0.99)),
    "appD.constant": (
        cells(SHATTERING, {"printed": True}),
        cells(SHATTERING, {"printed": True}, shattered=0.2),
    ),
    "thm6.1.capacity": (sizes(1.0), sizes(0.0)),
    "def5.1": (cells(KERNEL), cells(KERNEL, kernel_error=50.0)),
    "asm5.2": (
        cells(KERNEL, {"cover": 0}, supremum=1.0) + cells(KERNEL),
        cells(KERNEL, {"cover": 0}) + cells(KERNEL, supremum=1.0),
    ),
    "fn14": (parity(), parity(odd_weight=1.0)),
    "thm5.2": (
        cells(BUILT, certified_loss=0.5) + cells(BUILT, {"m": 400}),
        cells(BUILT) + cells(BUILT, {"m": 400}, certified_loss=0.5),
    ),
    "thm5.2.built": (cells(BUILT), cells(BUILT) + cells(BUILT, {"m": 400}, error=11.0)),
    "propC.1": (cells(BUILT), cells(BUILT) + cells(BUILT, {"m": 400}, finite_sum_error=6.0)),
    "vs-lazy": (
        dimensions("paired", 0.0) + dimensions("gaussian", -0.5),
        dimensions("paired", -0.5) + dimensions("gaussian", -0.5),
    ),
    "vs-lazy.exists": (
        cells(VS_LAZY),
        cells(VS_LAZY, largest_train_accuracy=0.9) + cells(VS_LAZY, {"C0": 2.0}),
    ),
    "vs-lazy.none": (
        cells(VS_LAZY, {"start": "gaussian"}, bound=0.7) + cells(VS_LAZY, {"start": "gaussian", "C0": 8.0}),
        cells(VS_LAZY, {"start": "gaussian"}, bound=0.69),
    ),
}


def judged(item, runs):
    return CHECKS[f"convergence.{item}"].evaluate(Runs(runs))


def test_every_check_has_a_case():
    assert {f"convergence.{item}" for item in CASES} == {
        claim_id for claim_id in CHECKS if claim_id.startswith("convergence.")
    }


@pytest.mark.parametrize("item", CASES)
def test_runs_that_satisfy_a_statement_hold(item):
    assert judged(item, CASES[item][0]).verdict == "holds"


@pytest.mark.parametrize("item", CASES)
def test_runs_that_break_a_statement_fail(item):
    assert judged(item, CASES[item][1]).verdict == "fails"


@pytest.mark.parametrize(
    ("item", "settings", "unmet"),
    [
        ("thm5.1", {"m": 1600, "steps": 80}, []),
        ("thm5.1", {"m": 1598, "steps": 80}, ["Thm 5.1: m >= R^4/tol^2 = 1.6e+03, m = 1598"]),
        ("thm5.1", {"m": 1600, "steps": 79}, ["Thm 5.1: steps >= sqrt(m)/lr = 80, steps = 79"]),
        ("cor5.1", {"m": 1600, "steps": 80}, []),
        ("cor5.1", {"m": 1600, "steps": 79}, ["Cor 5.1: steps >= R^2/(tol lr) = 80, steps = 79"]),
    ],
)
def test_hypotheses_of_two_layer_theorems_are_met_from_their_own_width_and_time_on(item, settings, unmet):
    (run, *_) = cells(TWO_LAYER, settings)
    assert CHECKS[f"convergence.{item}"].hypotheses(run) == unmet


def test_width_of_the_deep_theorem_is_never_met():
    (run, *_) = cells(DEEP, {"m": 1024, "steps": 10**6})
    assert [text.split(" =")[0] for text in CHECKS["convergence.thm4.1"].hypotheses(run)] == [
        "Thm 4.1: m >= R^9 depth^16/tol^7"
    ]


def test_the_gap_is_judged_where_it_is_nearest_to_its_bound():
    c = SLOPE_LIPSCHITZ["smoothed_relu"]
    finding = judged("thm5.1.gap", widths())
    limits = [regret_gap(2.0, m, 0.5, 10, c) for m in (16, 64, 256)]
    assert finding.measured == pytest.approx(0.3)
    assert finding.predicted == pytest.approx(min(limits))


def test_without_a_ball_inside_the_regime_all_data_sets_of_the_smallest_are_judged():
    """At C0 = 8 > tau sqrt(2 d) = 2.8 one of three data sets has a robust net."""
    first, *others = cells(VS_LAZY, {"start": "gaussian", "C0": 8.0}, bound=0.7)
    loose = replace(others[-1], result=replace(others[-1].result, bound=0.1))
    assert judged("vs-lazy.none", [first, others[0], loose]).measured == 0.1


def test_a_flip_ratio_without_a_number_leaves_the_verdict():
    runs = CASES["vs-lazy"][0]
    runs = [replace(run, result=replace(run.result, flip_ratio=math.nan)) for run in runs]
    finding = judged("vs-lazy", runs)
    assert finding.verdict == "holds"
    assert "unknown and unknown" in finding.caveat
