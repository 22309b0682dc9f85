"""Nets that are built for interpolation: all labellings, sampled balls, certificates by another route."""

import math
from itertools import product

import pytest
import torch

from karat.certificates import certify
from karat.core.ball import Ball
from karat.papers.convergence.bounds_capacity import (
    line_net_parameters,
    log_labellings,
    robust_width_floor,
    two_layer_parameters,
)
from karat.papers.convergence.experiments import capacity
from karat.papers.convergence.experiments.capacity import CapacityConfig
from karat.papers.convergence.experiments.pairs import (
    Pairs,
    certified_margins,
    draw_pairs,
    line_net,
    robust_net,
    robust_on_line,
)
from karat.papers.convergence.experiments.planes import planes_net


def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("d", [2, 3, 16])
def test_the_robust_net_is_the_signed_distance_to_its_plane_on_every_pair(d):
    pairs = draw_pairs(6, d, 0.5, 0.1, generator())
    net = robust_net(pairs)
    assert net.m == 2 * 6 - 1
    around = torch.randn(400, d, generator=generator(), dtype=torch.float64)
    around = 0.5 * 2.1 * around / torch.linalg.vector_norm(around, dim=1, keepdim=True)
    for centre, normal in zip(pairs.centres, pairs.normals, strict=True):
        assert torch.allclose(net(centre + around), around @ normal, atol=1e-9)


@pytest.mark.parametrize("d", [2, 5])
def test_balls_are_certified_as_the_ladder_certifies_them(d):
    pairs = draw_pairs(4, d, 1.0, 0.1, generator())
    margins = certified_margins(robust_net(pairs), pairs.x, pairs.y, 1.0)
    assert torch.allclose(margins, torch.full_like(margins, 0.1), atol=1e-9)  # the gap, the best there is
    status = certify(robust_net(pairs), pairs.x, pairs.y, Ball(2, 1.0), domains_per_sample=50).status
    assert status == ["robust"] * 8
    assert bool((certified_margins(robust_net(pairs), pairs.x, pairs.y, 1.11) < 0).all())


def test_every_turn_of_the_pairs_has_its_robust_net():
    """All labellings of three clusters of two points: all ways in which the first coordinates can follow."""
    d, tau, gap = 2, 1.0, 0.05
    like = draw_pairs(3, d, tau, gap, generator())
    for signs in product((1.0, -1.0), repeat=3 * d):
        normals = torch.tensor(signs, dtype=torch.float64).reshape(3, d) / math.sqrt(d)
        pairs = Pairs(like.centres, normals, tau, gap)
        assert float(certified_margins(robust_net(pairs), pairs.x, pairs.y, tau).min()) > 0
        distance = torch.cdist(pairs.x, pairs.x) + 10 * torch.eye(6)
        assert float(distance.min()) > 2 * tau


def test_the_net_on_a_line_takes_every_labelling():
    x = torch.randn(8, 5, generator=generator(), dtype=torch.float64)
    direction = torch.randn(5, generator=generator(), dtype=torch.float64)
    for labels in product((1.0, -1.0), repeat=8):
        y = torch.tensor(labels, dtype=torch.float64)
        net = line_net(x, y, direction)
        assert torch.allclose(net(x), y, atol=1e-9)
        assert 5 + 2 * net.m + 1 == line_net_parameters(8, 5) <= 2 * 8 + 5


def test_the_net_on_a_line_is_robust_where_no_point_of_the_ball_changes_its_sign():
    x = 3 * torch.randn(12, 2, generator=generator(), dtype=torch.float64)
    y = torch.where(torch.randn(12, generator=generator()) > 0, 1.0, -1.0).double()
    direction = torch.tensor([0.6, 0.8], dtype=torch.float64)
    net, tau = line_net(x, y, direction), 0.2
    along = torch.linspace(-tau, tau, 2001, dtype=torch.float64).unsqueeze(1) * direction
    kept = torch.stack([(label * net(point + along) > 0).all() for point, label in zip(x, y, strict=True)])
    robust = robust_on_line(x, y, direction, tau)
    assert torch.equal(kept, robust)
    assert 0 < int(robust.sum()) < 12
    assert bool(robust_on_line(x, torch.ones_like(y), direction, tau).all())


