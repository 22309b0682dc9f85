"""What the convergence experiments measure, and malformed settings."""

import math
from dataclasses import replace

import pytest
import torch

from karat.core.cap import Cap, require_compatible
from karat.core.smoothings import SmoothedRelu
from karat.lab.execute import execute
from karat.nets import init
from karat.papers.convergence.bounds import curvature_constant, regret_gap
from karat.papers.convergence.experiments import (
    radius,
    shattering,
    start,
    two_layer,
    wide,
)
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.built import build
from karat.papers.convergence.experiments.deep import THM41
from karat.papers.convergence.experiments.descent import WIDTH
from karat.papers.convergence.experiments.lattice import cap_lattice, lattice_spacing
from karat.papers.convergence.experiments.perturbations import Watched
from karat.papers.convergence.experiments.radius import RadiusConfig
from karat.papers.convergence.experiments.reference import allowed_points, frobenius_displacement
from karat.papers.convergence.experiments.sets import PseudoHuber, draw_centres, draw_sets
from karat.papers.convergence.experiments.start import StartConfig
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig
from karat.papers.convergence.experiments.vs_lazy import BASE, VS_LAZY
from karat.papers.convergence.experiments.wide import WideConfig
from karat.probes.kernel_interpolation import interpolant
from karat.reductions.wide import Problem, reduce
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS
from karat.study.run import read_runs
from karat.training import frobenius_ball
from karat.training.displacements import hilbert_ball
from karat.training.surrogate import SurrogateDescent, worst


@pytest.mark.slow
def test_enclosures_of_both_balls_are_consistent(records):
    for run in read_runs(VS_LAZY, records(VS_LAZY.name)):
        config, result = run.config, run.result
        assert 0 <= result.bound <= result.loss + 1e-6
        moved = result.row_movement if config.ball == "rows" else result.frobenius_movement
        assert moved <= config.C0 * (1 + 1e-4)


@pytest.mark.slow
def test_paired_starts_have_no_gradient_and_unpaired_ones_have_root_half_d(records):
    for run in read_runs(VS_LAZY, records(VS_LAZY.name)):
        if run.config.start == "paired":
            assert run.result.start_gradient < 1e-4
        else:
            root_half_d = run.config.side / math.sqrt(2)
            assert run.result.start_gradient == pytest.approx(root_half_d, rel=0.25)


def test_only_paired_balls_have_a_certified_net_and_only_padded_images_a_flip_radius(records):
    for run in read_runs(VS_LAZY, records(VS_LAZY.name)):
        if run.config.start == "gaussian":
            assert run.result.certified_accuracy == 0
        assert (run.result.flip_radius is None) == (run.config.padded_from is None)


@pytest.mark.slow
def test_gaps_of_all_runs_obey_the_summed_recursion(records):
    for run in read_runs(WIDTH, records(WIDTH.name)):
        config, result = run.config, run.result
        c = curvature_constant(SLOPE_LIPSCHITZ[config.activation])
        for steps, gap in zip(result.steps, result.gap, strict=True):
            limit = regret_gap(config.R, config.m, config.lr, steps, c)
            assert gap + result.reference_bound - result.target_loss <= limit


@pytest.mark.slow
def test_lengths_of_a_printed_start_concentrate_at_root_two(records):
    for run in read_runs(THM41, records(THM41.name)):
        assert run.result.wide_norm == pytest.approx(math.sqrt(2), rel=0.15)
        assert run.result.norm.low <= run.result.norm.mean <= run.result.norm.high


def test_ball_and_cap_attacks_ask_the_same_question():
    """Signs of bias-free nets are constant on rays: an l_2 ball is the cap of angle arcsin(tau)."""
    config = replace(BASE, side=5, m=40, tau=0.3)
    chord = float(config.perturbations.tau)
    assert 2 * math.asin(chord / 2) == pytest.approx(math.asin(0.3))


def test_a_displacement_acts_on_the_linearised_net_as_its_coordinates_do():
    g = torch.Generator().manual_seed(0)
    sets = draw_sets(4, 3, 0.2, 5, g)
    net = init.paired(3, 40, generator=g, sd_W=1.0, scale=40**-0.5, activation=SmoothedRelu(0.5))
    x, y = allowed_points(sets)
    space = hilbert_ball(net, x, y)
    D = space.project(space.combine(torch.randn(20, generator=g, dtype=torch.float64)), 0.5)
    moved = frobenius_displacement(net, x, y, space, D, 0.5)
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    assert torch.allclose(y * (gates * (x @ moved.T)).sum(dim=1), space.margins(D))
    assert float(torch.linalg.vector_norm(moved)) == pytest.approx(0.5)


