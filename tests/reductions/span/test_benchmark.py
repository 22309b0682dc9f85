"""The benchmark of adversarial training runs and its rows are complete; speed itself is not tested."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks" / "adversarial_training.py"
    spec = importlib.util.spec_from_file_location("benchmark_adversarial_training", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_every_implementation_gets_a_row_per_size(benchmark: ModuleType) -> None:
    rows = benchmark.measure(sizes=(30, 60), m=16, n=8, repeats=1, seconds=0.001)
    names = [row["implementation"] for row in rows]
    assert len(rows) == 14
    assert names[:7] == names[7:]
    assert all(set(row) == {"bench", "size", "implementation", "cpu_seconds", "ratio"} for row in rows)
    assert all(row["cpu_seconds"] >= 0 for row in rows)
    assert rows[0]["ratio"] == 1
    json.dumps(rows)


@pytest.mark.slow
def test_the_exact_implementations_train_the_same_net(benchmark: ModuleType) -> None:
    steps = [step for name, step in benchmark.implementations(60, 16, 8).items() if "products" in name]
    dense, sides, lean = ([step() for _ in range(5)] for step in steps)
    assert sides == pytest.approx(dense, rel=1e-4)
    assert lean == pytest.approx(dense, rel=1e-4)
