import math

import pytest

from karat.core.extended import exponential, power, ratio


@pytest.mark.parametrize("base", [1e-200, 0.3, 1.0, 7.0, 1e120])
@pytest.mark.parametrize("exponent", [-3.0, -1, 0, 0.5, 2, 9])
def test_powers_are_those_of_logarithms(base, exponent):
    size = exponent * math.log10(base)
    value = power(base, exponent)
    if size > 309:
        assert value == math.inf
    elif size < -324:
        assert value == 0.0
    else:
        assert value == pytest.approx(10**size, rel=1e-9)


@pytest.mark.parametrize("whole", [10**400, 2**5000], ids=["1e400", "2^5000"])
def test_whole_numbers_beyond_floats_are_infinite(whole):
    assert power(whole, 2) == math.inf
    assert ratio(whole, 3) == math.inf
    assert power(whole, -1) == 0.0
    assert ratio(3, whole) == 0.0


def test_limits():
    assert [power(0.0, p) for p in (-1, 0, 2)] == [math.inf, 1.0, 0.0]
    assert power(math.inf, 2) == power(0.5, -5000) == math.inf
    assert ratio(2.0, 0.0) == ratio(math.inf, 3.0) == math.inf
    assert ratio(2.0, math.inf) == 0.0
    assert exponential(710) == math.inf
    assert exponential(709) == pytest.approx(math.exp(354.5) ** 2)
    assert (exponential(-800), exponential(0)) == (0.0, 1.0)
