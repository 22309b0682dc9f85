"""What the convergence experiments measure, and malformed settings."""

import math
from dataclasses import replace

import pytest
import torch

from karat.core.smoothings import SmoothedRelu
from karat.lab.execute import execute
from karat.nets import init
from karat.papers.convergence.bounds import curvature_constant, regret_gap
from karat.papers.convergence.experiments import capacity, joint, kernel
from karat.papers.convergence.experiments.sets import PseudoHuber, draw_centres, draw_sets
from karat.papers.convergence.experiments.two_layer import SLOPE_LIPSCHITZ
from karat.probes.kernel_interpolation import interpolant
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS


def test_enclosures_of_the_joint_experiment_are_consistent(records):
    for record in records("convergence.vs-lazy"):
        assert 0 <= record.values["bound"] <= record.values["loss"] + 1e-6
        limit = record.config["C0"]
        moved = "row_movement" if record.config["ball"] == "rows" else "frobenius_movement"
        assert record.values[moved] <= limit * (1 + 1e-4)


def test_paired_starts_have_no_gradient_and_unpaired_ones_have_root_half_d(records):
    for record in records("convergence.vs-lazy"):
        d = record.config["side"] ** 2
        if record.config["start"] == "paired":
            assert record.values["start_gradient"] < 1e-4
        else:
            assert record.values["start_gradient"] == pytest.approx(math.sqrt(d / 2), rel=0.25)


def test_small_paired_balls_hold_nets_that_separate_as_much_as_wide_ones(records):
    """Around a paired start the linearised net scales with the ball, so its signs fit into every ball."""
    for record in records("convergence.vs-lazy"):
        assert record.values["largest_train_accuracy"] >= record.values["train_accuracy"]
        if record.config["start"] == "gaussian":
            assert record.values["largest_train_accuracy"] == record.values["train_accuracy"]


def test_gaps_of_all_runs_obey_the_summed_recursion(records):
    for record in records("convergence.width"):
        config, values = record.config, record.values
        c = curvature_constant(SLOPE_LIPSCHITZ[config["activation"]])
        for steps, gap in zip(values["steps"], values["gap"], strict=True):
            limit = regret_gap(config["R"], config["m"], config["lr"], steps, c)
            assert gap + values["reference_bound"] - values["target_loss"] <= limit


def test_lengths_of_a_printed_start_concentrate_at_root_two(records):
    for record in records("convergence.thm4.1"):
        assert record.values["wide_norm"] == pytest.approx(math.sqrt(2), rel=0.15)


def test_ball_and_cap_attacks_ask_the_same_question():
    """Signs of bias-free nets are constant on rays: an l_2 ball is the cap of angle arcsin(tau)."""
    config = replace(joint.BASE, side=5, m=40, tau=0.3)
    chord = float(config.perturbations.tau)
    assert 2 * math.asin(chord / 2) == pytest.approx(math.asin(0.3))


def test_the_built_net_equals_its_kernel_function_to_first_order():
    g = torch.Generator().manual_seed(0)
    centres, y = draw_centres(4, 3, 0.1, g)
    function = interpolant(SmoothedRelu(0.5), centres, y, ridge=0.1)
    errors = []
    for m in (500, 50_000):
        net = init.paired(3, m, generator=g, sd_W=1.0, scale=m**-0.5, activation=SmoothedRelu(0.5))
        built = kernel.build(net, function)
        errors.append(float((built(centres) - function(centres)).abs().max()))
        moved = torch.linalg.vector_norm(built.W - net.W, dim=1).max() * math.sqrt(m)
        assert float(moved) == pytest.approx(function.random_feature_norm(net.W), rel=1e-9)
    assert errors[1] < 0.35 * errors[0]


@pytest.mark.parametrize("d", [2, 5, 12])
def test_corrected_offset_shatters_and_the_printed_one_does_not(d):
    config = capacity.ShatteringConfig(d=d, labellings=40)
    assert capacity.run_shattering(config, torch.Generator().manual_seed(0))["shattered"] == 1.0
    printed = replace(config, printed=True)
    assert capacity.run_shattering(printed, torch.Generator().manual_seed(0))["shattered"] < 0.5


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
        ("convergence.thm5.1", {"tau": 2.5}, "`tau` of `Cap` must be a finite number >= 0 and <= 2"),
        ("convergence.thm5.1", {"m": 33}, "must be even"),
        ("convergence.vs-lazy", {"tau": 1.2}, "`tau` of `Config` must be a finite number >= 0 and <= 1"),
        ("convergence.capacity", {"widths": "4,2"}, "increasing whole numbers"),
    ],
)
def test_malformed_settings_are_answered_in_one_line(name, overrides, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cells(EXPERIMENTS[name], "tiny", 1, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_incompatible_perturbation_set_fails_in_one_line():
    record = execute(cells(EXPERIMENTS["convergence.thm5.1"], "tiny", 1, {"tau": 1.5})[0])
    assert record.status == "failed"
    assert "have different labels" in record.error
    assert "\n" not in record.error
