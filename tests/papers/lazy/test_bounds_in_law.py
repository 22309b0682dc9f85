"""The limit of wide nets against draws by law, and its own limits."""

import math
from statistics import NormalDist

import pytest
import torch

from karat.nets import init
from karat.papers.lazy.bounds_in_law import (
    defeated_share,
    defeating_dimension,
    step_constant,
    withstanding_share,
)
from karat.reductions.in_law import draw_plane_start, largest_margins


@pytest.mark.parametrize(("d", "m", "C0", "tau"), [(30, 3000, 1.0, 0.4), (200, 40_000, 4.0, 0.6)])
def test_the_share_is_that_of_draws(d, m, C0, tau):
    """600 draws; a deviation of 4 standard errors has probability 6e-5."""
    generator = torch.Generator().manual_seed(0)
    tangent, draws = tau / math.sqrt(1 - tau**2), 600
    margins = [
        largest_margins(draw_plane_start(d, m, generator=generator), 1, [tangent], [C0 / math.sqrt(m)])[0]
        for _ in range(draws)
    ]
    predicted = defeated_share(d, C0, tau)
    seen = sum(margin <= 0 for margin in margins) / draws
    assert abs(seen - predicted) < 4 * math.sqrt(predicted * (1 - predicted) / draws)


def test_at_the_dimension_of_a_share_the_share_is_reached():
    for C0 in (0.0, 1.0, 10.0):
        for share in (0.5, 0.9, 0.99):
            d = defeating_dimension(C0, 0.5, share)
            below, above = (defeated_share(size, C0, 0.5) for size in (math.floor(d), math.ceil(d)))
            assert below <= share <= above


def test_far_up_the_radius_is_the_first_order_constant_over_root_d():
    """C0/sqrt 2 + the quantile of the start's own value, which has variance 1/2."""
    d, C0, share = 10**10, 3.0, 0.9
    c = C0 / math.sqrt(2) + NormalDist().inv_cdf(share)
    assert defeated_share(d, C0, c / math.sqrt(d)) == pytest.approx(share, abs=1e-4)


def test_without_a_step_only_the_start_and_the_ball_count():
    assert defeated_share(100, 2.0, 0.0) == pytest.approx(NormalDist().cdf(-math.sqrt(2)))
    assert defeated_share(100, 0.0, 0.0) == 0.5


def test_no_radius_is_outside_the_unit_interval():
    with pytest.raises(ValueError, match="`tau` of `defeated_share`"):
        defeated_share(100, 1.0, 1.5)


@pytest.mark.slow
def test_the_turned_net_of_a_matrix_withstands_a_step_as_often_as_the_formula_says():
    """Chance alone moves a share of 1/2 of 300 matrices by 0.12 once in 30,000; 1/sqrt d does the rest."""
    d, m, C0, draws = 400, 200, 1.0, 300
    C2 = step_constant(C0, 0.5)
    g = torch.Generator().manual_seed(0)
    x = torch.zeros(d, dtype=torch.float64)
    x[0] = 1.0
    kept = 0
    for _ in range(draws):
        net = init.gaussian(d, m, generator=g, dtype=torch.float64)
        f = net(x.unsqueeze(0))
        turned = net.replace(W=net.W + torch.sign(f) * C0 / math.sqrt(m) * torch.outer(net.a, x))
        value, gradient = turned.value_and_input_gradient(x.unsqueeze(0))
        y = torch.sign(value)
        moved = x - y * C2 * gradient[0] / gradient.square().sum()
        kept += bool(y * turned(moved.unsqueeze(0)) > 0)
    assert abs(kept / draws - withstanding_share(C0, C2)) < 0.15


def test_a_ball_without_radius_withstands_steps_shorter_than_its_value():
    assert withstanding_share(0.0, 1.0) == pytest.approx(2 * (1 - NormalDist(sigma=math.sqrt(0.5)).cdf(1.0)))
    assert withstanding_share(2.0, 0.5) == 1.0
    with pytest.raises(ValueError, match="`p_fail` of `step_constant`"):
        step_constant(1.0, 0.0)
