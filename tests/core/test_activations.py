"""Contract of every activation in ACTIVATIONS, then what is special to the piecewise ones."""

import itertools
import math
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from karat.core import (
    ACTIVATIONS,
    Activation,
    LeakyRelu,
    Quadratic,
    QuadraticRelu,
    Relu,
    SmoothedRelu,
    SmoothedTruncatedRelu,
    SmoothLeakyRelu,
    Softplus,
    TruncatedRelu,
)

EXAMPLES: dict[str, list[Activation]] = {
    "relu": [Relu()],
    "leaky_relu": [LeakyRelu(0.0), LeakyRelu(0.3), LeakyRelu(1.0)],
    "smooth_leaky_relu": [SmoothLeakyRelu(0.1, 2.0), SmoothLeakyRelu(0.0, 50.0), SmoothLeakyRelu(1.0, 3.0)],
    "truncated_relu": [TruncatedRelu()],
    "quadratic_relu": [QuadraticRelu()],
    "quadratic": [Quadratic()],
    "smoothed_relu": [SmoothedRelu(0.01), SmoothedRelu(1.0), SmoothedRelu(20.0)],
    "smoothed_truncated_relu": [
        SmoothedTruncatedRelu(0.01),
        SmoothedTruncatedRelu(0.3),
        SmoothedTruncatedRelu(5.0),
    ],
    "softplus": [Softplus()],
}
EVERY = [example for examples in EXAMPLES.values() for example in examples]
DTYPES = [torch.float32, torch.float64]
SPECIAL = [0.0, 0.5, 1.0, -0.5, -1.0, 0.02, -0.02, 1 / 3, -1 / 3, 25.0, -25.0, 1e4, -1e4]
each = pytest.mark.parametrize("act", EVERY, ids=repr)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def scalar(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def grid() -> Tensor:
    return torch.cat([torch.linspace(-6, 6.01, 1201, dtype=torch.float64), torch.tensor(SPECIAL).double()])


def autograd(act: Activation, z: Tensor) -> Tensor:
    z = z.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(act(z).sum(), z)
    return gradient


def test_every_activation_has_its_row_in_this_contract():
    assert set(EXAMPLES) == set(ACTIVATIONS)
    for name, examples in EXAMPLES.items():
        assert {type(example) for example in examples} == {ACTIVATIONS[name]}


@each
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4)])
def test_an_activation_keeps_shape_and_dtype(act, dtype, shape):
    z = torch.ones(shape, dtype=dtype)
    for value in (act(z), act.derivative(z)):
        assert value.shape == shape
        assert value.dtype == dtype


@each
def test_the_derivative_is_what_autograd_returns_also_at_kinks(act):
    torch.testing.assert_close(autograd(act, grid()), act.derivative(grid()), rtol=1e-10, atol=1e-14)


@each
def test_the_derivative_is_the_limit_of_difference_quotients(act):
    step = 1e-5
    z = grid()[:-2]
    for kink in act.kinks:
        z = z[(z - kink).abs() > 2 * step]
    quotient = (act(z + step) - act(z - step)) / (2 * step)
    # The third-order term is (step / sigma)^2 / 6 < 1e-6 for sigma = 0.01; at the ends of the parabola the
    # quotient is off by step * smoothness / 8 < 1e-4.
    torch.testing.assert_close(quotient, act.derivative(z), rtol=1e-6, atol=1e-4)


@each
def test_the_derivative_jumps_at_the_kinks_and_nowhere_else(act):
    hair = 1e-9
    z = torch.cat([grid(), torch.tensor(act.kinks, dtype=torch.float64)])
    jump = (act.derivative(z + hair) - act.derivative(z - hair)).abs()
    at_kink = torch.tensor(
        [any(point == kink for kink in act.kinks) for point in z.tolist()], dtype=torch.bool
    )
    assert (jump[~at_kink] < 1e-5).all()
    if act != LeakyRelu(1.0):
        assert (jump[at_kink] > 0.5).all()


