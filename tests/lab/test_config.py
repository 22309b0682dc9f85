import json
import math
import re
from dataclasses import dataclass
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from karat_toys import TOY

from karat.study.config import Mismatch, config_from_json, config_to_json, decode, encode, read
from karat.study.experiment import cells
from karat.study.record import Record, cell_generator, config_hash
from karat.study.registry import EXPERIMENTS, find_experiment

numbers = st.floats(allow_nan=False)
quick = settings(deadline=None, max_examples=60)


@dataclass(frozen=True, kw_only=True)
class Rich:
    d: int
    tau: float
    lazy: bool = False
    norm: Literal["2", "inf"] = "2"
    order: Literal[1, 2] = 1
    decay: float | None = None
    label: str | None = None
    widths: tuple[int, ...] = ()
    box: tuple[float, float] = (0.0, 1.0)


rich = st.builds(
    Rich,
    d=st.integers(),
    tau=numbers,
    lazy=st.booleans(),
    norm=st.sampled_from(["2", "inf"]),
    order=st.sampled_from([1, 2]),
    decay=st.none() | numbers,
    label=st.none() | st.text(),
    widths=st.lists(st.integers(), max_size=3).map(tuple),
    box=st.tuples(numbers, numbers),
)


@quick
@given(rich)
def test_config_survives_strict_json(config):
    text = json.dumps(config_to_json(config), allow_nan=False)
    assert config_from_json(Rich, json.loads(text)) == config


@quick
@given(rich, rich)
def test_configs_have_the_same_hash_exactly_when_they_are_equal(one, other):
    hashes = [config_hash("toy", config_to_json(config)) for config in (one, other)]
    assert (hashes[0] == hashes[1]) == (one == other)


@quick
@given(rich, st.randoms())
def test_hash_ignores_the_order_of_the_settings(config, random):
    pairs = list(config_to_json(config).items())
    random.shuffle(pairs)
    assert config_hash("toy", dict(pairs)) == config_hash("toy", config_to_json(config))


def test_hash_is_the_same_in_every_process_and_version():
    # printf '{"config":{"d":3,"p":"inf","tau":0.1},"experiment":"toy"}' | sha256sum
    assert config_hash("toy", {"d": 3, "tau": 0.1, "p": "inf"}) == "e73b252ae6b09adb"


def test_equal_numbers_of_different_type_have_one_hash():
    texts = [config_to_json(Rich(d=1, tau=tau)) for tau in (0, 0.0, -0.0)]
    assert len({config_hash("toy", text) for text in texts}) == 1


@quick
@given(st.integers(), st.floats())
def test_typed_text_reads_back_numbers(whole, real):
    assert read(str(whole), int, "d", "Toy", text=True) == whole
    found = read(repr(real), float, "tau", "Toy", text=True)
    assert found == real or (math.isnan(found) and math.isnan(real))


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("1e3", int, 1000),
        ("9007199254740993", int, 9007199254740993),
        ("inf", float, math.inf),
        ("yes", bool, True),
        ("False", bool, False),
        ("none", float | None, None),
        ("0.5", float | None, 0.5),
        ("none", str | None, None),
        ("2", Literal[1, 2], 2),
        ("(1, 2,3)", tuple[int, ...], (1, 2, 3)),
        ("", tuple[int, ...], ()),
        ("0,inf", tuple[float, float], (0.0, math.inf)),
    ],
)
def test_text_is_read_by_the_type_of_the_field(text, hint, value):
    found = read(text, hint, "key", "Toy", text=True)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "hint", "wanted"),
    [
        ("wide", int, "a whole number"),
        ("2.5", int, "a whole number"),
        ("inf", int, "a whole number"),
        ("true", float, "a number"),
        ("", float, "a number"),
        ("maybe", bool, "true or false"),
        ("3", Literal[1, 2], "one of 1, 2"),
        ("l3", Literal["l1", "l2"], "one of l1, l2"),
        ("x", float | None, "a number or none"),
        ("1,x", tuple[int, ...], "a list separated by commas, each item a whole number"),
        ("1", tuple[float, float], "separated by commas: a number, a number"),
        ("1", dict, "a dict, which cannot be set here"),
    ],
)
def test_text_of_the_wrong_type_is_refused_in_one_sentence(text, hint, wanted):
    sentence = f"`key` of `Toy` must be {wanted}, got {text!r}."
    with pytest.raises(Mismatch, match=f"^{re.escape(sentence)}$"):
        read(text, hint, "key", "Toy", text=True)


