"""Ranges declared on fields: every rule, where it may stand, and in which order they are looked at."""

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen, MultipleOf

from karat.core.ranges import (
    Count,
    Inside,
    NonNegative,
    Pairs,
    Positive,
    Share,
    Steps,
    Unbounded,
    checked,
    settings,
)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def plan(kind: Any, decorate: Any = checked) -> Any:
    """A class `Plan` with one field `value` of a type."""
    return dataclass(frozen=True)(decorate(type("Plan", (), {"__annotations__": {"value": kind}})))


WHOLE, FINITE = "must be a whole number", "must be a finite number"


@pytest.mark.parametrize(
    ("kind", "allowed", "refused", "rule"),
    [
        (Count, [1, 7, np.int64(3)], [0, -1], f"{WHOLE} >= 1"),
        (Steps, [0, 1], [-1], f"{WHOLE} >= 0"),
        (Annotated[int, Ge(8)], [8], [7], f"{WHOLE} >= 8"),
        (Annotated[int, Ge(1), Le(5)], [1, 5], [6], f"{WHOLE} <= 5"),
        (Annotated[int, Interval(ge=2, le=4)], [2, 4], [1], f"{WHOLE} >= 2"),
        (Positive, [1e-300, 2], [0, 0.0, -1.5, math.inf, math.nan], f"{FINITE} > 0"),
        (NonNegative, [0, 0.0, 3.5], [-1e-9, math.inf, math.nan], f"{FINITE} >= 0"),
        (Share, [0, 0.5, 1], [-0.1, 1.1, math.nan], f"{FINITE} >= 0 and <= 1"),
        (Inside, [1e-9, 0.5], [0, 1, math.nan], f"{FINITE} > 0 and < 1"),
        (Annotated[float, Gt(-1), Le(2)], [-0.5, 2], [-1, 2.5], f"{FINITE} <= 2 and > -1"),
        (Annotated[float, Interval(gt=0, lt=3)], [1, 2.9], [0, 3], f"{FINITE} > 0 and < 3"),
        (Annotated[Positive, Lt(1)], [0.5], [1, 0], f"{FINITE} > 0 and < 1"),
    ],
    ids=repr,
)
def test_a_range_is_kept(kind, allowed, refused, rule):
    Plan = plan(kind)
    for value in allowed:
        assert Plan(value).value is value
    for value in refused:
        with pytest.raises(ValueError, match=exactly(f"`value` of `Plan` {rule}, got {value}.")):
            Plan(value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Count, 1.0, "must be a whole number >= 1, got 1.0."),
        (Count, True, "must be a whole number >= 1, got True."),
        (Count, "3", "must be a whole number >= 1, got '3'."),
        (Positive, "0.5", "must be a number, got '0.5'."),
        (Positive, True, "must be a number, got True."),
        (Positive, None, "must be a number, got None."),
    ],
    ids=repr,
)
def test_another_kind_of_value_is_a_type_error(kind, value, message):
    with pytest.raises(TypeError, match=exactly(f"`value` of `Plan` {message}")):
        plan(kind)(value)


def test_numbers_of_neurons_come_in_pairs():
    assert plan(Pairs)(4).value == 4
    with pytest.raises(ValueError, match=exactly("`value` of `Plan` must be a whole number >= 2, got 0.")):
        plan(Pairs)(0)
    odd = "`value` of `Plan` must be even, for neurons come in pairs; got 5."
    with pytest.raises(ValueError, match=exactly(odd)):
        plan(Pairs)(5)
    with pytest.raises(ValueError, match=exactly("`value` of `Plan` must be a multiple of 3; got 4.")):
        plan(Annotated[int, MultipleOf(3)])(4)


def test_words_are_chosen_from_a_list():
    Plan = plan(Literal["best", "last"])
    assert Plan("last").value == "last"
    with pytest.raises(
        ValueError, match=exactly("`value` of `Plan` must be one of 'best', 'last'; got 'x'.")
    ):
        Plan("x")


@pytest.mark.parametrize("kind", [int, float, str, float | None, Any], ids=repr)
def test_what_is_not_declared_is_not_looked_at(kind):
    assert math.isnan(plan(kind)(math.nan).value)


class TestUnions:
    def test_none_is_allowed_where_it_is_named(self):
        Plan = plan(Count | None)
        assert Plan(None).value is None
        assert Plan(2).value == 2
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a whole number >= 1, got 0.")
        ):
            Plan(0)

    def test_a_range_around_a_union_holds_for_its_number(self):
        Plan = plan(Annotated[float | None, Gt(0)])
        assert Plan(None).value is None
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a finite number > 0, got 0.")
        ):
            Plan(0)

    def test_a_word_may_stand_for_a_number(self):
        Plan = plan(Literal["paper"] | Positive)
        assert Plan("paper").value == "paper"
        assert Plan(0.5).value == 0.5
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a finite number > 0, got -1.")
        ):
            Plan(-1)
        with pytest.raises(TypeError, match=exactly("`value` of `Plan` must be a number, got 'printed'.")):
            Plan("printed")

    def test_words_or_none(self):
        Plan = plan(Literal["l1", "l2"] | None)
        assert Plan(None).value is None
        assert Plan("l2").value == "l2"
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be one of 'l1', 'l2'; got 'l3'.")
        ):
            Plan("l3")


