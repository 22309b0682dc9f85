"""Runs made to satisfy a statement of lazy hold, runs made to break it fail."""

import math

import pytest

from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
    Enclosure,
)
from karat.papers.lazy.experiments.flip_length import Distribution, FlipLengthResult
from karat.papers.lazy.experiments.lazy_training import LazyTrainingConfig
from karat.papers.lazy.experiments.lemmas import LemmasConfig, LemmasResult
from karat.papers.lazy.experiments.subset import SubsetConfig, SubsetResult
from karat.papers.lazy.experiments.worst import WorstConfig, WorstResult
from karat.study.registry import CHECKS

SIDES = (5, 10, 14, 28)
SEEDS = (0, 1, 2)
BELL = Distribution(mean=0.0, median=0.0, spread=1.0, skewness=0.0, counts=[], edges=[])


@pytest.fixture
def verdict():
    return lambda name, runs: CHECKS[f"lazy.{name}"].evaluate(runs).verdict


@pytest.fixture
def flips(make_run):
    """Exact power laws in d; every ball multiplies the three quantities by `growth`."""

    def make(powers=(-0.5, 0.5, -1.0), *, C0=(10.0, 20.0), growth=1.1, step=1.0, error=0.0):
        runs = []
        for side in SIDES:
            config = LazyTrainingConfig(side=side, m=1000, C0=C0, source="mnist")
            flip, gradient, steps = (
                [first * side ** (2 * power) * growth**i for i in range(len(C0))]
                for first, power in zip((1.0, 1.0, step), powers, strict=True)
            )
            for seed in SEEDS:
                runs.append(
                    make_run(
                        config,
                        FlipLengthResult,
                        seed,
                        C0=list(C0),
                        left=[True] * len(C0),
                        perturbation=flip,
                        gradient=gradient,
                        step=steps,
                        test_error=[error] * len(C0),
                        test_images=[1000] * len(C0),
                        histograms=[dict.fromkeys(("perturbation", "gradient", "step"), BELL)],
                    )
                )
        return runs

    return make


@pytest.mark.parametrize("name", ["fig2", "fig3", "fig5", "fig6", "sec3.data"])
def test_powers_of_d_hold_if_they_are_the_printed_ones(verdict, flips, name):
    assert verdict(name, flips()) == "holds"
    assert verdict(name, flips((0.0, 0.5, -1.0))) == "fails"


@pytest.mark.parametrize("name", ["fig2", "fig5", "fig6"])
def test_powers_of_d_are_those_of_all_three_quantities(verdict, flips, name):
    assert verdict(name, flips((-0.5, 0.0, -1.0))) == "fails"
    assert verdict(name, flips((-0.5, 0.5, 0.0))) == "fails"


def test_the_printed_step_is_compared_at_the_largest_dimension(verdict, flips):
    assert verdict("fig7", flips(step=0.045 * 784)) == "holds"
    assert verdict("fig7", flips(step=0.0045 * 784)) == "fails"


def test_one_net_at_one_per_cent_breaks_the_sentence_on_the_test_error(verdict, flips):
    assert verdict("sec5.1.error", flips(error=0.009)) == "holds"
    assert verdict("sec5.1.error", flips(error=0.01)) == "fails"


def test_gradient_and_step_must_both_grow_with_the_ball(verdict, flips):
    assert verdict("sec5.1.growth", flips(growth=1.2)) == "holds"
    assert verdict("sec5.1.growth", flips(growth=0.9)) == "fails"


@pytest.fixture
def trained(make_run):
    """Runs of all seeds at one setting."""

    def make(side=14, *, accuracy=0.0, error=None, **settings):
        config = AdversarialTrainingConfig(side=side, **settings)
        return [
            make_run(
                config,
                AdversarialTrainingResult,
                seed,
                robust_accuracy=accuracy,
                error=None if error is None else Enclosure(low=error, high=1.0),
            )
            for seed in SEEDS
        ]

    return make


@pytest.fixture
def falling(trained):
    """side -> radius times sqrt d at which accuracy falls through one half, sharply or not."""

    def make(middle, width=1.0):
        drop = {0.8: 1.0, 0.95: 0.9, 1.0: 0.5, 1.05: 0.1, 1.1: 0.0}
        return [
            run
            for side in (14, 20, 28)
            for at, accuracy in drop.items()
            for run in trained(side, c=middle(side) * at**width, accuracy=accuracy)
        ]

    return make


def test_radius_falls_as_the_root_of_d(verdict, falling):
    assert verdict("fig4.radius", falling(lambda side: 4.0)) == "holds"
    assert verdict("fig4.radius", falling(lambda side: 0.3 * side)) == "fails"


