"""Activation, perturbations and the gap to linearity on nets where they are known."""

import pytest
import torch

from karat.core.ball import Ball
from karat.nets import Linear, OddTwoLayer, as_classifier
from karat.probes.activity import activation_rate, near_threshold_count
from karat.probes.cosines import cosine_with
from karat.probes.density import flatness
from karat.probes.linearity import Deviation, linearity_gap


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_a_linear_net_has_no_gap():
    x = torch.randn(20, 5, generator=generator(), dtype=torch.float64)
    net = Linear(torch.randn(5, generator=generator(), dtype=torch.float64))
    gap = linearity_gap(as_classifier(net), x, torch.ones(20), Ball(2, 0.5), generator=generator())
    assert float(gap.max()) < 1e-12


def test_gap_of_one_neuron_is_found_up_to_its_supremum():
    """f(u) = relu(u - 1) - relu(-u - 1) at u = 0: the largest gap in a ball of radius 3 is f(3) = 2."""
    net = OddTwoLayer(torch.tensor([[1.0, 0.0]]).double(), torch.tensor(-1.0).double())
    x = torch.zeros(4, 2, dtype=torch.float64)
    start = torch.tensor([[1.5, 0.5]]).double().expand(4, 2)
    gap = linearity_gap(
        as_classifier(net), x, torch.ones(4), Ball(2, 3.0), starts=(start,), steps=40, generator=generator()
    )
    assert gap.tolist() == pytest.approx([2.0] * 4, abs=0.01)


def test_deviation_gradient_matches_finite_differences():
    g = generator()
    net = OddTwoLayer(torch.randn(6, 3, generator=g, dtype=torch.float64), torch.tensor(-0.5).double(), 0.2)
    x, y = torch.randn(8, 3, generator=g, dtype=torch.float64), torch.ones(8).double()
    gap = Deviation.at(as_classifier(net), x, y)
    point = x + 0.3
    _, gradient = gap.margin_and_gradient(point, y)
    for axis in range(3):
        shift = torch.zeros(3, dtype=torch.float64)
        shift[axis] = 1e-6
        slope = (gap.margin(point + shift, y) - gap.margin(point - shift, y)) / 2e-6
        assert torch.allclose(slope, gradient[:, axis], atol=1e-6)


def test_activation_counts_what_passes_the_threshold():
    net = OddTwoLayer(torch.eye(2), torch.tensor(-1.0))
    x = torch.tensor([[2.0, 0.0], [0.0, -3.0], [0.5, 0.05], [0.0, 0.0]])
    assert activation_rate(net, x).tolist() == [0.25, 0.25]
    assert near_threshold_count(net, x).tolist() == [1, 1, 1, 0]


def test_density_and_cosine_at_their_ends():
    M = torch.eye(4)
    delta = torch.tensor([[1.0, -1.0, 1.0, 1.0], [0.0, 2.0, 0.0, 0.0]])
    assert flatness(delta, M).tolist() == pytest.approx([1.0, 0.25])
    assert cosine_with(delta, torch.tensor([0.0, 1.0, 0.0, 0.0])).tolist() == pytest.approx([-0.5, 1.0])
