"""Forged records are found at the rate of the hypergeometric law; true ones are reproduced to the bit."""

import math
from dataclasses import replace

import pytest
from karat_toys import TOY
from scipy import stats

from karat.lab import replay as replay_module
from karat.lab.engine import Inline
from karat.lab.execute import execute
from karat.lab.replay import deviation_of, replay
from karat.study.experiment import cells


@pytest.fixture(scope="module")
def records():
    return [execute(cell) for cell in cells(TOY, "tiny", 4)]


def forge(record):
    return replace(record, values=record.values | {"mean": record.values["mean"] + 1e-3})


def test_true_records_are_reproduced_to_the_bit(records):
    found = replay(records, 5, tolerance=0.0, engine=Inline())
    assert (found.replayed, found.differing, found.unknown, found.largest) == (5, (), 0, 0.0)
    assert found.share.high == pytest.approx(1 - 0.025 ** (1 / 5))


def test_a_forged_record_is_found_and_named(records):
    found = replay([forge(records[0]), *records[1:]], len(records), engine=Inline())
    ((record, why),) = found.differing
    assert record.key == records[0].key
    assert why.startswith("`mean` was")


def test_records_of_unknown_experiments_are_counted_apart(records):
    strange = [replace(records[0], experiment="nobody.knows"), replace(records[1], config={"width": 3})]
    found = replay([*strange, *records[2:]], len(records), engine=Inline())
    assert (found.unknown, len(found.differing)) == (2, 0)
    assert found.share.low > 0  # whoever cannot compute them again must not trust them


def test_samples_cannot_be_foreseen(records):
    assert len({replay(records, 1, engine=Inline()).seed for _ in range(3)}) == 3


def test_residues_of_rounding_are_no_forgery(records):
    one, other = (
        replace(records[0], values={"degrees": [1.0, value], "off": value}) for value in (1e-17, -2e-17)
    )
    assert deviation_of(one, other)[0] < 1e-7
    assert deviation_of(replace(one, values={"n": 10**400}), replace(one, values={"n": 1}))[0] > 1


def test_rounding_is_tolerated_and_told(records):
    near = replace(records[0], values=records[0].values | {"mean": records[0].values["mean"] * (1 + 1e-12)})
    found = replay([near, *records[1:]], len(records), engine=Inline())
    assert found.differing == ()
    assert 0 < found.largest < 1e-11


@pytest.mark.parametrize(
    ("changes", "far"),
    [
        ({}, False),
        ({"mean": None}, True),
        ({"curve": [1.0]}, True),
        ({"positive": "yes"}, True),
        ({"new": 1}, True),
    ],
)
def test_deviations_see_other_kinds(records, changes, far):
    other = replace(records[0], values=records[0].values | changes)
    assert (deviation_of(records[0], other)[0] > 1e-3) == far
    assert deviation_of(records[0], replace(records[0], status="diverged"))[0] > 1


@pytest.mark.slow
def test_forgeries_are_found_at_the_rate_of_the_hypergeometric_law(monkeypatch, records):
    total, forged, sample, tries = 10_000, 50, 300, 400
    truth = {}
    stored = []
    for seed in range(total):
        true = replace(records[0], seed=seed)
        truth[true.key] = true
        stored.append(forge(true) if seed % (total // forged) == 0 else true)
    # Computing is not at stake here: whoever computes again gets the truth.
    monkeypatch.setattr(
        replay_module, "run_cells", lambda wanted, store, **_: [truth[cell.key] for cell in wanted]
    )
    found = sum(bool(replay(stored, sample, seed=seed).differing) for seed in range(tries))
    expected = 1 - stats.hypergeom(total, forged, sample).pmf(0)
    # A false alarm has probability 1e-6.
    low, high = stats.binom(tries, expected).ppf([5e-7, 1 - 5e-7])
    assert low <= found <= high


def test_small_numbers_beside_large_ones_are_compared_by_their_own_size(records):
    one, forged = (replace(records[0], values={"curve": [1e4, value]}) for value in (1e-4, 1.5e-4))
    assert deviation_of(one, forged)[0] > 0.3


def test_undefined_numbers_are_equal(records):
    one = replace(records[0], values={"curve": [1.0, math.nan]})
    assert deviation_of(one, replace(one, values={"curve": [1.0, math.nan]}))[0] == 0.0
    assert deviation_of(one, replace(one, values={"curve": [1.0, 1.0]}))[0] == math.inf
