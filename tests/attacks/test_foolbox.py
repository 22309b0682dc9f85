"""An independent library's PGD finds the same robust accuracy on a trained net."""

import math
import warnings

import pytest
import torch

from karat.attacks import PGD, run_attack
from karat.core import Ball
from karat.nets import as_classifier

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    foolbox = pytest.importorskip("foolbox", reason="foolbox is not installed (extra `check`)")

STEPS = 40


def mixture(n, generator):
    """Two pairs of Gaussian clusters in dimension 20, unbounded; not linearly separable."""
    y = torch.randint(0, 2, (n,), generator=generator) * 2.0 - 1
    side = torch.randint(0, 2, (n,), generator=generator) * 2.0 - 1
    x = torch.randn(n, 20, generator=generator)
    x[:, 0] += 3 * side
    x[:, 1] += 3 * side * y
    return x, y


class Net(torch.nn.Module):
    def __init__(self, generator):
        super().__init__()
        self.hidden, self.top = torch.nn.Linear(20, 64), torch.nn.Linear(64, 1)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))

    def forward(self, x):
        return self.top(torch.relu(self.hidden(x))).squeeze(1)


class TwoLogits(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        f = self.net(x)
        return torch.stack([-f / 2, f / 2], dim=1)


@pytest.fixture(scope="module")
def trained():
    generator = torch.Generator().manual_seed(0)
    net = Net(generator)
    x, y = mixture(2000, generator)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.softplus(-y * net(x)).mean().backward()
        optimiser.step()
    return net.eval(), *mixture(2000, generator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("p", "attack", "tau"),
    [(2.0, "L2ProjectedGradientDescentAttack", 2.5), (math.inf, "LinfProjectedGradientDescentAttack", 1.0)],
    ids=["l2", "linf"],
)
def test_robust_accuracy_agrees_with_foolbox_within_one_point(trained, p, attack, tau):
    """2000 samples: a point is 20 of them."""
    net, x, y = trained
    peer = foolbox.PyTorchModel(TwoLogits(net).eval(), bounds=(-1000, 1000), device="cpu")
    method = getattr(foolbox.attacks, attack)(steps=STEPS, rel_stepsize=2.5 / STEPS, random_start=False)
    _, _, success = method(peer, x, ((y + 1) / 2).long(), epsilons=tau)
    theirs = 1 - float(success.float().mean())

    result = run_attack(PGD(steps=STEPS, keep="last"), as_classifier(net), x, y, Ball(p, tau))
    clean = float((net(x) * y > 0).float().mean())
    assert abs((1 - result.error) - theirs) <= 0.01
    assert clean > 0.9
    assert 0.2 < theirs < clean - 0.2
    best = run_attack(PGD(steps=STEPS), as_classifier(net), x, y, Ball(p, tau))
    assert best.error >= result.error
