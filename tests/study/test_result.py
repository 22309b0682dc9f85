"""A result survives the way into a record and back; what is undefined is declared in its type."""

import json
import math
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from karat.core.divergence import Diverged, settle
from karat.study.config import decode, encode
from karat.study.result import Undefined, from_values, to_values, undefined_values


@dataclass(frozen=True, kw_only=True)
class Errors:
    clean: float
    flip: Annotated[float, Undefined("nothing flips")] = 0.0


@dataclass(frozen=True, kw_only=True)
class Layer:
    width: int
    angles: list[float]


@dataclass(frozen=True, kw_only=True)
class Result:
    steps: list[int]
    final: Errors
    layers: list[Layer]
    by_norm: dict[str, Errors]
    counts: dict[int, int]
    pair: tuple[float, str]
    label: str = "plain"
    certified: float | None = None
    start: Errors | None = None
    lengths: Annotated[list[float], Undefined("no step flips")] = field(default_factory=list)


FULL = Result(
    steps=[0, 5],
    final=Errors(clean=0.25, flip=math.inf),
    layers=[Layer(width=2, angles=[0.5, 1.5]), Layer(width=3, angles=[])],
    by_norm={"l2": Errors(clean=0.5)},
    counts={3: 7},
    pair=(0.5, "x"),
    certified=0.75,
    start=Errors(clean=1.0),
    lengths=[1.0, math.inf],
)


def through_a_record(result):
    values = settle(decode(encode(to_values(result))), undefined_values(type(result)))
    return decode(json.loads(json.dumps(encode(values))))


def test_a_result_survives_a_record():
    assert from_values(Result, through_a_record(FULL)) == FULL


def test_values_have_plain_names():
    values = to_values(FULL)
    assert values["final_clean"] == 0.25
    assert values["start_clean"] == 1.0
    assert values["layers"][0] == {"width": 2, "angles": [0.5, 1.5]}
    assert "final" not in values


def test_what_is_none_by_default_is_left_out_and_comes_back():
    least = Result(steps=[], final=Errors(clean=0.0), layers=[], by_norm={}, counts={}, pair=(1.0, "y"))
    values = through_a_record(least)
    assert "certified" not in values
    assert not any(name.startswith("start") for name in values)
    assert from_values(Result, values) == least


def test_a_missing_number_is_nan_again():
    values = to_values(FULL) | {"final_flip": None, "lengths": [1.0, None]}
    result = from_values(Result, values)
    assert math.isnan(result.final.flip)
    assert math.isnan(result.lengths[1])


def test_a_missing_value_is_named():
    values = to_values(FULL)
    del values["final_clean"]
    with pytest.raises(KeyError, match="final_clean"):
        from_values(Result, values)


def test_values_that_the_class_does_not_know_are_left_out():
    assert from_values(Result, to_values(FULL) | {"new": 1.0}) == FULL


def test_only_what_is_declared_may_be_undefined():
    assert undefined_values(Result) == {
        "final_flip": "nothing flips",
        "flip": "nothing flips",
        "start_flip": "nothing flips",
        "lengths": "no step flips",
    }
    with pytest.raises(Diverged, match="`final_clean` is nan"):
        through_a_record(
            Result(steps=[], final=Errors(clean=math.nan), layers=[], by_norm={}, counts={}, pair=(1.0, "y"))
        )