class TestTuples:
    def test_every_item_is_looked_at(self):
        Plan = plan(tuple[Count, ...])
        assert Plan(()).value == ()
        assert Plan((1, 2)).value == (1, 2)
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a whole number >= 1, got 0.")
        ):
            Plan((3, 0))

    def test_items_may_have_ranges_of_their_own(self):
        Plan = plan(tuple[Count, Share])
        assert Plan((3, 0.5)).value == (3, 0.5)
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a finite number >= 0 and <= 1, got 3.")
        ):
            Plan((3, 3))

    def test_a_tuple_may_need_some_items(self):
        Plan = plan(Annotated[tuple[Positive, ...], MinLen(2)])
        assert Plan((1.0, 2.0)).value == (1.0, 2.0)
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must hold at least 2 values, got (1.0,).")
        ):
            Plan((1.0,))
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a finite number > 0, got 0.")
        ):
            Plan((1.0, 0))

    def test_tuples_may_be_nested(self):
        Plan = plan(tuple[tuple[Count, Positive], ...])
        assert Plan(((1, 0.5), (2, 0.1))).value == ((1, 0.5), (2, 0.1))
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a finite number > 0, got 0.")
        ):
            Plan(((1, 0.5), (2, 0)))
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a whole number >= 1, got 0.")
        ):
            Plan(((1, 0.5), (0, 0.1)))

    def test_items_may_be_missing_or_words(self):
        Plan = plan(tuple[Count | None, ...])
        assert Plan((None, 2)).value == (None, 2)
        Words = plan(tuple[Literal["clean", "robust"], ...])
        with pytest.raises(ValueError, match="must be one of 'clean', 'robust'; got 'both'"):
            Words(("clean", "both"))


class TestSettings:
    @pytest.mark.parametrize("kind", [float, Positive, float | None, tuple[float, ...]], ids=repr)
    @pytest.mark.parametrize("value", [1e31, -1e31, math.nan, math.inf])
    def test_numbers_that_no_run_can_begin_with_are_refused(self, kind, value):
        with pytest.raises(ValueError, match=r"^`value` of `Plan` must be .*, got "):
            plan(kind, settings)((value,) if kind == tuple[float, ...] else value)

    def test_infinity_is_allowed_where_it_has_a_meaning(self):
        Plan = plan(Annotated[float, Ge(1), Unbounded()], settings)
        assert Plan(math.inf).value == math.inf
        for value in (-math.inf, 0.5, math.nan):
            with pytest.raises(ValueError, match="must be a finite number >= 1"):
                Plan(value)

    def test_infinity_may_stand_in_a_tuple_and_a_union(self):
        Plan = plan(tuple[Annotated[float, Unbounded()], ...] | None, settings)
        assert Plan((1.0, math.inf)).value == (1.0, math.inf)
        assert Plan(None).value is None

    def test_ranges_come_first(self):
        """A number that is too large and outside its range is told about its range."""
        with pytest.raises(
            ValueError, match=exactly("`value` of `Plan` must be a finite number <= 1, got 1e+40.")
        ):
            plan(Annotated[float, Le(1)], settings)(1e40)


@dataclass(frozen=True, kw_only=True)
@checked
class Training:
    lr: Positive
    steps: Count = 10

    def __post_init__(self) -> None:
        if self.lr * self.steps > 5:
            raise ValueError(f"`Training` goes too far, got {self.lr * self.steps:g}.")


@dataclass(frozen=True, kw_only=True)
@checked
class LongTraining(Training):
    steps: Annotated[int, Ge(100)] = 100
    decay: NonNegative = 0.0


class TestOrder:
    def test_fields_are_looked_at_in_the_order_of_their_declaration(self):
        with pytest.raises(ValueError, match="`lr` of `Training`"):
            Training(lr=-1.0, steps=0)

    def test_what_fields_must_fulfil_together_comes_last(self):
        with pytest.raises(ValueError, match="`steps` of `Training`"):
            Training(lr=100.0, steps=0)
        with pytest.raises(ValueError, match=exactly("`Training` goes too far, got 1000.")):
            Training(lr=100.0)


class TestInheritance:
    def test_the_message_names_the_class_that_was_built(self):
        with pytest.raises(
            ValueError, match=exactly("`lr` of `LongTraining` must be a finite number > 0, got 0.")
        ):
            LongTraining(lr=0)

    def test_a_range_may_be_declared_anew(self):
        with pytest.raises(
            ValueError, match=r"`steps` of `LongTraining` must be a whole number >= 100, got 10\."
        ):
            LongTraining(lr=0.01, steps=10)
        assert Training(lr=0.01, steps=10).steps == 10

    def test_new_fields_are_looked_at(self):
        with pytest.raises(ValueError, match="`decay` of `LongTraining`"):
            LongTraining(lr=0.01, decay=-1.0)

    def test_what_the_parents_fields_must_fulfil_together_still_holds(self):
        assert LongTraining(lr=0.05).lr == 0.05
        with pytest.raises(ValueError, match="goes too far, got 10"):
            LongTraining(lr=0.1)

    def test_a_plain_subclass_is_checked_too(self):
        @dataclass(frozen=True, kw_only=True)
        class Named(Training):
            name: str = ""

        with pytest.raises(ValueError, match="`steps` of `Named`"):
            Named(lr=0.1, steps=0)

    def test_a_subclass_may_call_its_parents_checks(self):
        @dataclass(frozen=True, kw_only=True)
        @checked
        class Short(Training):
            def __post_init__(self) -> None:
                super().__post_init__()
                if self.steps > 20:
                    raise ValueError("`Short` must be short.")

        with pytest.raises(ValueError, match="goes too far"):
            Short(lr=1.0)
        with pytest.raises(ValueError, match="must be short"):
            Short(lr=0.1, steps=30)
