"""Flipped bits: what has changed since it was written is never shown, and `verify` names it."""

import json
import random
import sqlite3
from collections import Counter
from contextlib import closing, suppress

import pytest
from karat_toys import TOY

from karat.lab.execute import execute
from karat.lab.store import Store, StoreError, repair, verify
from karat.lab.store.row import Row, parse
from karat.study.experiment import cells

COPIES = 500


def change(path, what, where="1"):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE cells SET {what} WHERE {where}")


def problems(path):
    """What `verify` finds, in either of its ways of saying it."""
    try:
        return verify(path).problems
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return [str(error)]


@pytest.mark.parametrize(
    "what",
    [
        "experiment = 'toz'",
        "config_hash = '0123456789abcdef'",
        "seed = 1",
        "seed = 0.5",
        "status = 'diverged'",
        "version = '0.1.1'",
        "source = 'abc'",
        "cpu_seconds = 0.6",
        "record = replace(record, '\"d\":1', '\"d\":2')",
        "record = CAST(record AS BLOB)",
        "record = CAST(x'ff' || record AS TEXT)",
        "record = '{}'",
        "record = ''",
        "record = replace(hex(zeroblob(50000)), '0', '[')",
    ],
)
def test_a_row_whose_parts_disagree_is_left_out_and_named(tmp_path, make_record, what):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())
    change(path, what)
    with Store(path, read_only=True) as store:
        assert (store.records(), store.summary()) == ([], [])
        assert len(store.damaged) == 1
    assert len(problems(path)) == 1
    with pytest.raises(StoreError, match="no record can be read; the file is left as it is"):
        repair(path)


@pytest.mark.parametrize(
    "what",
    [
        "record = replace(record, '0.25', '0.24')",
        'record = replace(record, \'"error":null\', \'"error":"x"\')',
        'record = replace(record, \'"environment":{}\', \'"environment":{"threads":2}\')',
        "record = replace(record, '\"peak_memory_mb\":0.0', '\"peak_memory_mb\":1.0')",
        "saved_at = '2020-01-01T00:00:00Z'",
        "digest = substr(digest, 2)",
        "digest = ''",
    ],
)
def test_a_digest_notices_what_nothing_else_would(tmp_path, make_record, what):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())
        store.put(make_record(seed=1))
    change(path, what, "seed = 0")
    with Store(path, read_only=True) as store:
        assert [record.seed for record in store.records()] == [1]
        assert [row.done for row in store.summary()] == [1]
    (problem,) = problems(path)
    assert problem == f"{Row.of(make_record()).name}: it does not match its digest."
    assert repair(path).records == 1


def test_a_damaged_record_counts_as_missing_and_is_replaced(store):
    (cell,) = cells(TOY, "tiny", 1, {"d": 1})
    record = execute(cell)
    store.put(record)
    assert store.has(cell)
    change(store.path, "record = replace(record, '\"mean\":', '\"mean\":1')")
    assert (store.has(cell), store.get(cell), store.missing([cell])) == (False, None, [cell])
    assert store.statuses(cell.experiment, {cell.config_hash}) == {}
    assert len(store.damaged) == 1
    store.put(record)
    assert store.get(cell) == record
    assert problems(store.path) == ()


def test_damaged_plans_and_benchmarks_are_left_out_and_named(store):
    store.put_sweep("one", "toy", {"scale": "tiny"})
    store.put_benchmark("two", {"seconds": 1.25})
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE sweeps SET plan = replace(plan, 'tiny', 'tinz')")
        connection.execute("UPDATE benchmarks SET outcome = replace(outcome, '1.25', '1.26')")
    assert (store.sweeps(), store.benchmarks()) == ([], {})
    assert set(store.damaged) == {"sweep one", "benchmark two"}
    assert len(problems(store.path)) == 2


@pytest.mark.slow
def test_every_text_is_a_record_or_a_value_error(make_record):
    draw = random.Random(0)
    record = make_record(values={"mean": 0.25, "curve": [1.0, float("inf")]}, config={"d": 1, "p": "inf"})
    odd = [None, True, -1, 10**30, 1e308, "x", "\ud800", [], {}, [[1]], {"a": None}, float("nan")]
    verdicts = Counter()
    for _ in range(8000):
        if draw.random() < 0.5:
            raw = record.to_dict()
            raw[draw.choice(list(raw))] = draw.choice(odd)
            text = json.dumps(raw)
        else:
            letters = list(record.to_json())
            letters[draw.randrange(len(letters))] = chr(draw.randrange(128))
            text = "".join(letters)
        try:
            Row.of(parse(text))
            verdicts["record"] += 1
        except ValueError as error:
            verdicts[str(error)] += 1
    assert set(verdicts) == {"record", "the text is not a record of karat."}
    assert min(verdicts.values()) > 1000


def damaged(whole, draw):
    """A copy that is cut off, has an empty page, or has from one bit to a hundred bytes changed."""
    kind, start = draw.randrange(8), draw.randrange(len(whole))
    if kind == 0:
        return whole[:start]
    if kind == 1:
        page = start // 4096 * 4096
        return whole[:page] + bytes(4096) + whole[page + 4096 :]
    if kind == 2:
        noise = draw.randbytes(draw.randrange(1, 100))
        return (whole[:start] + noise + whole[start + len(noise) :])[: len(whole)]
    return whole[:start] + bytes([whole[start] ^ 1 << draw.randrange(8)]) + whole[start + 1 :]


@pytest.mark.slow
def test_no_damaged_copy_shows_a_wrong_number(tmp_path, make_record):
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        for d in range(20):
            for seed in range(5):
                store.put(
                    make_record(d=d, seed=seed, values={"mean": 1 / (1 + d + seed), "curve": [d / 7] * 9})
                )
        originals = {record.to_json() for record in store.records()}
        overview = store.summary()
        store._file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole, draw, seen = path.read_bytes(), random.Random(0), Counter()
    copy = tmp_path / "copy.sqlite"
    for number in range(COPIES):
        copy.write_bytes(damaged(whole, draw))
        try:
            with Store(copy, read_only=True) as store:
                shown, summary = {record.to_json() for record in store.records()}, store.summary()
        except StoreError:
            seen["refused"] += 1
        else:
            assert shown <= originals
            if not problems(copy):
                assert (shown, summary) == (originals, overview)
                seen["sound"] += 1
            else:
                seen["noticed"] += 1
        if number % 5 == 0:
            with suppress(StoreError):
                repair(copy)
                assert problems(copy) == ()
                with Store(copy, read_only=True) as store:
                    assert {record.to_json() for record in store.records()} <= originals
                seen["repaired"] += 1
        for file in tmp_path.glob("copy*"):
            file.unlink()
    assert min(seen[how] for how in ("refused", "noticed", "sound", "repaired")) > 20, seen


def test_a_file_that_sqlite_cannot_even_complain_about_is_one_line(tmp_path, make_record):
    """Its message quotes the damaged bytes, which are no text."""
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put(make_record())
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE sweeps", b"CREATE \xccABLE sweeps"))
    with pytest.raises(StoreError, match="the file is damaged") as caught:
        Store(path, read_only=True)
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match="no record can be read; the file is left as it is"):
        repair(path)
