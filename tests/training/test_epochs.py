"""Adversarial training in epochs: the stop rule, the projection, and its limit without attack."""

import pytest
import torch

from karat.attacks import PGD
from karat.core import Ball
from karat.nets import init
from karat.training import Adversary, Constant, Trainer, TwoInfBall
from karat.training.epochs import EpochTrainer


@pytest.fixture
def problem():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(24, 5, generator=g, dtype=torch.float64)
    return init.gaussian(5, 30, generator=g), x, torch.where(x[:, 0] > 0, 1.0, -1.0).double()


def loop(tau, **options):
    adversary = Adversary(PGD(steps=3), Ball(2, tau))
    trainer = Trainer(lr=Constant(0.05), reduction="sum", batch_size=6, **options.pop("trainer", {}))
    return EpochTrainer(trainer=trainer, adversary=adversary, **options)


def test_zero_radius_is_clean_training(problem):
    net, x, y = problem
    found = loop(0.0, max_epochs=3, min_epochs=3).run(net, x, y, generator=torch.Generator().manual_seed(1))
    plain = Trainer(lr=Constant(0.05), reduction="sum", batch_size=6)
    wanted = plain.run(net, x, y, steps=12, generator=torch.Generator().manual_seed(1)).net
    assert torch.allclose(found.net.W, wanted.W, atol=1e-12)


def test_projection_at_the_end_of_an_epoch_keeps_the_rows_inside(problem):
    net, x, y = problem
    ball = TwoInfBall(net.W, 0.02)
    found = loop(0.1, projection=ball, max_epochs=4).run(
        net, x, y, generator=torch.Generator().manual_seed(1)
    )
    moved = torch.linalg.vector_norm(found.net.W - net.W, dim=1)
    assert float(moved.max()) <= 0.02 + 1e-12


def test_training_stops_when_robust_accuracy_stalls_but_not_before_its_minimum(problem):
    net, x, y = problem
    for least in (2, 5):
        found = loop(0.05, max_epochs=50, min_epochs=least).run(
            net, x, y, generator=torch.Generator().manual_seed(1)
        )
        assert least < len(found.accuracy) < 50
        assert found.accuracy[-1] <= max(found.accuracy[:-1])


def test_a_trainer_with_an_adversary_is_refused(problem):
    adversary = Adversary(PGD(steps=1), Ball(2, 0.1))
    with pytest.raises(ValueError, match="must have no adversary"):
        loop(0.1, trainer={"adversary": adversary})
