"""The commands replay and store merge, as a user types them."""

from dataclasses import replace

import pytest
from karat_toys import TOY

from karat.lab.execute import execute
from karat.lab.store import Store
from karat.study.experiment import cells


@pytest.fixture
def other(tmp_path):
    with Store(tmp_path / "other.sqlite") as store:
        for cell in cells(TOY, "tiny"):
            store.put(execute(cell))
    return tmp_path / "other.sqlite"


def test_a_sound_store_is_replayed(karat, other):
    done = karat("replay", other, "--sample", "4", "--workers", "0", "--json")
    assert done.code == 0
    assert (done.json["replayed"], done.json["differing"]) == (4, [])
    assert 0 < done.json["share_at_most"] < 1


def test_a_forged_record_ends_with_exit_code_1(karat, other):
    with Store(other) as store:
        record = store.records()[0]
        store.put(replace(record, values=record.values | {"mean": 9.0}))
    done = karat("replay", other, "--workers", "0")
    assert done.code == 1
    assert "`mean` was 9.0" in done.out
    assert "1 of 6 records are not what their cells give here." in done.err


@pytest.mark.parametrize("arguments", [("--sample", "0"), ("--tolerance", "2"), ("--experiment", "nobody.x")])
def test_bad_input_gets_one_line(karat, other, arguments):
    done = karat("replay", other, *arguments)
    assert done.code == 2
    assert done.complaint()


def test_stores_are_joined(karat, other, tmp_path):
    done = karat("store", "merge", other, "--json")
    assert done.code == 0
    assert done.json["taken"] == 6
    assert karat("store", "merge", tmp_path / "nothing.sqlite").code == 2
