import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch

from karat.core.checks import (
    ShapeError,
    require_choice,
    require_integer,
    require_labels,
    require_number,
    require_shape,
)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


@pytest.mark.parametrize("value", [3, 0.5, np.float64(0.5), np.float32(0.5), np.int64(3), Fraction(1, 2)])
def test_any_real_number_is_returned_as_a_float(value):
    number = require_number(value, "tau", "Ball", minimum=0)
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (-0.1, {"minimum": 0}, "`tau` of `Ball` must be a finite number >= 0, got -0.1."),
        (math.nan, {"minimum": 0}, "`tau` of `Ball` must be a finite number >= 0, got nan."),
        (math.inf, {}, "`tau` of `Ball` must be a finite number, got inf."),
        (0, {"positive": True}, "`tau` of `Ball` must be a finite number > 0, got 0."),
        (2, {"minimum": 0, "maximum": 1}, "`tau` of `Ball` must be a finite number >= 0 and <= 1, got 2."),
        (np.float64(-0.1), {"minimum": 0}, "`tau` of `Ball` must be a finite number >= 0, got -0.1."),
    ],
)
def test_a_number_outside_its_range_is_named_with_its_owner_and_value(value, limits, message):
    with pytest.raises(ValueError, match=exactly(message)):
        require_number(value, "tau", "Ball", **limits)


@pytest.mark.parametrize(("value", "shown"), [("1", "'1'"), (None, "None"), (True, "True"), (1j, "1j")])
def test_what_is_no_number_is_a_type_error(value, shown):
    with pytest.raises(TypeError, match=exactly(f"`tau` of `Ball` must be a number, got {shown}.")):
        require_number(value, "tau", "Ball")


def test_the_ends_of_a_closed_range_are_allowed():
    assert require_number(0, "slope", "LeakyRelu", minimum=0, maximum=1) == 0
    assert require_number(1, "slope", "LeakyRelu", minimum=0, maximum=1) == 1


@pytest.mark.parametrize("value", [4, np.int64(4), np.int32(4)])
def test_any_whole_number_is_returned_as_an_int(value):
    assert type(require_integer(value, "d", "NoisyMixture", minimum=1)) is int


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "`d` of `NoisyMixture` must be a whole number >= 1, got 0."),
        (np.int64(0), ValueError, "`d` of `NoisyMixture` must be a whole number >= 1, got 0."),
        (4.0, TypeError, "`d` of `NoisyMixture` must be a whole number >= 1, got 4.0."),
        (True, TypeError, "`d` of `NoisyMixture` must be a whole number >= 1, got True."),
    ],
)
def test_what_is_no_whole_number_in_range_is_refused(value, error, message):
    with pytest.raises(error, match=exactly(message)):
        require_integer(value, "d", "NoisyMixture", minimum=1)


def test_a_whole_number_without_a_minimum_may_be_negative():
    assert require_integer(-3, "shift", "grid") == -3
    with pytest.raises(TypeError, match=r"`shift` of `grid` must be a whole number, got 'a'\."):
        require_integer("a", "shift", "grid")


def test_a_wrong_choice_lists_the_right_ones():
    assert require_choice("l1", "norm", "Ball", ["l1", "l2"]) == "l1"
    with pytest.raises(ValueError, match=exactly("`norm` of `Ball` must be one of 'l1', 'l2'; got 'l3'.")):
        require_choice("l3", "norm", "Ball", ["l1", "l2"])


@pytest.mark.parametrize(
    ("shape", "wanted"), [((None, 5), "(*, 5)"), ((3,), "(3,)"), ((3, 2, 1), "(3, 2, 1)"), ((), "()")]
)
def test_a_wrong_shape_says_which_one_was_wanted(shape, wanted):
    with pytest.raises(ShapeError, match=exactly(f"`x` must have shape {wanted}, got (3, 2).")):
        require_shape(torch.zeros(3, 2), "x", shape)


def test_a_right_shape_returns_the_tensor_itself():
    x = torch.zeros(3, 2)
    assert require_shape(x, "x", (None, 2)) is x
    assert require_shape(x, "x", (3, 2)) is x


def test_what_is_no_tensor_has_no_shape():
    with pytest.raises(TypeError, match=r"`x` must be a tensor, got list\."):
        require_shape([1.0], "x", (1,))


@pytest.mark.parametrize("y", [torch.tensor([1.0, -1.0]), torch.tensor([1, -1])])
def test_labels_are_plus_and_minus_one_of_any_dtype(y):
    assert require_labels(y, 2) is y


@pytest.mark.parametrize(
    ("y", "shown"), [([0.0, 1.0], "[0.0, 1.0]"), ([1, 2], "[1, 2]"), ([math.nan, 1.0], "nan")]
)
def test_other_labels_are_refused_and_shown(y, shown):
    with pytest.raises(ValueError, match=r"`y` must hold the labels \+1 and -1 only, got") as caught:
        require_labels(torch.tensor(y), 2)
    assert shown in str(caught.value)


def test_a_wrong_number_of_labels_is_a_shape_error():
    with pytest.raises(ShapeError, match=r"`y` must have shape \(3,\), got \(2,\)\."):
        require_labels(torch.ones(2), 3)
