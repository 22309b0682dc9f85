"""The fast gradient method and its zeroing rule; the universal direction."""

import math

import pytest
import torch

from karat.attacks import FixedDirection, Steepest
from karat.core import Ball, ShapeError


@pytest.mark.parametrize(
    ("p", "dual_norm"), [(1.0, 4.0), (2.0, 5.0), (math.inf, 7.0)], ids=["p=1", "p=2", "p=inf"]
)
def test_zeroing_compares_the_dual_norm(lab, p, dual_norm):
    """The gradient (3, -4) has l_inf, l_2 and l_1 norms 4, 5 and 7: each is the dual norm of one p."""
    linear = lab.Linear(torch.tensor([3.0, -4.0], dtype=torch.float64))
    x, y = torch.zeros(1, 2, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    ball = Ball(p, 0.5)
    assert bool((Steepest(zero_below=dual_norm)(linear, x, y, ball) != 0).any())
    assert bool((Steepest(zero_below=dual_norm + 1e-9)(linear, x, y, ball) == 0).all())


def test_zeroing_is_decided_per_sample(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(20, 6)
    _, gradient = net.margin_and_gradient(x, y)
    sizes = gradient.norm(dim=1)
    level = float(sizes.median())
    delta = Steepest(zero_below=level)(net, x, y, Ball(2, 0.5))
    assert torch.equal((delta != 0).any(dim=1), sizes >= level)
    kept = sizes >= level
    torch.testing.assert_close(delta[kept], Steepest()(net, x, y, Ball(2, 0.5))[kept])


def test_linf_step_is_the_sign_of_the_gradient(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(20, 6)
    _, gradient = net.margin_and_gradient(x, y)
    torch.testing.assert_close(Steepest()(net, x, y, Ball(math.inf, 0.3)), -0.3 * gradient.sign())


def test_negative_threshold_is_refused():
    with pytest.raises(ValueError, match="`zero_below` of `Steepest` must be a finite number >= 0, got -1"):
        Steepest(zero_below=-1.0)


def test_universal_direction_is_the_theorems(lab):
    v = torch.tensor([3.0, 0.0, -4.0], dtype=torch.float64)
    x, y = lab.points(6, 3)
    delta = FixedDirection(v)(lab.Constant(1.0), x, y, Ball(2, 0.5))
    torch.testing.assert_close(delta, -0.5 * y.unsqueeze(1) * v / 5)


def test_linf_variants_of_the_universal_direction(lab):
    v = torch.tensor([3.0, 0.0, -4.0], dtype=torch.float64)
    x, y = lab.points(6, 3)
    ball = Ball(math.inf, 0.5)
    scaled = FixedDirection(v)(lab.Constant(1.0), x, y, ball)
    torch.testing.assert_close(scaled, -0.5 * y.unsqueeze(1) * v / 4)
    signed = FixedDirection(v, steepest=True)(lab.Constant(1.0), x, y, ball)
    torch.testing.assert_close(signed, -0.5 * y.unsqueeze(1) * v.sign())


def test_universal_direction_refuses_what_it_cannot_mean(lab):
    x, y = lab.points(6, 3)
    with pytest.raises(ValueError, match="`v` of `FixedDirection` must be finite and not zero"):
        FixedDirection(torch.zeros(3))
    with pytest.raises(ShapeError, match=r"`v` of `FixedDirection` must have shape \(3,\), got \(2,\)"):
        FixedDirection(torch.ones(2))(lab.Constant(1.0), x, y, Ball(2, 0.5))
    with pytest.raises(ValueError, match="labels"):
        FixedDirection(torch.ones(3))(lab.Constant(1.0), x, torch.zeros(6), Ball(2, 0.5))
