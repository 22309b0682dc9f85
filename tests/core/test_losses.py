"""Contract of every loss in LOSSES, then what is special to each."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from karat.core import LOSSES, Hinge, Logistic, Squared, ZeroOne

DTYPES = [torch.float32, torch.float64]
HUGE = {torch.float32: [1e4, 1e10, 1e30, 3e38], torch.float64: [1e4, 1e10, 1e100, 1e300]}
KINKS = {"logistic": (), "hinge": (1.0,), "squared": (), "zero_one": (0.0,)}
margins = st.floats(-1e6, 1e6)
each_loss = pytest.mark.parametrize("name", LOSSES)


def scalar(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def test_every_loss_has_its_row_in_this_contract():
    assert set(KINKS) == set(LOSSES)


@each_loss
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4)])
def test_a_loss_keeps_shape_and_dtype(name, dtype, shape):
    loss, margin = LOSSES[name](), torch.ones(shape, dtype=dtype)
    for value in (loss(margin), loss.derivative(margin)):
        assert value.shape == shape
        assert value.dtype == dtype


@each_loss
def test_the_derivative_is_what_autograd_returns_also_at_kinks(name):
    loss = LOSSES[name]()
    margin = torch.cat(
        [torch.linspace(-40, 40, 401, dtype=torch.float64), torch.tensor([0.0, 1.0, 1e4, -1e4])]
    )
    margin.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(margin).sum(), margin)
    torch.testing.assert_close(gradient, loss.derivative(margin.detach()), rtol=1e-12, atol=1e-300)


@each_loss
@given(margin=st.floats(-50, 50))
def test_the_derivative_is_the_limit_of_difference_quotients(name, margin):
    loss, step = LOSSES[name](), 1e-5
    if any(abs(margin - kink) <= 2 * step for kink in KINKS[name]):
        return
    quotient = (loss(scalar(margin + step)) - loss(scalar(margin - step))) / (2 * step)
    torch.testing.assert_close(quotient, loss.derivative(scalar(margin)), rtol=1e-6, atol=1e-8)


@each_loss
@given(left=margins, right=margins)
def test_losses_are_non_negative_and_the_surrogates_convex(name, left, right):
    loss = LOSSES[name]()
    ends = loss(scalar(left)), loss(scalar(right))
    assert min(ends) >= 0
    if name != "zero_one":
        assert loss(scalar((left + right) / 2)) <= (ends[0] + ends[1]) / 2 * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("name", ["logistic", "hinge", "zero_one"])
@given(left=margins, right=margins)
def test_monotone_losses_fall_with_the_margin(name, left, right):
    loss = LOSSES[name]()
    low, high = sorted([left, right])
    assert loss(scalar(low)) >= loss(scalar(high))
    assert loss.derivative(scalar(low)) <= 0


@pytest.mark.parametrize(
    ("name", "factor"), [("logistic", 1 / math.log(2)), ("hinge", 1.0), ("squared", 2.0)]
)
@given(margin=margins)
def test_surrogates_bound_the_zero_one_loss(name, factor, margin):
    assert factor * LOSSES[name]()(scalar(margin)) >= ZeroOne()(scalar(margin)) * (1 - 1e-15)


@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_margins_give_exact_finite_values(dtype):
    margin = torch.tensor(HUGE[dtype], dtype=dtype)
    for loss in (Logistic(), Hinge()):
        assert not loss(margin).any()
        assert not loss.derivative(margin).any()
        assert (loss.derivative(-margin) == -1).all()
    assert torch.equal(Logistic()(-margin), margin)
    torch.testing.assert_close(Hinge()(-margin), margin + 1)
    assert torch.equal(ZeroOne()(margin), torch.zeros_like(margin))
    assert torch.equal(ZeroOne()(-margin), torch.ones_like(margin))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_autograd_stays_finite_at_huge_margins(name, dtype):
    margin = torch.tensor(
        [sign * size for size in HUGE[dtype] for sign in (-1, 1)], dtype=dtype, requires_grad=True
    )
    (gradient,) = torch.autograd.grad(LOSSES[name]()(margin).sum(), margin)
    torch.testing.assert_close(gradient, LOSSES[name]().derivative(margin.detach()))


def test_logistic_keeps_its_relative_accuracy_in_the_tail():
    margin = torch.linspace(30, 700, 68, dtype=torch.float64)
    # log(1 + q) = q - q^2/2 + ..., and q < 1e-13 here.
    tail = np.exp(-margin.numpy())
    np.testing.assert_allclose(Logistic()(margin).numpy(), tail, rtol=1e-12)
    np.testing.assert_allclose(-Logistic().derivative(margin).numpy(), tail, rtol=1e-12)


def test_logistic_in_float32_is_logistic_in_float64():
    margin = torch.linspace(-80, 80, 641)
    torch.testing.assert_close(Logistic()(margin).double(), Logistic()(margin.double()), rtol=1e-6, atol=0)


@given(margin=st.floats(-700, 700))
def test_logistic_at_opposite_margins_differs_by_the_margin(margin):
    difference = Logistic()(scalar(-margin)) - Logistic()(scalar(margin))
    torch.testing.assert_close(difference, scalar(margin), rtol=1e-14, atol=1e-14)


def test_logistic_at_a_tie_has_half_the_slope():
    margin = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(Logistic()(margin).sum(), margin)
    assert gradient.item() == Logistic().derivative(margin).item() == -0.5


def test_hinge_still_pushes_at_margin_one():
    assert Hinge().derivative(torch.tensor([1.0, 1.0 + 1e-6])).tolist() == [-1.0, 0.0]


@given(f=st.floats(-100, 100), y=st.sampled_from([-1.0, 1.0]))
def test_squared_loss_is_half_the_squared_residual(f, y):
    torch.testing.assert_close(Squared()(scalar(y * f)), scalar((f - y) ** 2 / 2), rtol=1e-12, atol=1e-12)


def test_a_tie_is_an_error_and_nan_stays_nan():
    value = ZeroOne()(torch.tensor([-1.0, -0.0, 0.0, 1e-45, 1.0, math.nan, math.inf, -math.inf]))
    assert value[:5].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert value[5].isnan()
    assert value[6:].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("name", LOSSES)
def test_a_nan_margin_never_looks_like_a_small_loss(name):
    assert LOSSES[name]()(torch.tensor([math.nan])).isnan().all()