@each
def test_piecewise_linear_means_no_curvature_between_kinks(act):
    ends = sorted({-5.0, *act.kinks, 5.0})
    curvature = 0.0
    for left, right in itertools.pairwise(ends):
        z = torch.linspace(left, right, 203, dtype=torch.float64)[1:-1]
        curvature = max(curvature, float((act(z[2:]) - 2 * act(z[1:-1]) + act(z[:-2])).abs().max()))
    straight = act.piecewise_linear or act == SmoothLeakyRelu(1.0, 3.0)
    assert (curvature < 1e-12) == straight


@each
def test_activations_other_than_the_quadratic_never_decrease(act):
    z = grid().sort().values
    if isinstance(act, Quadratic):
        assert torch.equal(act(z), act(-z))
        return
    assert (act(z).diff() >= -1e-12).all()
    assert (act.derivative(z) >= 0).all()
    if not isinstance(act, QuadraticRelu):
        assert (act.derivative(z) <= 1).all()


@each
@pytest.mark.parametrize("dtype", DTYPES)
def test_huge_inputs_give_finite_values_and_gradients(act, dtype):
    reach = math.sqrt(torch.finfo(dtype).max) / 2
    if not isinstance(act, Quadratic | QuadraticRelu):
        reach = torch.finfo(dtype).max / 4
    z = torch.tensor([-reach, reach, -1e4, 1e4], dtype=dtype)
    for value in (act(z), act.derivative(z), autograd(act, z)):
        assert value.isfinite().all()
    torch.testing.assert_close(autograd(act, z), act.derivative(z))


@each
def test_float32_agrees_with_float64(act):
    z = torch.linspace(-4, 4, 401)
    torch.testing.assert_close(act(z).double(), act(z.double()), rtol=1e-5, atol=3e-6)
    kinks = torch.tensor([any(abs(point - kink) < 1e-6 for kink in act.kinks) for point in z.tolist()])
    z = z[~kinks.bool()]
    torch.testing.assert_close(act.derivative(z).double(), act.derivative(z.double()), rtol=1e-5, atol=1e-5)


@each
def test_nan_stays_nan(act):
    assert act(torch.tensor([math.nan])).isnan().all()


@each
def test_activations_are_values(act):
    assert act == type(act)(**vars(act))
    assert len({act, type(act)(**vars(act))}) == 1
    with pytest.raises(AttributeError):
        act.slope = 0.5


@given(z=st.floats(-1e3, 1e3))
def test_piecewise_activations_are_their_textbook_formulas(z):
    assert Relu()(scalar(z)).item() == max(z, 0.0)
    assert LeakyRelu(0.25)(scalar(z)).item() == max(z, 0.25 * z)
    assert TruncatedRelu()(scalar(z)).item() == min(1.0, max(z, 0.0))
    assert QuadraticRelu()(scalar(z)).item() == max(z, 0.0) ** 2
    assert Quadratic()(scalar(z)).item() == z * z


def test_derivatives_at_the_corners_are_the_documented_ones():
    corners = torch.tensor([0.0, 1.0])
    assert Relu().derivative(corners).tolist() == [0.0, 1.0]
    assert LeakyRelu(0.25).derivative(corners).tolist() == [0.25, 1.0]
    assert TruncatedRelu().derivative(corners).tolist() == [0.0, 0.0]


@given(slope=st.floats(0, 1), smoothness=st.floats(1e-2, 1e3), z=st.floats(-100, 100))
def test_smooth_leaky_relu_is_the_integral_of_its_derivative_from_zero(slope, smoothness, z):
    act = SmoothLeakyRelu(slope, smoothness)
    corners = [corner for corner in (-1 / smoothness, 1 / smoothness) if min(0, z) < corner < max(0, z)]
    points = torch.tensor(sorted([0.0, z, *corners]), dtype=torch.float64)
    # The derivative is linear between these points, so the trapezoid rule is exact.
    slopes = act.derivative(points)
    integral = ((slopes[1:] + slopes[:-1]) / 2 * points.diff()).sum() * math.copysign(1, z)
    torch.testing.assert_close(act(scalar(z)), integral, rtol=1e-12, atol=1e-13)


