"""SGD that notes when neurons leave a ball: the same steps as the plain trainer, exact distances."""

import math

import pytest
import torch

from karat.core import Softplus
from karat.core.divergence import Diverged
from karat.nets import init
from karat.training import Constant, Trainer
from karat.training.exit_sgd import ExitSGD


@pytest.fixture
def problem():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(30, 6, generator=g, dtype=torch.float64)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).double()
    return init.gaussian(6, 40, generator=g), x, y


def run(problem, radii, *, steps=200, lr=0.5, batch=30, **options):
    net, x, y = problem
    start = net.W.clone()

    def observe(now):
        moved = torch.linalg.vector_norm(now.W - start, dim=1)
        return {"moved": float(moved.max()), "W": now.W.clone()}

    sgd = ExitSGD(lr=lr, batch_size=batch, max_steps=steps, **options)
    return sgd.run(net, x, y, radii, observe=observe, generator=torch.Generator().manual_seed(1))


def test_every_exit_is_the_last_net_inside_its_ball(problem):
    net, x, y = problem
    exits = run(problem, [0.02, 0.05, 0.1])
    trainer = Trainer(lr=Constant(0.5))
    for found in exits:
        assert found.left
        inside = trainer.run(net, x, y, steps=found.step, observe_at=()).net
        beyond = trainer.run(net, x, y, steps=found.step + 1, observe_at=()).net
        assert torch.allclose(found.values["W"], inside.W, atol=1e-12)
        assert found.values["moved"] <= found.weight_radius
        assert torch.linalg.vector_norm(beyond.W - net.W, dim=1).max() > found.weight_radius


def test_one_trajectory_serves_all_balls(problem):
    together = run(problem, [0.02, 0.05, 0.1], batch=4)
    for radius, found in zip([0.02, 0.05, 0.1], together, strict=True):
        (alone,) = run(problem, [radius], batch=4)
        assert alone.step == found.step
        assert torch.equal(alone.values["W"], found.values["W"])


def test_a_ball_that_is_never_left_reports_the_last_net(problem):
    (found,) = run(problem, [1e6], steps=7)
    assert not found.left
    assert found.step == 7


def test_start_is_left_unchanged_and_late_steps_are_faster(problem):
    net = problem[0]
    before = net.W.clone()
    (slow,) = run(problem, [0.3], steps=2000)
    (fast,) = run(problem, [0.3], steps=2000, fast_lr=2.0, fast_after=0.05)
    assert torch.equal(net.W, before)
    assert fast.step < slow.step


def test_divergence_is_raised(problem):
    net, x, y = problem
    with pytest.raises(Diverged, match="margins are not finite"):
        run((net.replace(W=math.inf * net.W), x, y), [1.0])


def test_other_activations_are_refused(problem):
    net, x, y = problem
    with pytest.raises(ValueError, match="trains ReLU nets, got Softplus"):
        ExitSGD(lr=1.0, batch_size=1, max_steps=1).run(
            net.replace(activation=Softplus()), x, y, [1.0], observe=lambda n: {}, generator=torch.Generator()
        )
