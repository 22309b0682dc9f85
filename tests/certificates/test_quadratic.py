"""The quadratic relaxation: sound, exact where it must be, and tight where lines are not."""

import math

import pytest
import torch

from karat.certificates import certify
from karat.certificates.ascent import optimised_lines
from karat.certificates.parabola import graph_of
from karat.certificates.quadratic_relaxation import _quadric, quadratic_bound
from karat.core import Ball
from karat.nets import OddTwoLayer


def test_no_grid_point_beats_the_bound(make_problem, profile, soundness):
    for d, m in ((1, 3), (2, 7)):
        problem = make_problem(profile, 2.0, n=8, m=m, d=d, tau=1.5)
        lowest, error = soundness.grid_minimum(problem, 101)
        bound, answer = quadratic_bound(problem)
        assert bool((bound <= lowest + error).all())
        assert bool((bound > -torch.inf).all())
        assert bool((torch.linalg.vector_norm(answer, dim=1) <= problem.tau * (1 + 1e-12)).all())
        # And an answer is an attack: its margin is above the bound.
        assert bool((problem.value(answer) + problem.value_error(answer) >= bound).all())


def test_a_linear_net_is_exact(make_problem):
    problem = make_problem("identity", 2.0, n=20, m=3, d=6)
    worst = problem.value(problem.ball.extreme_point(-(problem.c @ problem.W), problem.x))
    assert torch.allclose(quadratic_bound(problem)[0], worst, rtol=0, atol=1e-9)


@pytest.mark.parametrize("box", [None, (-0.5, 0.8)])
def test_a_box_is_ignored_and_other_norms_get_nothing(make_problem, box):
    problem = make_problem("relu", 2.0, n=4, box=box)
    assert bool((quadratic_bound(problem)[0] > -torch.inf).all())
    for p in (1.0, math.inf):
        assert quadratic_bound(make_problem("relu", p, n=3))[0].tolist() == [-math.inf] * 3


def test_parabolas_stay_below_the_function(profile, generator):
    def uniform(low, high):
        return low + (high - low) * torch.rand(30, generator=generator, dtype=torch.float64)

    low = uniform(-2, 0.5)
    high = low + uniform(0.001, 3)
    z, c = low + (high - low) * uniform(0, 1), uniform(-2, 2)
    graph = graph_of(profile, c, z, low, high)
    t = low + (high - low) * torch.linspace(0, 1, 2001, dtype=torch.float64).unsqueeze(1)
    for alpha, lam in ((uniform(-2, 2), uniform(0, 3)), (c, 0 * c), (0 * c, graph.steepest_bend())):
        truth = (c * profile.value(t) - alpha * t + lam * (t - z).square()).amin(dim=0)
        found = graph.lowest(alpha, lam)
        assert bool((found <= truth + 1e-12).all())
        assert bool((truth - found < 0.05 * (1 + c.abs() * (high - low) ** 2)).all())


def test_the_least_value_of_a_quadratic_over_the_disc(generator):
    angle = torch.linspace(0, 2 * math.pi, 4001, dtype=torch.float64)
    disc = torch.stack([angle.cos(), angle.sin()], dim=1)
    points = torch.cat([share * disc for share in (1.0, 0.75, 0.5, 0.25, 0.0)])
    for k in (0, 1, 3):
        for scale in (1e-3, 1.0, 1e3):
            W = torch.randn(k, 2, generator=generator, dtype=torch.float64)
            lam = torch.rand(k, generator=generator, dtype=torch.float64)
            r = scale * torch.randn(2, generator=generator, dtype=torch.float64)
            value, delta = _quadric(W, lam).minimum(r, 0.7)
            delta_values = 0.7 * points @ r - (lam * (0.7 * points @ W.T).square()).sum(dim=1)
            truth = float(delta_values.min())
            assert value <= truth + 1e-12 * (1 + abs(truth))
            assert truth - value < 1e-5 * (1 + abs(truth))
            assert float(torch.linalg.vector_norm(delta)) <= 0.7 * (1 + 1e-12)


def test_many_slightly_concave_neurons_are_decided_without_a_search(generator):
    # Orthogonal neurons, smoothed: every line pays for the far end of its own interval, parabolas only once.
    d, k = 60, 9
    Q = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64)).Q
    bias = torch.tensor(-1 / (2 * math.sqrt(k)), dtype=torch.float64)
    net = OddTwoLayer(Q, bias, 0.25 * abs(float(bias)))
    z = torch.zeros(1, d, dtype=torch.float64)
    z[0, :k] = 1 / math.sqrt(k)
    x, y, ball = z @ Q, torch.ones(1, dtype=torch.float64), Ball(2, 0.9 / math.sqrt(k))
    found = certify(net, x, y, ball, 0.0)
    assert found.status == ["robust"]
    from karat.certificates.target import target_of

    problem = target_of(net, x, y, ball).problem
    lines, parabolas = float(optimised_lines(problem)[0][0]), float(quadratic_bound(problem)[0][0])
    assert lines < 0 < parabolas
    assert float(found.upper[0]) - parabolas < 0.1 * (float(found.upper[0]) - lines)