@given(slope=st.floats(0, 1), smoothness=st.floats(1e-2, 1e6), z=st.floats(-1e3, 1e3))
def test_smooth_leaky_relu_meets_the_conditions_of_benign(slope, smoothness, z):
    act, offset = SmoothLeakyRelu(slope, smoothness), (1 - slope) / (4 * smoothness)
    derivative = act.derivative(scalar(z))
    assert slope - 1e-15 <= derivative <= 1 + 1e-15
    assert abs(derivative * z - act(scalar(z))) <= offset + 1e-12 * abs(z)
    assert abs(act(scalar(z)) - LeakyRelu(slope)(scalar(z))) <= offset + 1e-12 * abs(z)
    assert act(scalar(0.0)) == 0


@given(z=st.floats(-1e6, 1e6), smoothness=st.floats(1e-3, 1e6))
def test_smooth_leaky_relu_with_slope_one_is_the_identity(z, smoothness):
    act = SmoothLeakyRelu(1.0, smoothness)
    assert act(scalar(z)).item() == z
    assert act.derivative(scalar(z)).item() == 1


@pytest.mark.parametrize("slope", [0.0, 0.1, 0.9])
def test_smooth_leaky_relu_tends_to_leaky_relu_as_smoothness_grows(slope):
    smooth, leaky = SmoothLeakyRelu(slope, 1e12), LeakyRelu(slope)
    torch.testing.assert_close(smooth(grid()), leaky(grid()), rtol=1e-12, atol=1e-12)
    away = grid()[grid() != 0]
    torch.testing.assert_close(smooth.derivative(away), leaky.derivative(away), rtol=1e-12, atol=1e-12)
    assert smooth.derivative(scalar(0.0)) == (1 + slope) / 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_pieces_of_smooth_leaky_relu_meet(dtype):
    act, hair = SmoothLeakyRelu(0.2, 4.0), 10 * torch.finfo(dtype).eps
    joint = torch.tensor([-0.25, 0.25], dtype=dtype)
    torch.testing.assert_close(act(joint * (1 + hair)), act(joint * (1 - hair)))
    torch.testing.assert_close(act.derivative(joint * (1 + hair)), act.derivative(joint * (1 - hair)))


@given(z=st.floats(-700, 700))
def test_softplus_solves_its_defining_equation(z):
    value = Softplus()(scalar(z))
    # exp(softplus) = 1 + exp(z), compared where neither side overflows: expm1(value) = exp(z).
    torch.testing.assert_close(value.expm1(), scalar(z).exp(), rtol=1e-11, atol=0)
    torch.testing.assert_close(value - Softplus()(scalar(-z)), scalar(z), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LeakyRelu(1.5), "`slope` of `LeakyRelu` must be a finite number >= 0 and <= 1, got 1.5."),
        (
            lambda: SmoothLeakyRelu(-0.1, 1.0),
            "`slope` of `SmoothLeakyRelu` must be a finite number >= 0 and <= 1, got -0.1.",
        ),
        (
            lambda: SmoothLeakyRelu(0.1, 0.0),
            "`smoothness` of `SmoothLeakyRelu` must be a finite number > 0, got 0.0.",
        ),
        (lambda: SmoothedRelu(0.0), "`sigma` of `SmoothedRelu` must be a finite number > 0, got 0.0."),
        (
            lambda: SmoothedTruncatedRelu(math.inf),
            "`sigma` of `SmoothedTruncatedRelu` must be a finite number > 0, got inf.",
        ),
    ],
)
def test_impossible_parameters_are_refused(build, message):
    with pytest.raises(ValueError, match=exactly(message)):
        build()
