import sys
from pathlib import Path

import pytest

from karat.lab import Store
from karat.study.record import Record

sys.path.insert(0, str(Path(__file__).parent))  # workers inherit the path and find karat_toys there


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def make_record():
    def make(
        experiment="toy",
        seed=0,
        status="done",
        d=1,
        config=None,
        values=None,
        error=None,
        version="0.1.0",
        source="",
        seconds=0.5,
    ):
        return Record(
            experiment=experiment,
            config={"d": d} if config is None else config,
            seed=seed,
            status=status,
            values={"mean": 0.25} if values is None else values,
            error=error,
            cpu_seconds=seconds,
            version=version,
            source=source,
            environment={},
        )

    return make