def test_the_built_net_equals_its_kernel_function_to_first_order():
    g = torch.Generator().manual_seed(0)
    centres, y = draw_centres(4, 3, 0.1, g)
    function = interpolant(SmoothedRelu(0.5), centres, y, ridge=0.1)
    errors = []
    for m in (500, 50_000):
        net = init.paired(3, m, generator=g, sd_W=1.0, scale=m**-0.5, activation=SmoothedRelu(0.5))
        built = build(net, function)
        errors.append(float((built(centres) - function(centres)).abs().max()))
        moved = torch.linalg.vector_norm(built.W - net.W, dim=1).max() * math.sqrt(m)
        assert float(moved) == pytest.approx(function.random_feature_norm(net.W), rel=1e-9)
    assert errors[1] < 0.35 * errors[0]


@pytest.mark.parametrize("d", [2, 5, 12])
def test_corrected_offset_shatters_and_the_printed_one_does_not(d):
    config = shattering.ShatteringConfig(d=d, labellings=40)
    assert shattering.run(config, torch.Generator().manual_seed(0)).shattered == 1.0
    printed = replace(config, printed=True)
    assert shattering.run(printed, torch.Generator().manual_seed(0)).shattered < 0.5


def test_caps_that_are_apart_up_to_sign_are_apart_from_mirror_images():
    x, y = draw_centres(6, 3, 0.2, torch.Generator().manual_seed(0), up_to_sign=True)
    require_compatible(torch.cat([x, -x]), torch.cat([y, y]), 0.2)


def test_every_point_of_a_cap_is_near_the_lattice():
    centre = torch.tensor([[0.6, 0.0, 0.8]], dtype=torch.float64)
    points = centre.repeat(500, 1) + Cap(0.3).sample(
        centre.repeat(500, 1), generator=torch.Generator().manual_seed(0)
    )
    nearest = torch.cdist(points, cap_lattice(centre[0], 0.3, 10)).amin(dim=1)
    assert float(nearest.max()) <= lattice_spacing(0.3, 10)


def test_a_wide_run_stays_in_its_ball_and_above_its_certificate():
    config = WideConfig(m=300, n=3, d=3, K=4, tol=0.4, step=2.0, steps=9)
    result = wide.run(config, torch.Generator().manual_seed(0))
    assert len(result.losses) == 9
    assert result.certified <= result.reference <= result.target_loss + 0.05
    assert result.certified <= result.smallest_robust <= min(result.start_loss, *result.losses)
    assert result.attack_shortfall == 0
    assert result.moved <= config.R * (1 + 1e-9)
    assert result.pattern_change <= result.ball_pattern_change
    assert result.gradient_change <= result.ball_gradient_change
    assert result.non_convexity <= result.ball_non_convexity
    assert result.regret_excess <= 1e-9


def test_a_wide_run_is_one_of_the_deep_net():
    """The start of a reduced run, taken to all of W_1, trains to the same losses with `Deep`."""
    g, m, loss = torch.Generator().manual_seed(0), 60, PseudoHuber()
    sets = draw_sets(3, 3, 0.2, 4, g)
    net = init.deep_gaussian(3, m, 1, generator=g)
    rule = SurrogateDescent(
        lr=2 / m, trainable=("W1",), loss=loss, projection=frobenius_ball(net, m**-0.5, ("W1",))
    )
    _, full = rule.run(net, sets, worst(loss), steps=12)
    state = reduce(Problem(rule, net, sets, lambda seen: Watched(worst(loss))))
    _, reduced = state.descent.run(state.net, state.sets, state.pick, steps=12)
    assert reduced == pytest.approx(full, abs=1e-12)
    assert state.pick.shortfall == pytest.approx(0, abs=1e-15)
    assert state.pick.robust == pytest.approx(full, abs=1e-12)


def test_the_smallest_ball_with_a_robust_net_is_enclosed():
    config = RadiusConfig(m=64, n=3, d=3, K=3, tol=0.2)
    result = radius.run(config, torch.Generator().manual_seed(0))
    assert 0 < result.insufficient < result.sufficient
    # A target that every start meets needs no ball, and a smaller target a larger one.
    assert (
        radius.run(replace(config, tol=0.5), torch.Generator().manual_seed(0)).sufficient == radius.RADII[0]
    )
    harder = radius.run(replace(config, tol=0.1), torch.Generator().manual_seed(0))
    assert harder.insufficient > result.insufficient
    assert harder.sufficient > result.sufficient


def test_a_sample_passed_off_as_the_worst_point_falls_short():
    config = WideConfig(m=100, n=3, d=3, K=4, steps=3, strongest="sample")
    assert wide.run(config, torch.Generator().manual_seed(0)).attack_shortfall > 1e-3


