"""The certificate of the single step against steps of nets in the ball, with matrices."""

import math

import pytest
import torch
from scipy.stats import ks_2samp

from karat.papers.lazy.experiments import every_step
from karat.papers.lazy.single_step import gradient_ranges, value_after_step, value_of_turned_net
from karat.reductions.in_law import Problem, draw_plane_start, plane_start_of
from karat.reductions.in_law.diagram import start_matrix


def start(seed, d=60, m=1500):
    problem = Problem(d=d, m=m, weight_radius=0.0, seed=seed)
    net, (x, _) = start_matrix(problem), problem.axes()
    seen, g = plane_start_of(net, x)
    return net, x, g, seen


def nets_of_the_ball(net, x, g, V, seed):
    """Random ones, and those that turn every row towards one direction of the plane or between x and g."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(3):
        moved = torch.nn.functional.normalize(
            torch.randn(net.W.shape, generator=generator, dtype=torch.float64)
        )
        yield net.replace(W=net.W + V * moved)
    for angle in torch.linspace(0, 2 * math.pi, 9).tolist()[:-1]:
        direction = math.cos(angle) * x + math.sin(angle) * g
        turned = net.replace(W=net.W + V * torch.outer(net.a, direction))
        yield turned
        # And the neurons near their kink are put on the side that shortens the gradient.
        z = turned.W @ x
        near = (net.W @ x).abs() < V
        active = net.a * (turned.W @ g) < 0
        side = torch.where(active, 1e-9, -1e-9)
        W = torch.where(near.unsqueeze(1), turned.W + torch.outer(side - z, x), turned.W)
        inside = torch.linalg.vector_norm(W - net.W, dim=1) <= V
        yield net.replace(W=torch.where(inside.unsqueeze(1), W, turned.W))


@pytest.mark.parametrize(("C0", "C2"), [(0.0, 2.0), (0.5, 4.0), (1.0, 4.0), (3.0, 8.0)])
def test_no_net_of_the_ball_is_outside_the_ranges_or_above_the_bound(C0, C2):
    """Each of 16 certificates is wrong by chance with probability below 1e-3, were it sharp."""
    finite = 0
    for seed in range(4):
        net, x, g, seen = start(seed)
        ranges = gradient_ranges(seen, C0)
        bounds = {y: value_after_step(seen, C0, C2, y, ranges) for y in (1, -1)}
        for moved in nets_of_the_ball(net, x, g, C0 / math.sqrt(net.m), seed):
            value, gradient = moved.value_and_input_gradient(x.unsqueeze(0))
            f, gradient = float(value), gradient[0]
            along = float(gradient @ g)
            across = float((gradient - f * x - along * g).norm())
            assert ranges.low - 1e-9 <= along <= ranges.high + 1e-9
            assert across <= ranges.across + 1e-9
            y = 1 if f > 0 else -1
            eta = C2 / float(gradient.square().sum())
            after = x - y * eta * gradient
            if math.isfinite(bounds[y]):
                finite += 1
                # The bound is for the point with the part 1 along x.
                assert y * float(moved(after.unsqueeze(0))) / (1 - eta * y * f) <= bounds[y] + 1e-9
    assert finite > 10 or C0 == 3.0


def test_without_a_ball_the_bound_is_the_value_of_the_start():
    """No interval, no remainder: the step of the start itself."""
    net, x, _, seen = start(1)
    y = 1 if seen.value > 0 else -1
    bound = value_after_step(seen, 0.0, 2.0, y, gradient_ranges(seen, 0.0))
    gradient = net.input_gradient(x.unsqueeze(0))[0]
    eta = 2.0 / float(gradient.square().sum())
    after = float(net((x - y * eta * gradient).unsqueeze(0)))
    assert y * after / (1 - eta * abs(seen.value)) <= bound + 1e-9
    assert bound == pytest.approx(y * after / (1 - eta * abs(seen.value)), abs=0.1)


def test_nets_of_a_sign_that_the_ball_lacks_ask_for_nothing():
    seen = next(
        one
        for one in (draw_plane_start(50, 900, generator=torch.Generator().manual_seed(i)) for i in range(50))
        if one.value > 0.8
    )
    assert value_after_step(seen, 1.0, 4.0, -1, gradient_ranges(seen, 1.0)) == -math.inf


def test_a_gradient_that_may_vanish_is_no_certificate():
    seen = draw_plane_start(9, 900, generator=torch.Generator().manual_seed(0))
    assert value_after_step(seen, 10.0, 4.0, 1, gradient_ranges(seen, 10.0)) == math.inf


def test_a_short_step_is_not_certified():
    config = every_step.EveryStepConfig(d=400, m=10**5, C2=0.1, draws=5)
    assert not any(every_step.run(config, torch.Generator().manual_seed(0)).certified)


def test_the_turned_net_is_distributed_as_with_matrices():
    """Two-sample Kolmogorov-Smirnov, false alarm 1e-4."""
    d, m, C0, C2 = 20, 300, 3.0, 2.0
    by_matrix, by_law = [], []
    for seed in range(300):
        net, x, _, seen = start(seed, d, m)
        y = 1 if seen.value > 0 else -1
        moved = net.replace(W=net.W + y * C0 / math.sqrt(m) * torch.outer(net.a, x))
        gradient = moved.input_gradient(x.unsqueeze(0))[0]
        after = x - y * C2 / gradient.square().sum() * gradient
        by_matrix.append(y * float(moved(after.unsqueeze(0))))
        drawn = draw_plane_start(
            d, m, generator=torch.Generator().manual_seed(10**6 + seed), dtype=torch.float64
        )
        by_law.append(value_of_turned_net(drawn, C0, C2, generator=torch.Generator().manual_seed(seed)))
    assert ks_2samp(by_matrix, by_law).pvalue > 1e-4


def test_no_net_beats_a_bound_that_certifies():
    for seed in range(20):
        seen = draw_plane_start(324, 50_000, generator=torch.Generator().manual_seed(seed))
        y = 1 if seen.value > 0 else -1
        bound = value_after_step(seen, 1.0, 4.0, y, gradient_ranges(seen, 1.0))
        value = value_of_turned_net(seen, 1.0, 4.0, generator=torch.Generator().manual_seed(seed))
        assert bound >= 0 or value < 0
