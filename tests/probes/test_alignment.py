"""Directions: scaling to the plane, coverage, clusters."""

import pytest
import torch

from karat.probes.alignment import cluster_cosines, cluster_count, cosine_table, covered, spherical_means
from karat.probes.mds import classical_mds


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_scaling_keeps_all_distances_when_they_fit_into_the_plane():
    angle = torch.linspace(0, 6, 9, dtype=torch.float64)
    v = torch.stack([angle.cos(), angle.sin()], dim=1) * torch.arange(1, 10)[:, None]
    rotated = torch.linalg.qr(torch.randn(7, 2, generator=_generator(), dtype=torch.float64)).Q
    picture = classical_mds(v @ rotated.T)
    want = 2 * (1 - cosine_table(v, v))
    assert picture.share == pytest.approx(1.0)
    assert torch.allclose(torch.cdist(picture.points, picture.points).square(), want, atol=1e-10)


def test_scaling_of_one_direction_and_its_negative_is_a_segment():
    v = torch.tensor([[1.0, 2.0, 2.0]] * 3 + [[-1.0, -2.0, -2.0]] * 3)
    picture = classical_mds(v)
    assert picture.share == pytest.approx(1.0)
    assert torch.allclose(picture.points[:, 1].abs(), torch.zeros(6, dtype=torch.float64), atol=1e-10)
    assert torch.allclose(picture.points[0], -picture.points[-1], atol=1e-10)


def test_zero_vectors_have_no_cosine():
    assert cosine_table(torch.zeros(1, 3), torch.eye(3)).tolist() == [[0.0, 0.0, 0.0]]


def test_coverage_counts_directions_near_a_neuron():
    W = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    assert covered(W, torch.tensor([[2.0, 0.0], [0.0, 1.0]])) == (1, 0.0)
    assert covered(W, -W, cosine=-2.0)[0] == 2


@pytest.mark.parametrize("count", [2, 4])
def test_separated_clusters_are_found_and_counted(count):
    centres = torch.eye(6, dtype=torch.float64)[:count]
    noise = 0.1 * torch.randn(40 * count, 6, generator=_generator(), dtype=torch.float64)
    points = centres.repeat_interleave(40, dim=0) + noise
    found, member = spherical_means(points, count, generator=_generator(1))
    best = cosine_table(found, centres).amax(dim=0)
    assert float(best.min()) > 0.98
    assert member.bincount().tolist() == [40] * count
    assert cluster_count(points, generator=_generator(2)) == count


def test_opposite_clusters_have_cosine_minus_one():
    v = torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [-3.0, 0.0]])
    inside, between = cluster_cosines(v, 2, generator=_generator())
    assert inside == pytest.approx([1.0, 1.0])
    assert between == pytest.approx([-1.0])