def test_norms_of_a_start_are_those_of_its_matrices():
    net = init.deep_gaussian(3, 20, 2, generator=torch.Generator().manual_seed(0))
    result = start.run(StartConfig(m=20, depth=2, d=3), torch.Generator().manual_seed(0))
    norms = [float(torch.linalg.svdvals(W)[0]) for W in net.layers]
    assert result.hidden_norms == pytest.approx(norms)
    assert result.input_norm == pytest.approx(float(torch.linalg.svdvals(net.A)[0]))
    x = torch.nn.functional.normalize(torch.ones(1, 3, dtype=torch.float64))
    z, states = net.hidden(x)
    gradient = net.a @ torch.diag((z[1][0] > 0).double()) @ net.layers[1]
    products = start._products(net, x)
    assert products[0] == pytest.approx(float(gradient.norm()))
    # <product, x^(0)> is the output, so that it is no longer than their lengths allow.
    assert abs(float(net(x))) <= products[1] * float(states[0].norm()) + 1e-12


def test_steps_with_the_wrong_sign_never_come_below_the_start():
    config = TwoLayerConfig(m=40, R=1.0, n=3, d=3, K=3, steps=10, direction="up")
    result = two_layer.run(config, torch.Generator().manual_seed(0))
    assert result.best_loss == pytest.approx(math.sqrt(2) - 1)


def test_pseudo_huber_vanishes_at_the_label_and_is_lipschitz():
    loss, margin = PseudoHuber(), torch.linspace(-50, 50, 1001, dtype=torch.float64)
    assert float(loss(torch.ones(1))) == 0.0
    assert float(loss.derivative(margin).abs().max()) <= 1
    assert torch.allclose(
        torch.gradient(loss(margin), spacing=(margin,))[0][1:-1], loss.derivative(margin)[1:-1], atol=2e-3
    )


def test_allowed_points_lie_on_the_sphere_within_their_caps():
    sets = draw_sets(5, 4, 0.3, 6, torch.Generator().manual_seed(0))
    assert torch.allclose(torch.linalg.vector_norm(sets.x, dim=2), torch.ones(5, 6, dtype=torch.float64))
    distance = torch.linalg.vector_norm(sets.x - sets.x[:, :1], dim=2)
    assert torch.allclose(distance[:, 1:], torch.full((5, 5), 0.3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("convergence.thm5.1", {"tau": 2.5}, "`tau` of `{}` must be a finite number >= 0 and <= 2"),
        ("convergence.thm5.1", {"m": 33}, "`m` of `{}` must be even, for neurons come in pairs; got 33."),
        ("convergence.thm5.1", {"n": 1}, "`n` of `{}` must be a whole number >= 2, got 1."),
        ("convergence.wide", {"m": 3}, "`m` of `{}` must be at least d = 4, got 3."),
        ("convergence.radius", {"activation": "relu"}, "`activation` of `{}` must have a Lipschitz slope"),
        ("convergence.deep", {"depth": 0}, "`depth` of `{}` must be a whole number >= 1, got 0."),
        ("convergence.kernel", {"d": 2}, "`d` of `{}` must be a whole number >= 3, got 2."),
        ("convergence.built", {"p_fail": 1.0}, "`p_fail` of `{}` must be a finite number > 0 and < 1"),
        ("convergence.shattering", {"share": 0.0}, "`share` of `{}` must be a finite number <= 2 and > 0"),
        ("convergence.vs-lazy", {"tau": 1.2}, "`tau` of `{}` must be a finite number >= 0 and <= 1"),
        ("convergence.vs-lazy", {"padded_from": 20}, "`padded_from` of "),
        ("convergence.capacity", {"n": 63}, "`n` of `{}` must be even; got 63."),
        (
            "convergence.appC.2",
            {"data": "ring", "n": 7},
            "`n` of `{}` must be even and at least 6 for data =",
        ),
        ("convergence.robust", {"data": "opposite", "n": 5}, "`n` of `{}` must be even and at least 4 for"),
        ("convergence.capacity", {"n": 2}, "`n` of `{}` must be"),
        ("convergence.capacity", {"kept": 0.0}, "`kept` of `{}` must be a finite number"),
        ("convergence.free", {"depth": 0}, "`depth` of `{}` must be a whole number >= 1, got 0."),
        (
            "convergence.other-attacks",
            {"m": 33},
            "`m` of `{}` must be even, for neurons come in pairs; got 33.",
        ),
    ],
)
def test_malformed_settings_are_answered_in_one_line(name, overrides, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cells(EXPERIMENTS[name], "tiny", 1, overrides)
    assert message.format(name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_incompatible_perturbation_set_fails_in_one_line():
    record = execute(cells(EXPERIMENTS["convergence.thm5.1"], "tiny", 1, {"tau": 1.5})[0])
    assert record.status == "failed"
    assert "have different labels" in record.error
    assert "\n" not in record.error
