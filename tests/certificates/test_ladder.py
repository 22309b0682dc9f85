"""The ladder: statuses that agree with the truth, honest ties, floats and messages."""

import math
import re

import pytest
import torch
from torch import nn

from karat.certificates import SoundnessError, bracket, certify
from karat.certificates.certificate import classify
from karat.core import Ball, LeakyRelu, Relu, ShapeError
from karat.nets import Linear, OddTwoLayer, TwoLayer, init, to_module


def small_net(generator, d=3, m=12):
    return init.pytorch_default(d, m, generator=generator)


def test_a_linear_net_is_decided_at_its_distance(p, generator):
    w = torch.randn(4, generator=generator, dtype=torch.float64)
    net = Linear(w, torch.tensor(0.3, dtype=torch.float64))
    x = torch.randn(20, 4, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    exact = net.worst_margin(x, y, p, 0.1)
    found = certify(net, x, y, Ball(p, 0.1))
    assert torch.allclose(found.lower, exact, atol=1e-12)
    assert torch.allclose(found.upper, exact, atol=1e-12)
    assert found.status == ["robust" if value > 0 else "broken" for value in exact.tolist()]


def test_witnesses_are_allowed_and_have_the_margin_stated(p, generator):
    net = small_net(generator)
    x = torch.randn(30, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    tau = torch.rand(30, generator=generator, dtype=torch.float64)
    ball = Ball(p, tau)
    found = certify(net, x, y, ball, 1.0)
    assert float(ball.excess(found.delta).max()) <= 0
    assert torch.allclose(y * net(x + found.delta), found.upper, atol=1e-12)
    assert bool((found.lower <= found.upper + 1e-12).all())
    assert found.count("undecided") == 0


def test_statuses_agree_with_a_dense_grid(p, generator):
    net = small_net(generator, d=2, m=8)
    x = torch.randn(25, 2, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    found = certify(net, x, y, Ball(p, 0.5), 1.0)
    side = torch.linspace(-0.5, 0.5, 101, dtype=torch.float64)
    points = Ball(p, 0.5).project(torch.cartesian_prod(side, side))
    for i, status in enumerate(found.status):
        lowest = float((y[i] * net(x[i] + points)).min())
        assert not (status == "robust" and lowest <= 0)
        assert not (lowest < 0 and status != "broken")


def test_a_minimum_of_exactly_zero_is_a_tie():
    # The pure purification net at radius b: every margin is on a lattice and some minima are exactly zero.
    d, k = 12, 4
    net = OddTwoLayer(torch.eye(d, dtype=torch.float64), torch.tensor(-0.25, dtype=torch.float64))
    x = torch.zeros(2, d, dtype=torch.float64)
    x[0, 0] = 0.5
    x[1, :3] = 0.5
    found = certify(net, x, torch.ones(2, dtype=torch.float64), Ball(2, 0.25), 2.0)
    assert found.status == ["tie", "robust"]
    assert k == 4


def test_a_net_that_is_zero_everywhere_is_a_tie():
    net = TwoLayer(torch.zeros(2, 2).double(), torch.zeros(2).double())
    found = certify(net, torch.ones(1, 2).double(), torch.ones(1), Ball(2, 1.0))
    assert found.status == ["tie"]


def test_a_misclassified_sample_is_broken_at_radius_zero(generator):
    net = small_net(generator)
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    found = certify(net, x, -torch.sign(net(x)), Ball(2, 0.0))
    assert found.status == ["broken"] * 5
    assert bool((found.delta == 0).all())


def test_smoothed_odd_nets_are_decided(p, generator):
    W = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    net = OddTwoLayer(W, torch.tensor(-0.3, dtype=torch.float64), 0.2)
    x = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    found = certify(net, x, y, Ball(p, 0.2), 2.0)
    assert found.count("undecided") == 0


def test_smoothing_that_vanishes_gives_the_relu_certificate(generator):
    W = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    bias = torch.tensor(-0.3, dtype=torch.float64)
    hard, soft = OddTwoLayer(W, bias), OddTwoLayer(W, bias, 1e-7)
    y = torch.sign(hard(x))
    one, other = (certify(net, x, y, Ball(2, 0.2), 2.0) for net in (hard, soft))
    assert one.status == other.status


def test_logits_module_and_adapter_agree(generator):
    net = init.pytorch_default(3, 8, generator=generator)
    x = torch.randn(10, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    direct = certify(net, x, y, Ball(2, 0.3), 1.0)
    adapted = certify(to_module(net), x, y, Ball(2, 0.3), 1.0)
    assert direct.status == adapted.status
    layers = nn.Sequential(nn.Flatten(), nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).double()
    with torch.no_grad():
        layers[1].weight.copy_(net.W)
        layers[1].bias.copy_(net.b)
        layers[3].weight.copy_(torch.stack([-net.a, net.a]) / 2)
        layers[3].bias.copy_(torch.stack([-net.c, net.c]) / 2)
    logits = certify(layers, x, (y > 0).long(), Ball(2, 0.3), 1.0)
    assert logits.status == direct.status
    assert torch.allclose(logits.upper, direct.upper, atol=1e-9)


def test_a_box_can_only_help(p, generator):
    net = small_net(generator)
    x = torch.rand(20, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    free, boxed = certify(net, x, y, Ball(p, 0.6), 1.0), certify(net, x, y, Ball(p, 0.6, (0.0, 1.0)), 1.0)
    moved = x + boxed.delta
    assert float(moved.min()) >= -1e-15
    assert float(moved.max()) <= 1 + 1e-15
    for before, after in zip(free.status, boxed.status, strict=True):
        assert not (before == "robust" and after == "broken")


def test_float32_input_and_huge_weights_stay_sound(generator):
    net = small_net(generator)
    big = net.replace(W=net.W.float() * 1e6, b=net.b.float() * 1e6, a=net.a.float() * 1e-6, c=net.c.float())
    x = torch.randn(10, 3, generator=generator)
    y = torch.sign(big(x))
    found = certify(big, x, y, Ball(2, 0.2), 1.0)
    assert found.lower.dtype == torch.float64
    assert bool((found.lower <= found.upper + 1e-9).all())
    same = certify(net, x.double(), y.double(), Ball(2, 0.2), 1.0)
    assert found.status == same.status


def test_lower_bounds_hold_in_fifty_digits(generator):
    mpmath = pytest.importorskip("mpmath")
    net = small_net(generator, d=2, m=6)
    x = torch.randn(4, 2, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    found = certify(net, x, y, Ball(2, 0.3), 1.0)
    with mpmath.workdps(50):
        for i in range(4):
            point = [mpmath.mpf(v) for v in (x[i]).tolist()]
            shift = [mpmath.mpf(v) for v in found.delta[i].tolist()]
            total = mpmath.mpf(float(net.c))
            for w, a, b in zip(net.W.tolist(), net.a.tolist(), net.b.tolist(), strict=True):
                z = sum(
                    mpmath.mpf(v) * (s + t) for v, s, t in zip(w, point, shift, strict=True)
                ) + mpmath.mpf(b)
                total += mpmath.mpf(a) * max(z, 0)
            assert mpmath.mpf(float(found.lower[i])) <= mpmath.mpf(float(y[i])) * total


def test_equal_calls_give_equal_results(generator):
    net = small_net(generator)
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    first, second = (certify(net, x, y, Ball(2, 0.3), 1.0) for _ in range(2))
    assert torch.equal(first.lower, second.lower)
    assert torch.equal(first.delta, second.delta)


def test_the_listener_hears_every_stage(generator):
    net = small_net(generator)
    x = torch.randn(3, 3, generator=generator, dtype=torch.float64)
    heard = []
    found = certify(
        net, x, torch.sign(net(x)), Ball(2, 0.3), 0.5, listener=lambda *event: heard.append(event)
    )
    stages = ["attack", "lipschitz", "relaxation", "slopes", "quadratic", "secant", "search"]
    assert list(found.seconds) == stages
    assert {stage for stage, _, _ in heard} == set(found.seconds)
    assert all(0 <= done <= total == 3 for _, done, total in heard)


def test_a_bound_above_a_witness_is_an_error_and_not_a_result():
    one, zero = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    with pytest.raises(SoundnessError, match="sample 0 has lower bound"):
        classify(one, zero, 0.1 * one, zero)


def test_enough_domains_decide_every_sample_whatever_the_time(p, generator):
    net = small_net(generator)
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    found = certify(net, x, y, Ball(p, 0.5), 0.0, domains_per_sample=10_000)
    assert found.count("undecided") == 0
    assert found.status == certify(net, x, y, Ball(p, 0.5), 5.0).status


def test_bracket_counts_ties_and_undecided_against_the_net():
    zero = torch.zeros(4)
    from karat.certificates import Certificate

    found = bracket(Certificate(zero, zero, ["robust", "broken", "tie", "undecided"], zero))
    assert (found.low, found.high) == (0.25, 0.75)
    assert found.interval.low < 0.25
    assert found.interval.high > 0.75


X, Y = torch.zeros(3, 2), torch.ones(3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"y": torch.tensor([0.0, 2.0, 1.0])},
            "a model with one score needs labels +-1 or 0 and 1, got [0.0, 1.0, 2.0].",
        ),
        ({"y": torch.ones(2)}, "`y` must have shape (3,), got (2,)."),
        ({"x": torch.zeros(3)}, "`x` must have shape (n, ...) with n >= 1, got (3,)."),
        ({"x": torch.full((3, 2), math.nan)}, "`x` must hold finite numbers."),
        ({"x": torch.zeros(3, 5)}, "`x` must have 2 inputs per sample, got 5."),
        ({"ball": Ball(2, torch.ones(2))}, "`tau` of `Ball` holds 2 radii for 3 samples."),
        ({"ball": Ball(2, 1.0, (0.5, 1.0))}, "`x` leaves the box (0.5, 1.0) of `Ball`."),
        (
            {"model": Linear(torch.tensor([math.nan, 1.0]))},
            "the weights `w` of the model must be finite numbers.",
        ),
        ({"model": lambda x: x}, "`certify` knows karat's own nets and torch.nn.Module, got function"),
        (
            {"seconds_per_sample": -1.0},
            "`seconds_per_sample` of `certify` must be a finite number >= 0, got -1.0.",
        ),
        (
            {"domains_per_sample": 0},
            "`domains_per_sample` of `certify` must be a whole number >= 1, got 0.",
        ),
    ],
)
def test_bad_input_is_explained(change, message):
    given = {"model": Linear(torch.ones(2)), "x": X, "y": Y, "ball": Ball(2, 0.1)} | change
    with pytest.raises((ValueError, TypeError, ShapeError), match=re.escape(message)):
        certify(**given)


def test_class_indices_out_of_range_are_explained():
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
    with pytest.raises(ValueError, match=re.escape("class indices `y` must lie in 0..2, got 0..3.")):
        certify(model, X, torch.tensor([0, 1, 3]), Ball(2, 0.1))
    with pytest.raises(ValueError, match="needs class indices `y` as whole numbers"):
        certify(model, X, Y, Ball(2, 0.1))


def test_nan_weights_in_a_module_are_named():
    model = nn.Linear(2, 1)
    model.weight.data[0, 0] = math.nan
    with pytest.raises(ValueError, match="the weights `weight` of the model must be finite"):
        certify(model, X, Y, Ball(2, 0.1))


def test_activations_of_a_two_layer_net_reach_the_search(generator):
    W = torch.randn(4, 2, generator=generator, dtype=torch.float64)
    a = torch.randn(4, generator=generator, dtype=torch.float64)
    for activation in (Relu(), LeakyRelu(0.2)):
        net = TwoLayer(W, a, activation=activation)
        x = torch.randn(5, 2, generator=generator, dtype=torch.float64)
        assert certify(net, x, torch.sign(net(x)), Ball(2, 0.4), 1.0).count("undecided") == 0


@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1e10, 1e40])
def test_scales_far_from_one_change_no_status(p, scale, generator):
    net = TwoLayer(
        torch.randn(5, 3, generator=generator, dtype=torch.float64),
        torch.randn(5, generator=generator, dtype=torch.float64),
        torch.randn(5, generator=generator, dtype=torch.float64),
    )
    x = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    y = torch.where(net(x) >= 0, 1.0, -1.0)
    big = TwoLayer(net.W * scale, net.a, net.b * scale)
    plain, scaled = (certify(model, x, y, Ball(p, 0.3), 1.0) for model in (net, big))
    assert scaled.status == plain.status
    assert bool((scaled.lower <= scaled.upper + 1e-12 * scaled.upper.abs()).all())


@pytest.mark.parametrize("weights", [1e100, 1e300])
def test_numbers_that_overflow_are_refused(weights):
    net = TwoLayer(torch.full((2, 2), weights, dtype=torch.float64), torch.ones(2).double())
    with pytest.raises(ValueError, match=r"products stay below 1e\+60, got .*: rescale the model"):
        certify(net, X, Y, Ball(2, 0.1))


def test_numbers_that_underflow_are_refused():
    # Squares of such weights are zero in float64, and so would be the Lipschitz constant.
    tiny, one = torch.full((2, 2), 1e-200, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    message = r"weights not all below 1e-70, got 1e-(200|80) as the largest: rescale the model"
    for net in (TwoLayer(tiny, one), TwoLayer(tiny * 1e200, one * 1e-80)):
        with pytest.raises(ValueError, match=message):
            certify(net, X, Y, Ball(2, 0.1))
    # A neuron of no weight among others is no harm.
    mixed = TwoLayer(torch.tensor([[1.0, 0.0], [1e-200, 1e-300]], dtype=torch.float64), one)
    assert certify(mixed, X + 1, Y, Ball(2, 0.1)).status == ["robust"] * 3


def test_neurons_that_cancel_or_repeat_stay_sound(p, generator):
    W = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    a, b = torch.randn(2, 4, generator=generator, dtype=torch.float64)
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    # Everything cancels up to 1e-12 of itself; what is left is smaller than the rounding of its parts.
    cancelled = TwoLayer(torch.cat([W, W]) * 1e8, torch.cat([a, -a * (1 + 1e-12)]), torch.cat([b, b]))
    found = certify(cancelled, x, torch.ones(5), Ball(p, 0.5), 0.5)
    assert bool((found.lower <= found.upper + 1e-6).all())
    repeated = TwoLayer(W[:1].repeat(20, 1), a[:1].repeat(20) / 20, b[:1].repeat(20))
    single = TwoLayer(W[:1], a[:1], b[:1])
    y = torch.where(single(x) >= 0, 1.0, -1.0)
    for one, other in zip(
        certify(single, x, y, Ball(p, 0.2), 1.0).status,
        certify(repeated, x, y, Ball(p, 0.2), 1.0).status,
        strict=True,
    ):
        assert {one, other} != {"robust", "broken"}


def test_a_sample_on_kinks_is_certified(p, generator):
    W = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    a = torch.randn(5, generator=generator, dtype=torch.float64)
    b = torch.randn(5, generator=generator, dtype=torch.float64)
    x = torch.linalg.solve(W[:3], -b[:3]).unsqueeze(0)
    net = TwoLayer(W, a, b, torch.tensor(0.5, dtype=torch.float64))
    found = certify(net, x, torch.sign(net(x)), Ball(p, 0.01), 1.0)
    assert found.status[0] in ("robust", "broken")
    points = x + Ball(p, 0.01).sample(x.expand(2000, 3), generator=generator)
    assert float((torch.sign(net(x)) * net(points)).min()) >= float(found.lower[0])
