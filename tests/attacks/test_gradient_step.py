"""The first crossing on the gradient's line, against brute force, dense scans and hand-made nets."""

import math

import pytest
import torch
from scipy.optimize import brentq

from karat.attacks import GradientStep, first_crossing, gradient_crossing, run_attack
from karat.attacks.ray import search
from karat.core import Ball, HasLine, LeakyRelu, Relu, SmoothedRelu, Softplus, TruncatedRelu
from karat.nets import Linear, OddTwoLayer, TwoLayer, as_classifier

KINKED = [Relu(), LeakyRelu(0.1), LeakyRelu(1.0), TruncatedRelu()]
SMOOTH = [Softplus(), SmoothedRelu(0.3)]


def direction_of(net, x, y):
    _, gradient = net.margin_and_gradient(x, y)
    return -gradient / gradient.norm(dim=1, keepdim=True)


def brute_force(net, x, y, end):
    """Evaluate the net at every bend of one sample, in order; solve the first piece that changes sign."""
    u = direction_of(net, x, y)[0]
    bends = {0.0, end}
    for s in range(len(net.W)):
        for kink in net.activation.kinks:
            speed = float(net.W[s] @ u)
            if speed != 0:
                bends.add((kink - float(net.W[s] @ x[0] + net.b[s])) / speed)
    times = sorted(t for t in bends if 0 <= t <= end)
    margins = [float(net.margin(x + t * u, y)) for t in times]
    for t0, t1, v0, v1 in zip(times, times[1:], margins, margins[1:], strict=False):
        if v0 <= 0:
            return t0
        if v1 <= 0:
            return t0 + (t1 - t0) * v0 / (v0 - v1)
    return math.inf


@pytest.mark.parametrize("activation", KINKED, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_exact_crossing_is_the_first_root_between_bends(lab, seed, activation):
    net = lab.random_two_layer(seed, activation=activation, m=30, d=5)
    x, y = lab.points(40, 5, classifier=net, seed=seed)
    found = first_crossing(net, x, y, 4.0)
    expected = [brute_force(net, x[i : i + 1], y[i : i + 1], 4.0) for i in range(40)]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-11, atol=1e-13)
    assert bool(torch.isfinite(found).any())


@pytest.mark.parametrize("activation", KINKED, ids=repr)
def test_no_point_of_a_dense_scan_precedes_the_crossing(lab, activation):
    net = lab.random_two_layer(5, activation=activation, m=40, d=4, c=0.2)
    x, y = lab.points(60, 4, classifier=net)
    length = first_crossing(net, x, y, 3.0)
    u = direction_of(net, x, y)
    for t in torch.linspace(0, 3, 3001, dtype=torch.float64):
        wrong = net.margin(x + t * u, y) <= 0
        assert bool((length[wrong] <= t + 1e-12).all())
    crossed = torch.isfinite(length)
    at = net.margin(x[crossed] + (length[crossed] * (1 + 1e-9)).unsqueeze(1) * u[crossed], y[crossed])
    assert bool((at <= 1e-12).all())
    assert bool((~crossed).any())
    assert bool(crossed.any())


def one_dimensional(lab, W, a, b, c, activation=None, kind=None):
    tensors = [torch.tensor(v, dtype=torch.float64) for v in ([[w] for w in W], a, b, c)]
    return (kind or lab.TwoLayer)(*tensors, activation or Relu())


ONE = torch.ones(1, dtype=torch.float64)


def test_crossing_exactly_at_a_kink(lab):
    """f(x) = relu(x) vanishes first at its kink, x = 0."""
    net = one_dimensional(lab, [1.0], [1.0], [0.0], 0.0)
    assert float(first_crossing(net, ONE.unsqueeze(1), ONE)) == 1.0
    assert run_attack(GradientStep(), net, ONE.unsqueeze(1), ONE, Ball(2, 1.0)).error == 1.0


def test_touching_zero_counts_as_crossing(lab):
    """f(x) = |x| touches zero without changing sign, and a zero margin is an error."""
    net = one_dimensional(lab, [1.0, -1.0], [1.0, 1.0], [0.0, 0.0], 0.0)
    assert float(first_crossing(net, ONE.unsqueeze(1), ONE)) == 1.0


def test_net_that_stays_positive_has_no_crossing(lab):
    """f(x) = relu(x) + 1 never crosses, however long the ray; the attack takes the lowest point."""
    net = one_dimensional(lab, [1.0], [1.0], [0.0], 1.0)
    assert float(first_crossing(net, ONE.unsqueeze(1), ONE)) == math.inf
    assert float(first_crossing(net, ONE.unsqueeze(1), ONE, 10.0)) == math.inf
    result = run_attack(GradientStep(), net, ONE.unsqueeze(1), ONE, Ball(2, 5.0))
    assert float(result.margin) == 1.0
    assert not bool(result.success)