@pytest.mark.parametrize(("points", "width", "d"), [(6, 1, 1), (8, 1, 2)])
def test_no_net_reaches_more_labellings_than_the_bound(points, width, d):
    g, draws = generator(), 20_000
    x = torch.randn(points, d, generator=g, dtype=torch.float64)
    W, b, a, c = (
        torch.randn(draws, *shape, generator=g, dtype=torch.float64)
        for shape in ((width, d), (width, 1), (1, width), (1, 1))
    )
    f = (a @ torch.relu(W @ x.T + b)).squeeze(1) + c.squeeze(2)
    reached = len(torch.unique(f > 0, dim=0))
    assert 2 * points <= reached <= 2 ** log_labellings(points, width, d)


def test_the_least_width_hardly_depends_on_the_dimension_and_grows_with_the_points():
    assert robust_width_floor(2, 5) == 1
    widths = [robust_width_floor(n, 8) for n in (64, 256, 1024, 4096)]
    assert widths == sorted(set(widths))
    by_dimension = [robust_width_floor(1024, d) for d in (4, 16, 64)]
    assert max(by_dimension) <= 1.3 * min(by_dimension)
    low = robust_width_floor(1024, 16)
    assert log_labellings(512 * 16, low, 16) >= 512 * 16 > log_labellings(512 * 16, low - 1, 16)
    assert two_layer_parameters(low, 16) < two_layer_parameters(1023, 16)


def test_nets_without_their_last_kinks_lose_the_pairs_on_the_right():
    whole = capacity.run(CapacityConfig(d=4, n=32, labellings=3), generator())
    assert whole.robust == whole.interpolated == 1.0
    assert whole.margin == pytest.approx(1.0, abs=1e-6)
    half = capacity.run(CapacityConfig(d=4, n=32, labellings=3, kept=0.5), generator())
    assert half.robust < 1
    assert half.interpolated < 1


@pytest.mark.parametrize("d", [2, 3, 7])
def test_the_net_of_planes_takes_every_labelling_of_points_in_general_position(d):
    x = torch.randn(8, d, generator=generator(), dtype=torch.float64)
    for labels in product((1.0, -1.0), repeat=8):
        y = torch.tensor(labels, dtype=torch.float64)
        if 0 < (y > 0).sum() < 8:
            net = planes_net(x, y, torch.Generator().manual_seed(1))  # other numbers than the points
            assert net.m == 3 * math.ceil(int((y > 0).sum()) / d)
            assert bool((y * net(x) > 0.25).all())


def test_the_net_of_planes_loses_points_that_share_a_plane():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    y = torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64)
    assert not bool((y * planes_net(x, y, generator())(x) > 0).all())


@pytest.mark.parametrize(("gap", "held"), [(0.25, True), (1.0, False)])
@pytest.mark.parametrize("d", [3, 12, 128])
def test_narrow_gaps_leave_the_points_of_a_cluster_inside_its_balls(d, gap, held):
    """Nets that are robust on all turns of the pairs then shatter these points: the least width needs it."""
    pairs = draw_pairs(1, d, 1.0, gap / d, generator())
    inside = []
    for offset in torch.linspace(0.01, 3, 600, dtype=torch.float64):
        points = pairs.centres + offset * torch.eye(d, dtype=torch.float64)
        away = torch.linalg.vector_norm(points.unsqueeze(1) - pairs.x, dim=2)
        own = torch.where(pairs.normals[0] > 0, away[:, 0], away[:, 1])
        inside.append(bool((own <= 1).all()))
    assert any(inside) == held
