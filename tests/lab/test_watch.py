"""A cell that hangs is mentioned; how often depends on what cells of its experiment usually take."""

import pytest
from karat_toys import TOY

from karat.lab.watch import Watch
from karat.study.experiment import cells


@pytest.fixture
def watched():
    """A watch, what it says, and a function that lets time pass."""
    said, now = [], [0.0]

    def wait(seconds):
        for _ in range(round(seconds)):
            now[0] += 1.0
            watch.look()

    watch = Watch(said.append, clock=lambda: now[0])
    return watch, said, wait


def test_a_cell_that_runs_on_is_mentioned_whenever_its_time_has_doubled(watched):
    watch, said, wait = watched
    cell = cells(TOY, "tiny", 1)[0]
    watch.begin(cell)
    wait(59)
    assert said == []
    wait(250)
    name = f"karat_toys:TOY, config {cell.config_hash}, seed 0"
    assert said == [f"{name} has been running for 0:0{minutes}:00." for minutes in (1, 2, 4)]


def test_cells_that_take_what_others_took_are_not_mentioned(watched):
    watch, said, wait = watched
    first, second = cells(TOY, "tiny", 1)[:2]
    watch.begin(first)
    wait(50)
    watch.end(first)
    watch.begin(second)
    wait(499)
    assert said == []
    wait(1)
    assert said[0].endswith("seed 0 has been running for 0:08:20; the longest so far took 0:00:50.")


def test_the_time_of_a_cell_that_did_not_finish_is_no_measure(watched):
    watch, said, wait = watched
    first, second = cells(TOY, "tiny", 1)[:2]
    watch.begin(first)
    wait(59)
    watch.end(first, finished=False)
    watch.begin(second)
    wait(60)
    assert len(said) == 1
