import itertools
import math

import pytest
import torch

from karat.core import Ball
from karat.nets import Linear

P = pytest.mark.parametrize("p", [1.0, 2.0, math.inf])


@pytest.fixture
def net(generator):
    return Linear(
        torch.randn(4, generator=generator, dtype=torch.float64), torch.tensor(0.3, dtype=torch.float64)
    )


@P
def test_worst_margin_is_the_smallest_over_the_corners_of_the_ball(net, x, y, p):
    if p == 1:
        corners = torch.cat([torch.eye(4), -torch.eye(4)])
    elif p == math.inf:
        corners = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=4)))
    else:  # the sphere has no corners; its extreme points against +-w are enough
        unit = net.w / net.w.norm()
        corners = torch.stack([unit, -unit])
    margins = [y * net(x + 0.4 * corner.double()) for corner in corners]
    torch.testing.assert_close(net.worst_margin(x, y, p, 0.4), torch.stack(margins).amin(dim=0))


@P
def test_no_point_of_the_ball_is_below_the_worst_margin(net, x, y, p, generator):
    worst = net.worst_margin(x, y, p, 0.4)
    for _ in range(50):
        delta = Ball(p, 0.4).sample(x, generator=generator)
        assert bool((y * net(x + delta) >= worst - 1e-12).all())


@P
def test_worst_margin_is_attained_at_the_extreme_point(net, x, y, p):
    tau = torch.linspace(0, 1, len(x), dtype=x.dtype)
    delta = Ball(p, tau).extreme_point(-y.unsqueeze(1) * net.input_gradient(x))
    torch.testing.assert_close(net.worst_margin(x, y, p, tau), y * net(x + delta))


def test_worst_margin_at_radius_zero_is_the_margin(net, x, y):
    assert torch.equal(net.worst_margin(x, y, 2, 0.0), y * net(x))


def test_labels_may_be_whole_numbers(net, x, y):
    assert torch.equal(net.worst_margin(x, y.long(), 2, 0.1), net.worst_margin(x, y, 2, 0.1))
