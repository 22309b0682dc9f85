import io

import pytest
from rich.console import Console

from karat.lab import RichProgress, Silent


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def sweep(progress, clock, record, cells, seconds, done=0):
    progress.start(cells + done, done)
    for _ in range(cells):
        clock.now += seconds
        progress.advance(record)
    progress.stop()


def test_without_a_terminal_a_line_comes_now_and_then(clock, make_record):
    stream = io.StringIO()
    progress = RichProgress(Console(file=stream), every=10.0, clock=clock)
    sweep(progress, clock, make_record(), cells=1000, seconds=0.05, done=200)
    said = stream.getvalue().splitlines()
    assert said[0] == "karat: 1200 cells, 200 of them stored already."
    assert said[1] == "karat: toy: 400/1200, 20.0 cells/s, 0:00:40 left."
    assert said[-1] == "karat: 1200/1200 cells in 0:00:50."
    assert len(said) <= 7


def test_failures_are_counted(clock, make_record):
    stream = io.StringIO()
    progress = RichProgress(Console(file=stream), clock=clock)
    sweep(progress, clock, make_record(status="failed"), cells=3, seconds=1.0)
    assert stream.getvalue().splitlines()[-1] == "karat: 3/3 cells in 0:00:03, 3 failed."


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_to_do_is_nothing_to_say(clock, terminal):
    stream = io.StringIO()
    progress = RichProgress(Console(file=stream, force_terminal=terminal), clock=clock)
    progress.start(12, 12)
    progress.stop()
    assert stream.getvalue() == ""


def test_on_a_terminal_the_bar_names_the_experiment_and_the_speed(clock, make_record):
    stream = io.StringIO()
    progress = RichProgress(Console(file=stream, force_terminal=True, width=100), clock=clock)
    sweep(progress, clock, make_record(), cells=4, seconds=30.0)
    text = stream.getvalue()
    assert "toy" in text
    assert "4/4" in text
    assert "2.0 cells/min" in text


def test_silence_is_silent(capsys, clock, make_record):
    sweep(Silent(), clock, make_record(), cells=3, seconds=1.0)
    assert capsys.readouterr() == ("", "")
