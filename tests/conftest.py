"""What tests of several folders share: records without an experiment."""

import pytest

from karat.study.record import Record


@pytest.fixture
def make_record():
    """Make a record of given values."""

    def make(seed=0, *, status="done", experiment="benign.toy", config=None, error=None, **values):
        return Record(
            experiment=experiment,
            config=config or {"d": 10},
            seed=seed,
            status=status,
            values=values,
            error=error,
            cpu_seconds=0.1,
            version="0",
            environment={},
        )

    return make
