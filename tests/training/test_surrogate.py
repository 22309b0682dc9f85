"""Descent on surrogate losses: any perturbation function, exact worst case on finite sets."""

import pytest
import torch

from karat.core import Logistic
from karat.core.divergence import Diverged
from karat.nets import init
from karat.training import Constant, Trainer
from karat.training.surrogate import Sets, SurrogateDescent, hashed, identity, one_step, random, worst


@pytest.fixture
def sets():
    x = torch.randn(5, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return Sets(x, torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0], dtype=torch.float64))


@pytest.fixture
def net():
    return init.gaussian(3, 20, generator=torch.Generator().manual_seed(1))


def test_identity_is_clean_training(sets, net):
    found, losses = SurrogateDescent(lr=0.3).run(net, sets, identity, steps=6)
    wanted = Trainer(lr=Constant(0.3)).run(net, sets.x[:, 0], sets.y, steps=6).net
    assert torch.allclose(found.W, wanted.W, atol=1e-12)
    assert losses[0] == pytest.approx(float(Logistic()(sets.y * net(sets.x[:, 0])).mean()))


def test_worst_picks_the_largest_loss(sets, net):
    losses = Logistic()(sets.margins(net))
    chosen = worst(Logistic())(net, sets.margins(net), 0)
    assert torch.equal(losses.gather(1, chosen.unsqueeze(1)).squeeze(1), losses.amax(dim=1))


def test_every_perturbation_function_stays_in_its_sets_and_below_the_worst(sets, net):
    margins = sets.margins(net)
    picks = [identity, hashed, one_step(sets), random(torch.Generator().manual_seed(2)), worst(Logistic())]
    for pick in picks:
        chosen = pick(net, margins, 0)
        assert chosen.shape == (5,)
        assert bool(((chosen >= 0) & (chosen < 4)).all())
        assert bool((margins.gather(1, chosen.unsqueeze(1)).squeeze(1) >= margins.amin(dim=1)).all())


def test_observer_sees_the_squared_gradient(sets, net):
    seen = []
    SurrogateDescent(lr=0.1).run(net, sets, identity, steps=1, observe=lambda *a: seen.append(a))
    step, start, loss, size = seen[0]
    moved, _ = SurrogateDescent(lr=0.1).run(net, sets, identity, steps=1)
    assert (step, start) == (0, net)
    assert loss == pytest.approx(float(Logistic()(sets.margins(net)[:, 0]).mean()))
    assert size == pytest.approx(float((moved.W - net.W).square().sum()) / 0.01)


def test_divergence_is_raised(sets, net):
    with pytest.raises(Diverged, match="margins are not finite"):
        SurrogateDescent(lr=0.1).run(net.replace(W=float("inf") * net.W), sets, identity, steps=5)