@pytest.mark.parametrize(
    ("value", "hint"), [(True, int), (True, float), (1, bool), ("1", int), (1, str), (None, int)]
)
def test_typed_values_are_not_converted_by_force(value, hint):
    with pytest.raises(ValueError, match="`key` of `Toy` must be"):
        read(value, hint, "key", "Toy")


def test_cells_are_the_product_of_grid_and_seeds():
    found = cells(TOY, "tiny")
    assert [(cell.config.d, cell.seed) for cell in found] == [(d, s) for d in (1, 2, 3) for s in (0, 1)]


def test_an_override_of_a_grid_axis_collapses_it():
    found = cells(TOY, "tiny", seeds=1, overrides={"d": "5", "tau": 0.2})
    assert [(cell.config.d, cell.config.tau, cell.seed) for cell in found] == [(5, 0.2, 0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"overrides": {"width": "3"}},
            "`karat_toys:TOY` has no setting `width`; its settings are d, tau, mode",
        ),
        ({"overrides": {"d": "wide"}}, "`d` of `karat_toys:TOY` must be a whole number, got 'wide'."),
        ({"overrides": {"d": 0}}, "`d` of `karat_toys:TOY` must be a whole number >= 1, got 0."),
        ({"overrides": {"tau": "-1"}}, "`tau` of `karat_toys:TOY` must be a finite number >= 0, got -1.0."),
        ({"overrides": {"mode": "x"}}, "`mode` of `karat_toys:TOY` must be one of ok, raise"),
        ({"seeds": 0}, "`seeds` of `karat_toys:TOY` must be a whole number >= 1, got 0."),
        ({"scale": "huge"}, "`karat_toys:TOY` has no scale `huge`; its scales are tiny, quick."),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(arguments, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)) as caught:
        cells(TOY, **{"scale": "tiny"} | arguments)
    assert "\n" not in str(caught.value)


def test_experiments_are_found_by_name_and_by_address():
    assert find_experiment("karat_toys:TOY").run is TOY.run
    for name in ("nobody", "no.module:TOY", "karat_toys:NOTHING", "karat_toys:Config"):
        with pytest.raises(ValueError, match=name):
            find_experiment(name)


def test_record_survives_strict_json(make_record):
    values = {"a": math.inf, "b": [1, -math.inf, math.nan], "c": "text", "d": {"e": True}}
    record = make_record(values=values)
    again = Record.from_json(record.to_json())
    assert again.to_json() == record.to_json()
    assert again.values["a"] == math.inf
    assert math.isnan(again.values["b"][2])
    assert again.config_hash == record.config_hash


@pytest.mark.parametrize("text", ["{}", "[]", '{"experiment": "toy"}', "nonsense"])
def test_other_text_is_not_a_record(text):
    with pytest.raises(ValueError, match=r"not a record|Expecting value"):
        Record.from_json(text)


@quick
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | numbers, lambda item: st.lists(item), max_leaves=8
    )
)
def test_decode_undoes_encode(value):
    assert decode(encode(value)) == value


def test_values_without_json_form_are_refused():
    with pytest.raises(TypeError, match="a value of type object is not plain JSON"):
        encode({"a": object()})


def test_equal_seeds_of_an_experiment_draw_equal_numbers_and_no_others_do():
    cells = [("a.one", 3), ("a.one", 4), ("a.other", 3), ("a.one", 3)]
    *apart, again = (float(torch.rand((), generator=cell_generator(*cell))) for cell in cells)
    assert len(set(apart)) == 3
    assert again == apart[0]


def test_no_two_cells_of_all_experiments_share_their_random_numbers():
    seeds = {cell_generator(name, seed).initial_seed() for name in EXPERIMENTS for seed in range(10)}
    assert len(seeds) == 10 * len(EXPERIMENTS)
    assert max(seeds) < 2**32  # torch drops all further bits