def test_accuracy_is_gone_at_the_printed_radius_after_a_sharp_drop(verdict, falling):
    assert verdict("fig4.constant", falling(lambda side: 4.0)) == "holds"
    assert verdict("fig4.constant", falling(lambda side: 6.0)) == "fails"
    assert verdict("fig4.constant", falling(lambda side: 3.0, width=5.0)) == "inconclusive"


@pytest.fixture
def rising(trained):
    """m -> movement times sqrt m at which accuracy rises through one half."""

    def make(middle):
        rise = {0.8: 0.0, 0.95: 0.1, 1.0: 0.5, 1.1: 0.9}
        return [
            run
            for m in (64, 256, 1024)
            for at, accuracy in rise.items()
            for run in trained(m=m, C0=middle(m) * at, accuracy=accuracy)
        ]

    return make


def test_movement_falls_as_the_root_of_m(verdict, rising):
    assert verdict("fig4.movement", rising(lambda m: 20.0)) == "holds"
    assert verdict("fig4.movement", rising(lambda m: math.sqrt(m))) == "fails"


def test_movement_at_half_accuracy_is_the_printed_one(verdict, rising):
    assert verdict("fig4.edge", rising(lambda m: 25.0)) == "holds"
    assert verdict("fig4.edge", rising(lambda m: 12.0)) == "fails"


@pytest.mark.parametrize(("free", "expected"), [(0.9, "holds"), (0.2, "fails")])
def test_going_beyond_the_ball_gains_against_the_smallest_ball(verdict, trained, free, expected):
    runs = [*trained(C0=10.0, accuracy=0.5), *trained(C0=20.0, accuracy=0.95)]
    assert verdict("sec5.2.beyond", [*runs, *trained(C0=math.inf, accuracy=free)]) == expected


def test_a_gain_without_a_ball_to_compare_with_is_no_verdict(verdict, trained):
    with pytest.raises(ValueError, match="none inside the ball"):
        verdict("sec5.2.beyond", trained(C0=math.inf))


@pytest.mark.parametrize(("printed", "expected"), [(0.7, "holds"), (0.3, "fails")])
def test_the_printed_line_must_be_as_robust_as_pgd(verdict, trained, printed, expected):
    runs = [
        *trained(line4="iterated", accuracy=0.7),
        *trained(line4="iterated", project="epoch", accuracy=0.7),
    ]
    assert verdict("alg1", [*runs, *trained(line4="printed", accuracy=printed)]) == expected


@pytest.mark.parametrize("name", ["cor3.2", "cor3.2.figures"])
def test_the_attack_decides_the_corollary_at_the_largest_radius(verdict, trained, name):
    small = trained(c=1.0, error=0.1)
    assert verdict(name, [*small, *trained(c=5.0, error=1.0)]) == "holds"
    assert verdict(name, [*small, *trained(c=5.0, error=0.3)]) == "fails"
    with pytest.raises(ValueError, match="`certified` is 0"):
        verdict(name, trained(c=5.0))


@pytest.fixture
def worst(make_run):
    """d -> longest flip and gradient of the worst net, in one ball."""

    def make(flip, gradient=math.sqrt, *, C0=1.0, sharp=1.0, smallest=1.0, cone=0.0):
        return [
            make_run(
                WorstConfig(d=d, m=1600, C0=C0),
                WorstResult,
                seed,
                worst=[flip(d)],
                gradient=[gradient(d)],
                start_value=[1.0],
                sharp=[flip(d) / sharp],
                smallest_gradient=[smallest * math.sqrt(d) / 4],
                cone_change=cone,
            )
            for d in (25, 100, 784)
            for seed in SEEDS
        ]

    return make


def test_one_constant_must_do_for_all_dimensions(verdict, worst):
    assert verdict("thm3.1", worst(lambda d: d**-0.5)) == "holds"
    assert verdict("thm3.1", worst(lambda d: d**-0.1)) == "fails"
    assert verdict("thm3.1", worst(lambda d: d**-0.9)) == "holds"


def test_only_the_largest_dimension_refutes_the_theorem_of_the_figures(verdict, worst):
    assert verdict("thm3.1.figures", worst(lambda d: 0.5)) == "holds"
    assert verdict("thm3.1.figures", worst(lambda d: math.inf)) == "fails"
    assert verdict("thm3.1.figures", worst(lambda d: 2.0 if d < 784 else 0.5)) == "inconclusive"


