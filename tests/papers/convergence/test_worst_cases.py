"""Worst cases over a ball: brute force over all choices of neurons, closed forms, slack of the kinks."""

import itertools
import math

import pytest
import torch

from karat.nets import TwoLayer, init
from karat.papers.convergence.bounds_lemmas import (
    proved_gap,
    proved_width,
    worst_gain_over_start,
    worst_gradient_change,
    worst_non_convexity,
    worst_share,
)
from karat.papers.convergence.experiments.patterns import PatternsConfig, run
from karat.papers.convergence.experiments.reference import Slackened, allowed_points, certified_robust_loss
from karat.papers.convergence.experiments.sets import PseudoHuber, draw_sets
from karat.papers.convergence.experiments.worst_cases import changed_signs, changed_weight, non_convexity
from karat.training.displacements import hilbert_ball, kink_slack_frobenius, kink_slack_unequal

M = 7


def draw(seed, m=M):
    generator = torch.Generator().manual_seed(seed)
    z, a = torch.randn(2, m, generator=generator, dtype=torch.float64)
    return z, a


def choices(m=M):
    return (list(chosen) for k in range(1, m + 1) for chosen in itertools.combinations(range(m), k))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("reach", [0.3, 1.0, 2.5, 50.0])
def test_signs_and_weights_that_change_are_those_of_the_best_of_all_choices(seed, reach):
    z, a = draw(seed)
    allowed = [c for c in choices() if float(z[c].square().sum()) <= reach**2]
    most = max((len(c) for c in allowed), default=0)
    weight = max((float(a[c].square().sum()) for c in allowed), default=0.0)
    at = torch.tensor(reach, dtype=torch.float64)
    assert int(changed_signs(z, at)) == most
    enclosed = changed_weight(z, a, at)
    assert float(enclosed.attained) - 1e-12 <= math.sqrt(weight) <= float(enclosed.bound) + 1e-12


