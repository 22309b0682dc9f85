"""The options that choose and limit what computes: bad ones are one line and exit code 2, at once."""

import pytest
from karat_toys import TOY

RUN = ("run", TOY.name, "--scale", "tiny")


@pytest.mark.parametrize("address", ["nonsense", "tcp://", "http://h:1", "tls://h:1", "ucx://h:1"])
def test_a_scheduler_needs_an_address(karat, address):
    outcome = karat(*RUN, "--engine", "dask", "--scheduler", address)
    assert outcome.code == 2
    assert outcome.complaint() == f"the address of a Dask scheduler must be tcp://HOST:PORT, got '{address}'."


@pytest.mark.parametrize("limit", ["", "soon", "0", "-5m", "10 weeks", "1e3", "nan"])
def test_a_limit_is_a_time(karat, limit):
    outcome = karat(*RUN, f"--cell-limit={limit}")
    assert outcome.code == 2
    assert outcome.complaint() == f"`--cell-limit` must be a time such as 90s, 10m or 2h, got '{limit}'."


def test_a_limit_needs_processes(karat):
    outcome = karat(*RUN, "--workers", "0", "--cell-limit", "10m")
    assert outcome.code == 2
    assert outcome.complaint() == "`--cell-limit` needs processes it can end; leave out --workers 0."


@pytest.mark.slow
def test_a_cell_beyond_the_limit_fails_and_the_command_says_so(karat):
    settings = ("--set", "d=1", "--set", "pause=600", "--seeds", "1", "--workers", "1")
    outcome = karat(*RUN, *settings, "--cell-limit", "1s", "--json")
    assert outcome.code == 1
    assert outcome.json["records"][0]["error"] == "stopped after 0:00:01, the limit per cell."
    assert "1 of 1 cells failed" in outcome.err.splitlines()[-1]