def test_flips_are_at_least_as_long_as_the_sharp_formula(verdict, worst):
    assert verdict("thm3.1.constant", worst(lambda d: 0.1, sharp=1.1)) == "holds"
    assert verdict("thm3.1.constant", worst(lambda d: 0.1, sharp=0.9)) == "fails"


def test_rescaled_nets_flip_alike(verdict, worst):
    assert verdict("fig1", worst(lambda d: 0.1, cone=1e-6)) == "holds"
    assert verdict("fig1", worst(lambda d: 0.1, cone=0.1)) == "fails"


def test_gradients_below_a_quarter_root_break_the_lemma(verdict, worst):
    assert verdict("lem4.2", worst(lambda d: 0.1, smallest=1.5)) == "holds"
    assert verdict("lem4.2", worst(lambda d: 0.1, smallest=0.5)) == "fails"


@pytest.fixture
def lemmas(make_run):
    def make(config=None, **values):
        config = config or LemmasConfig(side=10, m=100)
        return [make_run(config, LemmasResult, seed, **values) for seed in SEEDS]

    return make


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lem4.3", "can_switch"),
        ("lemB.4", "can_switch"),
        ("lemB.5", "value_supremum"),
        ("lemB.6", "flip_probability"),
    ],
)
def test_an_upper_bound_holds_below_and_fails_above(verdict, lemmas, name, value):
    bounds = {"can_switch_bound": 1.0, "can_switch_nearby_bound": 1.0}
    bounds |= {"value_supremum_bound": 1.0, "flip_probability_bound": 1.0}
    assert verdict(name, lemmas(**bounds, **{value: 0.5})) == "holds"
    assert verdict(name, lemmas(**bounds, **{value: 2.0})) == "fails"


def test_the_second_half_of_the_lemma_on_switches_can_break_it_alone(verdict, lemmas):
    values = {"can_switch": 0.5, "can_switch_bound": 1.0, "can_switch_nearby_bound": 1.0}
    assert verdict("lemB.4", lemmas(can_switch_nearby=2.0, **values)) == "fails"


def test_the_informal_bound_on_the_value_is_computed_from_the_ball(verdict, lemmas):
    config = LemmasConfig(side=10, m=100, C0=1.0)
    assert verdict("lem4.1", lemmas(config, value_supremum=4.4)) == "holds"  # 2 sqrt(log 20) + 1 = 4.46
    assert verdict("lem4.1", lemmas(config, value_supremum=4.5)) == "fails"


def test_the_lower_bound_on_the_gradient_is_vacuous_or_decides(verdict, lemmas):
    wide = LemmasConfig(side=28, m=1_000_000, C0=0.1)
    assert verdict("lemB.7", lemmas(wide, gradient_infimum=20.0)) == "holds"
    assert verdict("lemB.7", lemmas(wide, gradient_infimum=5.0)) == "fails"
    assert verdict("lemB.7", lemmas(gradient_infimum=5.0)) == "inconclusive"


@pytest.mark.parametrize(
    ("name", "bound"), [("lemB.8", "gradient_change_bound"), ("lemB.9", "gradient_change_all_bound")]
)
def test_a_bound_on_the_change_of_the_gradient_is_vacuous_or_broken(verdict, lemmas, name, bound):
    assert verdict(name, lemmas(gradient_change=1.0, **{bound: 100.0})) == "inconclusive"
    assert verdict(name, lemmas(gradient_change=200.0, **{bound: 100.0})) == "fails"


@pytest.mark.parametrize(("power", "expected"), [(0.2, "holds"), (0.9, "fails")])
def test_the_gradient_changes_by_less_than_its_own_order(verdict, lemmas, power, expected):
    sides = [LemmasConfig(side=side, m=100) for side in (5, 10, 20)]
    runs = [run for config in sides for run in lemmas(config, gradient_change=config.d**power)]
    assert verdict("lem4.4", runs) == expected


@pytest.mark.parametrize(("landed", "expected"), [(1.0, "holds"), (0.5, "fails")])
def test_every_certified_step_must_land(verdict, lemmas, landed, expected):
    assert verdict("proof3.1", lemmas(landed=landed, step_length=0.5)) == expected


@pytest.mark.parametrize(("subset", "expected"), [(0.9, "holds"), (1.1, "fails")])
def test_the_widest_net_decides_about_the_subset(verdict, make_run, subset, expected):
    runs = [
        make_run(SubsetConfig(d=20, m=m), SubsetResult, seed, subset=value + 0.01 * seed, bound=1.0)
        for m, value in ((100, 5.0), (1000, subset))
        for seed in SEEDS
    ]
    assert verdict("eq7.subset", runs) == expected
