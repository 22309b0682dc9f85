import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from karat.core import dual_exponent, norm, two_inf_norm
from karat.core.checks import ShapeError
from karat.core.norms import exponent, per_sample, rows

EXPONENTS = [1.0, 2.0, math.inf]
REACH = {torch.float32: 1e25, torch.float64: 1e200}


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("shape", [(4,), (4, 6), (4, 2, 3, 5)])
def test_norm_is_numpys_norm_of_every_flattened_sample(p, shape, generator):
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    reference = [np.linalg.norm(row.reshape(-1).numpy(), ord=p) for row in x]
    np.testing.assert_allclose(norm(x, p).numpy(), reference, rtol=1e-14)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("power", [1, -1])
def test_norm_keeps_its_digits_where_squares_leave_the_range_of_the_format(p, dtype, power):
    scale = REACH[dtype] ** power
    x = torch.tensor([[3.0, -4.0], [0.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(norm(x * scale, p) / scale, norm(x, p))


def test_one_huge_sample_leaves_the_others_exact():
    x = torch.tensor([[3e200, 4e200], [3.0, 4.0], [3e-200, 4e-200]], dtype=torch.float64)
    expected = torch.tensor([5e200, 5.0, 5e-200], dtype=torch.float64)
    torch.testing.assert_close(norm(x, 2), expected, rtol=1e-14, atol=0)


def test_norm_of_an_infinite_or_undefined_sample_says_so():
    x = torch.tensor([[math.nan, 1.0], [1.0, 1.0]])
    assert norm(x, 2)[0].isnan()
    assert norm(x, 2)[1] == math.sqrt(2)


@pytest.mark.parametrize("p", EXPONENTS)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8), factor=st.floats(-1e3, 1e3))
def test_norm_is_homogeneous_and_subadditive(p, values, factor):
    x = torch.tensor([values], dtype=torch.float64)
    y = x.flip(1)
    torch.testing.assert_close(norm(factor * x, p), abs(factor) * norm(x, p), rtol=1e-12, atol=1e-300)
    assert norm(x + y, p) <= (norm(x, p) + norm(y, p)) * (1 + 1e-14)


@pytest.mark.parametrize("p", EXPONENTS)
def test_dual_exponents_are_conjugate(p):
    q = dual_exponent(p)
    assert 1 / p + 1 / q == 1
    assert dual_exponent(q) == p


@pytest.mark.parametrize("p", EXPONENTS)
def test_the_dual_norm_bounds_the_inner_product(p, generator):
    x, y = torch.randn(2, 500, 7, generator=generator, dtype=torch.float64)
    assert ((x * y).sum(1).abs() <= norm(x, p) * norm(y, dual_exponent(p)) * (1 + 1e-14)).all()


@pytest.mark.parametrize(("given_p", "value"), [("inf", math.inf), ("2", 2.0), (1, 1.0), (np.inf, math.inf)])
def test_an_exponent_may_be_text(given_p, value):
    assert exponent(given_p) == value


@pytest.mark.parametrize("p", [0, 3, "two", None, math.nan, -math.inf])
def test_other_exponents_are_refused(p):
    with pytest.raises(ValueError, match=exactly(f"`p` of `Ball` must be one of 1, 2, inf; got {p!r}.")):
        norm(torch.ones(1, 2), p)


def test_two_inf_norm_is_the_largest_row_norm():
    W = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, -2.0]])
    assert two_inf_norm(W) == 5
    with pytest.raises(ShapeError, match=r"`W` must have shape \(\*, \*\), got \(2,\)\."):
        two_inf_norm(W[0])


def test_rows_and_per_sample_broadcast_over_images(generator):
    x = torch.randn(3, 2, 4, 4, generator=generator)
    assert rows(x).shape == (3, 32)
    assert rows(x[:, 0, 0, 0]).shape == (3, 1)
    scaled = x * per_sample(torch.tensor([0.0, 1.0, 2.0]), x)
    torch.testing.assert_close(scaled[2], 2 * x[2])
    assert not scaled[0].any()
