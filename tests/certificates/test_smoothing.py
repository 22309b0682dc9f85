"""Randomised smoothing: the closed form of a linear net, abstention, and honest coverage."""

import math

import pytest
import torch
from scipy.stats import norm

from karat.certificates import smoothed_certificate
from karat.nets import Linear


def test_radius_of_a_linear_net_is_at_most_its_distance_and_close(generator):
    net = Linear(torch.tensor([3.0, 4.0], dtype=torch.float64))
    x = torch.tensor([[0.2, 0.2], [-0.3, 0.1]], dtype=torch.float64)
    found = smoothed_certificate(net, x, sigma=0.5, draws=20_000, generator=generator)
    distance = net(x).abs() / 5
    assert found.prediction.tolist() == torch.sign(net(x)).long().tolist()
    assert bool((found.radius <= distance).all())  # fails with probability 0.002
    assert bool((found.radius > 0.85 * distance).all())


def test_a_vote_too_close_to_call_abstains(generator):
    net = Linear(torch.ones(2, dtype=torch.float64))
    found = smoothed_certificate(
        net, torch.zeros(1, 2, dtype=torch.float64), sigma=1.0, draws=500, generator=generator
    )
    assert found.abstained.tolist() == [True]
    assert found.radius.tolist() == [0.0]


def test_the_largest_provable_radius_is_that_of_a_unanimous_vote(generator):
    net = Linear(torch.ones(1, dtype=torch.float64))
    x = torch.full((1, 1), 1e6, dtype=torch.float64)
    found = smoothed_certificate(net, x, sigma=1.0, draws=1000, generator=generator, p_fail=0.001)
    assert float(found.radius) == pytest.approx(norm.ppf(0.001 ** (1 / 1000)), rel=1e-6)


def test_logits_and_equal_generators_agree():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 4)
    x = torch.randn(3, 3)
    first, second = (
        smoothed_certificate(model, x, sigma=0.3, draws=200, generator=torch.Generator().manual_seed(5))
        for _ in range(2)
    )
    assert torch.equal(first.radius, second.radius)
    assert set(first.prediction.tolist()) <= {0, 1, 2, 3}


def test_wrong_levels_are_refused(generator):
    net = Linear(torch.ones(1))
    with pytest.raises(
        ValueError, match="`p_fail` of `smoothed_certificate` must be strictly between 0 and 1/2"
    ):
        smoothed_certificate(net, torch.ones(1, 1), sigma=1.0, p_fail=0.5, generator=generator)
    with pytest.raises(ValueError, match="`sigma` of `smoothed_certificate` must be a finite number > 0"):
        smoothed_certificate(net, torch.ones(1, 1), sigma=math.nan, generator=generator)