def missed(a, z_one, z_two):
    """f(W_2) - f(W_1) - <grad f(W_1), W_2 - W_1> in preactivations."""
    gates = (z_one > 0).double()
    return float(a @ (torch.relu(z_two) - torch.relu(z_one) - gates * (z_two - z_one)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("reach", [0.5, 1.0, 3.0])
def test_no_two_nets_of_the_ball_miss_convexity_by_more_than_the_bound(seed, reach):
    """All choices of neurons with W_1 just beyond their kinks, and 300 random pairs on the sphere."""
    z, a = draw(seed)
    both = non_convexity(z, a, torch.tensor(reach, dtype=torch.float64))
    best = steepest = 0.0
    for c in choices():
        helpful = [s for s in c if a[s] > 0]
        # The rest of the budget of W_1 is left unused: beyond the kink its place does not count.
        if helpful and float(z[helpful].square().sum()) < reach**2:
            one, two = z.clone(), z.clone()
            one[helpful] = -1e-12 * z[helpful].sign()
            move = reach * a[helpful] / a[helpful].norm()
            two[helpful] += z[helpful].sign() * move
            best = max(best, missed(a, one, two))
            two[helpful] = 1e-3 * z[helpful].sign() * a[helpful]
            steepest = max(steepest, missed(a, one, two) / float((two - one).norm()))
    generator = torch.Generator().manual_seed(seed)
    for _ in range(300):
        one, two = (
            z
            + reach * torch.nn.functional.normalize(torch.randn(M, generator=generator, dtype=z.dtype), dim=0)
            for _ in range(2)
        )
        best = max(best, missed(a, one, two))
        steepest = max(steepest, missed(a, one, two) / float((two - one).norm()))
    for found, enclosed in ((best, both.total), (steepest, both.slope)):
        assert float(enclosed.attained) - 1e-7 <= found <= float(enclosed.bound) + 1e-7


def test_a_ball_that_turns_every_neuron_is_bounded_as_well():
    z, a = draw(0)
    enclosed = non_convexity(z, a, torch.tensor(1e6, dtype=torch.float64)).total
    assert float(enclosed.attained) <= float(enclosed.bound) < 1.01 * float(enclosed.attained)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [1, 2, M, 612])
def test_a_ball_that_turns_no_neuron_is_bounded_by_little(seed, m):
    """Of a neuron that a reach r does not turn no more counts than a part, (r/|z|)^2 of its |a z|, twice."""
    z, a = draw(seed, m)
    reach = float(z.abs().min()) / 100
    enclosed = non_convexity(z, a, torch.tensor(reach, dtype=torch.float64)).total
    helpful = a > 0
    part = 2 * reach**2 * float((a[helpful] / z[helpful].abs()).max()) if bool(helpful.any()) else 0.0
    assert float(enclosed.attained) == 0.0
    assert float(enclosed.bound) <= part * (1 + 1e-9)


def test_no_bound_exceeds_what_all_neurons_together_can_do():
    for m, R in itertools.product((1, 2, 100, 612), (1e-9, 1e-3, 1.0, 1e3)):
        result = run(PatternsConfig(m=m, R=R), torch.Generator().manual_seed(0))
        assert result.non_convexity_attained <= result.non_convexity < 10 * math.sqrt(m) * (1 + R)


def test_worst_cases_of_several_inputs_are_those_of_each():
    z, a = torch.stack([draw(0)[0], draw(1)[0]]), draw(2)[1]
    reach = torch.tensor([0.7, 2.0], dtype=torch.float64)
    both = non_convexity(z, a, reach).total.bound
    for i in range(2):
        assert float(both[i]) == pytest.approx(float(non_convexity(z[i], a, reach[i]).total.bound))
        assert int(changed_signs(z, reach)[i]) == int(changed_signs(z[i], reach[i]))


def test_closed_forms_are_the_limits_of_wide_layers():
    """At 2^18 neurons one draw deviates by about a hundredth, and no more than five."""
    m, R = 2**18, 1.0
    result = run(PatternsConfig(m=m, R=R), torch.Generator().manual_seed(3))
    assert result.share == pytest.approx(worst_share(R, m), rel=0.05)
    assert result.gradient == pytest.approx(worst_gradient_change(R, m), rel=0.05)
    assert result.non_convexity == pytest.approx(worst_non_convexity(R, m), rel=0.05)
    assert result.gradient_attained == pytest.approx(result.gradient, rel=1e-3)
    # Only neurons with one sign of the output weight count: (1/2)^(1/3) of the gradient's change.
    assert result.slope_attained == pytest.approx(worst_gradient_change(R, m) / 2 ** (1 / 3), rel=0.05)
    assert result.non_convexity_attained == pytest.approx(result.non_convexity, rel=1e-3)


def test_the_proved_gap_has_three_equal_parts_at_the_proved_width():
    for R, tol in ((1.0, 0.2), (2.0, 0.05)):
        m, step, steps = math.ceil(proved_width(R, tol)), 2 * tol / 3, math.ceil(9 * R**2 / (4 * tol**2))
        assert proved_gap(R, m, step, steps) == pytest.approx(tol, rel=0.01)
        assert step / 2 == pytest.approx(tol / 3)
        assert worst_non_convexity(R, m) == pytest.approx(tol / 3)


def test_the_squared_gradient_of_a_wide_start_is_its_width():
    """One draw deviates by about a twentieth, sqrt(2 + 5)/50, and no more than six of them."""
    m = 2500
    net = init.deep_gaussian(3, m, 1, generator=torch.Generator().manual_seed(0))
    one = torch.ones(1, dtype=torch.float64)
    x = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    gradient = net.value_and_pullback(x)[1](one)["W1"]
    assert float(gradient.square().sum()) == pytest.approx(m, rel=0.3)


def test_the_slack_of_the_kinks_has_its_closed_form():
    m, R, g = 2**16, 1.0, torch.Generator().manual_seed(0)
    V = math.sqrt(2 / m) * torch.randn(m, 2, generator=g, dtype=torch.float64)
    net = TwoLayer(V, torch.randn(m, generator=g, dtype=torch.float64))
    x = math.sqrt(2) * torch.eye(2, dtype=torch.float64)
    slack = kink_slack_unequal(net, x, torch.ones(2, dtype=torch.float64), R / math.sqrt(m))
    assert slack.tolist() == pytest.approx([worst_gain_over_start(R, m)] * 2, rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_the_slack_of_the_kinks_is_the_gain_of_the_best_choice(seed):
    z, a = draw(seed)
    net = TwoLayer(z.unsqueeze(1), a)
    x, y = torch.ones(1, 1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for R in (0.3, 1.0, 4.0):
        gains = [
            R * float(a[c].norm()) - float((a[c] * z[c].abs()).sum())
            for c in choices()
            if bool((a[c] > 0).all())
        ]
        slack = float(kink_slack_unequal(net, x, y, R))
        best = max(0.0, *gains)
        # A part of one neuron is what the bound gives away.
        assert best - 1e-12 <= slack <= best + R * float(a.abs().max()) / 4


def test_both_slacks_agree_for_output_weights_of_one_size():
    g = torch.Generator().manual_seed(0)
    net = TwoLayer(
        torch.randn(500, 3, generator=g, dtype=torch.float64), torch.ones(500, dtype=torch.float64)
    )
    x, y = torch.randn(4, 3, generator=g, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    whole, parts = (slack(net, x, y, 0.8) for slack in (kink_slack_frobenius, kink_slack_unequal))
    assert bool((whole <= parts + 1e-12).all())
    assert torch.allclose(whole, parts, rtol=5e-3)


def test_the_slackened_loss_is_the_smallest_within_the_slack_and_convex():
    up, down = torch.tensor([0.3], dtype=torch.float64), torch.tensor([0.5], dtype=torch.float64)
    loss = Slackened(up, down)
    margins = torch.linspace(-3, 5, 801, dtype=torch.float64)
    grid = torch.linspace(-0.5, 0.3, 4001, dtype=torch.float64)
    smallest = PseudoHuber()(margins.unsqueeze(1) + grid).amin(dim=1)
    assert torch.allclose(loss(margins), smallest, atol=1e-6)
    assert bool((loss(margins).diff().diff() >= -1e-12).all())
    slopes = torch.gradient(loss(margins), spacing=(margins,))[0][1:-1]
    assert torch.allclose(slopes, loss.derivative(margins)[1:-1], atol=1e-2)


def test_no_net_of_the_ball_is_below_the_certified_robust_loss():
    """Random displacements, and the steepest ones: 200 nets of the ball."""
    g = torch.Generator().manual_seed(0)
    sets = draw_sets(3, 3, 0.2, 4, g)
    net = TwoLayer(
        torch.randn(60, 3, generator=g, dtype=torch.float64) / 6, torch.randn(60, generator=g).double()
    )
    x, y = allowed_points(sets)
    radius = 0.1
    bound = certified_robust_loss(net, sets, hilbert_ball(net, x, y), radius)
    assert bound > 0
    for _ in range(200):
        step = torch.zeros_like(net.W)
        for _ in range(3):
            moved = net.replace(W=net.W + step)
            margins = sets.margins(moved)
            residual = torch.zeros_like(margins)
            residual.scatter_(1, PseudoHuber()(margins).argmax(dim=1, keepdim=True), -1.0)
            pull = moved.value_and_pullback(x)[1](residual.reshape(-1) * y)["W"]
            noise = torch.randn(net.W.shape, generator=g, dtype=torch.float64)
            step = step - 0.08 * pull / pull.norm() + 0.05 * noise / noise.norm()
            step = step * min(1.0, radius / float(step.norm()))
        losses = PseudoHuber()(sets.margins(net.replace(W=net.W + step))).amax(dim=1)
        assert float(losses.mean()) >= bound - 1e-12
