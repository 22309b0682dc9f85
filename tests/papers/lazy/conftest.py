"""Runs of lazy's experiments with results made by hand."""

from dataclasses import fields

import pytest

from karat.study.run import Run


def _make(config, kind, seed=0, **values):
    result = kind(**dict.fromkeys((field.name for field in fields(kind)), 0.0) | values)
    return Run(config, result, seed, config_hash=repr(config))


@pytest.fixture(scope="session")
def make_run():
    """(config, result class, seed, values) -> a run whose other values are 0."""
    return _make