def test_valley_without_crossing_gives_its_lowest_point(lab):
    """f(x) = |x| + 1/2 seen from x = 1: the valley at 0 is better than the far end of the ball."""
    net = one_dimensional(lab, [1.0, -1.0], [1.0, 1.0], [0.0, 0.0], 0.5)
    result = run_attack(GradientStep(), net, ONE.unsqueeze(1), ONE, Ball(2, 3.0))
    assert float(result.delta) == -1.0
    assert float(result.margin) == 0.5


def test_first_of_several_crossings_is_found(lab):
    """A zigzag with zeros at distance 1, 3 and 5."""
    net = one_dimensional(lab, [-1.0, -1.0, -1.0], [-1.0, 2.0, -2.0], [0.0, -2.0, -4.0], 1.0)
    x = -0.01 * ONE.unsqueeze(1)  # just inside the first sloping piece
    grid = torch.linspace(0, 6, 601, dtype=torch.float64).unsqueeze(1)
    signs = net.margin(-0.01 - grid, torch.ones(601, dtype=torch.float64)).sign()
    assert int((signs.diff() != 0).sum()) >= 3
    torch.testing.assert_close(first_crossing(net, x, ONE), 0.99 * ONE)


def test_neuron_starting_on_its_kink_bends_the_line_at_once(lab):
    """f(x) = x - relu(-x) + 1 at x = 0: behind the kink the slope is 2, so it vanishes at -1/2."""
    net = one_dimensional(lab, [1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [0.0, 0.0, 0.0], 1.0, LeakyRelu(0.0))
    x = torch.zeros(1, 1, dtype=torch.float64)
    # The left derivative of every neuron at its kink is zero: no gradient, no ray.
    assert float(first_crossing(net, x, ONE)) == math.inf
    tilted = one_dimensional(lab, [1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 0.0, 9.0], -8.0)
    assert float(first_crossing(tilted, x, ONE)) == 0.5


@pytest.mark.parametrize("end", [math.inf, 50.0])
def test_crossing_beyond_the_last_bend_is_found(lab, end):
    net = one_dimensional(lab, [1.0], [1.0], [0.0], 2.0, LeakyRelu(0.1))
    torch.testing.assert_close(first_crossing(net, ONE.unsqueeze(1), ONE, end), 21.0 * ONE)


def test_misclassified_samples_have_length_zero_and_predictions_can_be_flipped(lab):
    net = lab.random_two_layer(1)
    x, y = lab.points(30, 6)
    crossing = gradient_crossing(net, x, y)
    wrong = net.margin(x, y) <= 0
    assert bool(wrong.any())
    assert bool((crossing.length[wrong] == 0).all())
    assert bool((crossing.step[wrong] == 0).all())
    predicted = torch.where(wrong, -y, y)
    torch.testing.assert_close(first_crossing(net, x, predicted)[~wrong], crossing.length[~wrong])
    assert bool((first_crossing(net, x, predicted) > 0).all())


def test_length_is_step_times_gradient_norm_in_every_norm(lab):
    net = lab.random_two_layer(2)
    x, y = lab.points(30, 6, classifier=net)
    _, gradient = net.margin_and_gradient(x, y)
    steps = []
    for p in (1.0, 2.0, math.inf):
        crossing = gradient_crossing(net, x, y, p=p)
        finite = torch.isfinite(crossing.length)
        torch.testing.assert_close((crossing.step * crossing.gradient_norm)[finite], crossing.length[finite])
        torch.testing.assert_close(crossing.gradient_norm, torch.linalg.vector_norm(gradient, ord=p, dim=1))
        steps.append(crossing.step)
    torch.testing.assert_close(steps[0], steps[1])
    torch.testing.assert_close(steps[1], steps[2])


@pytest.mark.parametrize("with_line", [True, False], ids=["line", "no line"])
@pytest.mark.parametrize("activation", SMOOTH, ids=repr)
def test_smooth_nets_cross_where_brent_says(lab, activation, with_line):
    kind = lab.TwoLayer if with_line else lab.Hidden
    net = lab.random_two_layer(4, activation=activation, m=20, d=5, c=-0.2, kind=kind)
    x, y = lab.points(25, 5, classifier=net)
    assert isinstance(net, HasLine) == with_line
    found = first_crossing(net, x, y, 4.0)
    u = direction_of(net, x, y)
    grid = torch.linspace(0, 4, 2001, dtype=torch.float64)
    for i in range(25):
        margins = net.margin(x[i] + grid.unsqueeze(1) * u[i], y[i].expand(2001))
        below = (margins <= 0).nonzero()
        if len(below) == 0:
            assert float(found[i]) == math.inf
            continue
        k = int(below[0])
        root = brentq(
            lambda t, i=i: float(net.margin(x[i : i + 1] + t * u[i : i + 1], y[i : i + 1])),
            float(grid[k - 1]),
            float(grid[k]),
            xtol=1e-15,
        )
        assert float(found[i]) == pytest.approx(root, rel=1e-12)
    assert bool(torch.isfinite(found).any())


@pytest.mark.parametrize("end", [math.inf, 3.0])
def test_the_two_routes_agree_on_kinked_nets(lab, end):
    exact = lab.random_two_layer(6, m=50)
    scanned = lab.random_two_layer(6, m=50, kind=lab.Hidden)
    x, y = lab.points(40, 6, classifier=exact)
    torch.testing.assert_close(
        first_crossing(scanned, x, y, end), first_crossing(exact, x, y, end), rtol=1e-11, atol=1e-13
    )


def test_blocks_of_samples_do_not_change_the_result(lab, monkeypatch):
    net = lab.random_two_layer(3, activation=TruncatedRelu())
    x, y = lab.points(20, 6, classifier=net)
    whole = first_crossing(net, x, y)
    monkeypatch.setattr(search, "_TABLE", 100)
    torch.testing.assert_close(first_crossing(net, x, y), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("activation", [Relu(), LeakyRelu(0.1), Softplus()], ids=repr)
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_attack_succeeds_exactly_when_the_crossing_is_within_reach(lab, dtype, p, activation):
    net = lab.random_two_layer(7, m=60, d=10, dtype=dtype, activation=activation, c=0.1)
    x, y = lab.points(100, 10, classifier=net, dtype=dtype)
    tau = 0.5 if p != 1.0 else 1.5
    result = run_attack(GradientStep(), net, x, y, Ball(p, tau))
    length = first_crossing(net, x, y, p=p)
    clear = (length / tau - 1).abs() > 1e-4
    assert torch.equal(result.success[clear], (length < tau)[clear])
    rounding = torch.finfo(dtype).eps
    used = torch.linalg.vector_norm(result.delta, ord=p, dim=1)[result.success]
    # Past the crossing by rounding only: the margin's own error, divided by its slope.
    assert bool((used <= length[result.success] * (1 + 1e4 * rounding)).all())
    assert bool(result.success.any())


def test_attack_never_raises_the_margin(lab):
    for kind in (lab.TwoLayer, lab.Hidden):
        net = lab.random_two_layer(8, m=40, kind=kind)
        x, y = lab.points(50, 6)
        result = run_attack(GradientStep(), net, x, y, Ball(2, 0.7))
        assert bool((result.margin <= net.margin(x, y)).all())


def test_activation_without_kinks_is_one_straight_piece(lab):
    class Identity:
        kinks = ()
        piecewise_linear = True

        def __call__(self, z):
            return z

        def derivative(self, z):
            return torch.ones_like(z)

    net = lab.random_two_layer(9, activation=Identity())
    x, y = lab.points(10, 6, classifier=net)
    distance = net.margin(x, y) / (net.a @ net.W).norm()
    torch.testing.assert_close(first_crossing(net, x, y), distance)
    torch.testing.assert_close(first_crossing(net, x, y, 1e3), distance)


def karat_nets():
    generator = torch.Generator().manual_seed(11)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    bias = torch.tensor(-0.1, dtype=torch.float64)
    return {
        "two_layer": TwoLayer(normal(30, 6), normal(30), normal(30), bias, LeakyRelu(0.1), 0.2),
        "odd": OddTwoLayer(normal(20, 6), bias),
        "smoothed odd": OddTwoLayer(normal(20, 6), bias, 0.3),
        "linear": Linear(normal(6), bias),
    }


@pytest.mark.parametrize("name", karat_nets())
def test_lines_of_karats_own_nets_agree_with_evaluation(lab, name):
    """The route through the net's line against the route that only evaluates its margin."""
    classifier = as_classifier(karat_nets()[name])

    class Blind:
        margin, margin_and_gradient = classifier.margin, classifier.margin_and_gradient

    assert isinstance(classifier, HasLine)
    assert not isinstance(Blind(), HasLine)
    x, y = lab.points(30, 6, classifier=classifier)
    found = first_crossing(classifier, x, y, 5.0)
    torch.testing.assert_close(found, first_crossing(Blind(), x, y, 5.0), rtol=1e-10, atol=1e-12)
    assert bool(torch.isfinite(found).any())
