import math
import pickle

import pytest

from karat.core import Diverged
from karat.core.divergence import settle


def test_divergence_names_the_step_and_the_quantity():
    error = Diverged(12, "the loss is nan")
    assert isinstance(error, ArithmeticError)
    assert str(error) == "training diverged at step 12: the loss is nan."
    assert (error.step, error.what) == (12, "the loss is nan")


def test_divergence_survives_the_trip_between_processes():
    error = pickle.loads(pickle.dumps(Diverged(3, "a weight is inf")))
    assert type(error) is Diverged
    assert (error.step, error.what, str(error)) == (
        3,
        "a weight is inf",
        "training diverged at step 3: a weight is inf.",
    )


def test_divergence_of_a_result_has_no_step():
    error = pickle.loads(pickle.dumps(Diverged(None, "`loss` is inf")))
    assert str(error) == "`loss` is inf."
    assert error.step is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_named_wherever_it_stands(bad):
    for values in ({"loss": bad}, {"loss": [0.0, [bad]]}, {"curve": {"loss": [bad]}}):
        with pytest.raises(Diverged, match=f"loss` is {bad}"):
            settle(values)


def test_declared_values_may_be_missing_or_infinite():
    values = {"flip": [math.nan, math.inf, 0.1], "count": 3, "name": "nan?", "left": None}
    assert settle(values, {"flip": "never flips"}) == values | {"flip": [None, math.inf, 0.1]}
    assert settle({"at": {"0.1": [math.inf]}}, ["at"]) == {"at": {"0.1": [math.inf]}}


def test_settling_twice_changes_nothing():
    once = settle({"flip": [math.nan, math.inf]}, ["flip"])
    assert settle(once, ["flip"]) == once
