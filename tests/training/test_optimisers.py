"""Momentum and Adam against torch's own optimisers."""

import pytest
import torch

from karat.training.optimisers import Adam, Momentum


def gradients_of(steps, generator):
    return [torch.randn(5, generator=generator, dtype=torch.float64) for _ in range(steps)]


def follow(optimiser, leaf, gradients):
    for gradient in gradients:
        leaf.grad = gradient.clone()
        optimiser.step()
    return leaf.detach()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Adam, lambda leaves: torch.optim.Adam(leaves, lr=0.1)),
        (lambda theta: Momentum(theta, 0.9), lambda leaves: torch.optim.SGD(leaves, lr=0.1, momentum=0.9)),
    ],
)
def test_updates_are_those_of_torch(ours, theirs, generator):
    start, gradients = torch.zeros(5, dtype=torch.float64), gradients_of(20, generator)
    theta = {"w": start.clone()}
    optimiser = ours(theta)
    for gradient in gradients:
        optimiser.step({"w": gradient}, 0.1)
    leaf = start.clone().requires_grad_()
    torch.testing.assert_close(theta["w"], follow(theirs([leaf]), leaf, gradients))


@pytest.mark.parametrize("optimiser", [Adam, lambda theta: Momentum(theta, 0.9)])
def test_rates_by_name_are_rates_of_their_own(optimiser):
    theta = {"a": torch.zeros(1), "b": torch.zeros(1), "still": torch.zeros(1)}
    optimiser(theta).step({"a": torch.ones(1), "b": torch.ones(1)}, {"a": 1.0, "b": 0.5})
    torch.testing.assert_close(theta["a"], 2 * theta["b"])
    assert theta["still"] == 0
