import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from karat_toys import TOY

from karat.api import plan_sweep
from karat.study.experiment import MOST_CELLS, cells
from karat.study.grid import read_axis


@pytest.mark.parametrize(
    ("text", "hint", "values"),
    [
        ("1000, 2000,4000", int, (1000, 2000, 4000)),
        ("1:10:10", float, tuple(map(float, range(1, 11)))),
        ("1000:18000:18", int, tuple(range(1000, 18001, 1000))),
        ("0.1:0.7:7", float, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)),
        ("10:1000:3:log", int, (10, 100, 1000)),
        ("1:3:5:log", int, (1, 2, 3)),
        ("5:1:3", float, (5.0, 3.0, 1.0)),
        ("ok,raise", str, ("ok", "raise")),
        ("2,2,3", int, (2, 3)),
    ],
)
def test_an_axis_is_read_from_text(text, hint, values):
    assert read_axis(text, hint, "d", "toy") == values


@pytest.mark.parametrize(
    ("text", "hint", "message"),
    [
        ("1:10", float, "must be a list or start:stop:count"),
        ("1:10:x", float, "must be a list or start:stop:count"),
        ("1:10:3:lin", float, "must be a list or start:stop:count"),
        ("1:10:1", float, "count is not at least 2"),
        ("0:10:3:log", float, "equal ratios need positive ends"),
        ("1:10:3", int, "`d` of `toy` must be a whole number, got 5.5"),
        ("1,x", int, "`d` of `toy` must be a whole number, got 'x'"),
        (",", int, "has no values"),
        ("1/0:2:3", float, "must be a list or start:stop:count"),
        ("1e1000000000:2:3", float, "its ends may have at most 400 digits and exponents up to 400"),
        ("1:2e-1_000_000_000:3", float, "its ends may have at most 400 digits"),
        ("1:10:1000000000", float, "whose count is more than 1,000,000"),
        ("9" * 400 + ":2:3", float, "whose values leave the range of numbers"),
        ("9" * 401 + ":2:3", float, "its ends may have at most 400 digits"),
        ("1e400:1e401:3", float, "exponents up to 400"),
        ("1e399:1e400:2", float, r"`d` of `toy` must be a number, got 1000.*\.\.\.\.$"),
        ("1e-400:1:3:log", float, "whose values leave the range of numbers"),
        ("1e390:1e400:3:log", float, "whose values leave the range of numbers"),
        ("9" * 400, float, r"`d` of `toy` must be a number, got '999.*\.\.\.\.$"),
    ],
)
def test_text_that_is_no_axis_is_refused_in_one_sentence(text, hint, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_axis(text, hint, "d", "toy")
    assert "\n" not in str(caught.value)


def test_axes_replace_those_of_the_preset_and_add_to_them():
    found = cells(TOY, "tiny", 1, grid={"d": (5, 6), "tau": (0.1, 0.2)})
    assert [(c.config.d, c.config.tau) for c in found] == [(5, 0.1), (5, 0.2), (6, 0.1), (6, 0.2)]
    assert [c.config.d for c in cells(TOY, "tiny", 1, grid={"tau": (0.3,)})] == [1, 2, 3]


def test_a_setting_is_fixed_or_an_axis():
    with pytest.raises(ValueError, match="cannot be set and be an axis at once"):
        cells(TOY, "tiny", overrides={"d": 1}, grid={"d": (1, 2)})
    with pytest.raises(ValueError, match="has no setting `width`"):
        plan_sweep(TOY.name, "tiny", grid={"width": "1,2"})


def test_seeds_of_a_config_share_its_json():
    one, two = cells(TOY, "tiny", 2, overrides={"d": 1})
    assert one.config_json is two.config_json
    assert (one.config_hash, one.seed, two.seed) == (two.config_hash, 0, 1)


@pytest.mark.parametrize(
    ("seeds", "grid", "message"),
    [
        (
            10**9,
            {},
            r"would have 3,000,000,000 cells \(3 of `d` x 1,000,000,000 seeds\), the most are 1,000,000",
        ),
        (1, {"d": range(10**12)}, "the most are 1,000,000"),
        (1, {"d": itertools.count()}, "1,000,001 of `d`"),
        (2, {"d": range(1000), "tau": [k / 1000 for k in range(501)]}, "1,002,000 cells"),
        (10**20, {}, r"more than 10\^15 cells"),
    ],
)
def test_more_cells_than_can_be_planned_are_refused_at_once(seeds, grid, message):
    with pytest.raises(ValueError, match=message):
        plan_sweep(TOY.name, "tiny", seeds, grid)


def test_any_iterable_can_be_an_axis():
    assert [c.config.d for c in cells(TOY, "tiny", 1, grid={"d": (k for k in (4, 5))})] == [4, 5]


numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.fractions(),
    st.from_regex(r"[-+]?[0-9_.]{0,5}([eE/][-+]?[0-9_]{0,6})?", fullmatch=True),
    st.text(max_size=5),
).map(str)
counts = st.one_of(st.integers(-2, 50), st.integers(MOST_CELLS + 1), st.text(max_size=3)).map(str)


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=30),
        st.lists(numbers, max_size=5).map(",".join),
        st.builds(
            lambda start, stop, count, tail: f"{start}:{stop}:{count}{tail}",
            *(numbers, numbers, counts),
            st.sampled_from(["", ":log", ":lin", ":"]),
        ),
    ),
    st.sampled_from([int, float, str, bool, tuple[int, ...], float | None]),
)
def test_any_text_is_an_axis_or_refused_in_one_sentence(text, hint):
    try:
        values = read_axis(text, hint, "d", "toy")
    except ValueError as error:
        complaint = str(error)
    else:
        assert 1 <= len(values) <= MOST_CELLS
        return
    assert complaint.startswith(("`d` of `toy` must be", "the axis `d` of `toy`"))
    assert "\n" not in complaint
    assert len(complaint) < 300
