import json

import pytest

from karat.cli import bench

SCRIPT = '''"""A benchmark that takes no time."""

import json, sys

if __name__ == "__main__":
    assert "--json" in sys.argv
    row = {"bench": "toy", "size": "n=1", "implementation": "plain", "cpu_seconds": 2.0, "ratio": 1.0}
    name = "float32 product 1000 x 1000 x 1000"
    product = row | {"implementation": name, "cpu_seconds": 0.02, "ratio": None}
    print(json.dumps([row, row | {"implementation": "mine", "cpu_seconds": 0.5, "ratio": 4.0}, product]))
'''


@pytest.fixture
def toy_bench(tmp_path, monkeypatch):
    (tmp_path / "toy.py").write_text(SCRIPT)
    (tmp_path / "broken.py").write_text(SCRIPT.replace('assert "--json" in', "raise SystemExit('no luck') #"))
    (tmp_path / "silent.py").write_text(SCRIPT.replace("print(json.dumps(", "str(("))
    names = ("toy", "broken", "silent")
    monkeypatch.setattr(bench, "found_scripts", lambda: {name: tmp_path / f"{name}.py" for name in names})


def test_every_benchmark_of_the_clone_is_listed_with_what_it_measures(karat):
    rows = karat("bench", "--json").json
    assert {"adversarial_training", "attacks", "certificates", "flips", "soundness", "sweeps"} <= {
        row["bench"] for row in rows
    }
    assert {"timing", "oracles"}.isdisjoint(row["bench"] for row in rows)
    assert all(row["title"] for row in rows)


def test_a_benchmark_gives_rows_and_they_reach_the_report(karat, toy_bench, tmp_path):
    rows = karat("bench", "toy", "--json").json
    assert [set(row) for row in rows] == [set(bench.FIELDS)] * 3
    outcome = karat("bench", "toy")
    assert "n=1\tmine\t0.5\t4" in outcome.out
    assert "100.0 Gflop/s" in outcome.out
    assert f"karat {bench.version.__version__}" in outcome.out
    karat("report", "--out", "pages")
    page = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert "matrix product 100.0 Gflop/s" in page
    assert ">mine<" in page


def test_a_benchmark_may_add_a_note_to_every_row(karat, toy_bench, tmp_path):
    noted = SCRIPT.replace('"ratio": 1.0}', '"ratio": None, "note": "0 violations"}')
    (tmp_path / "toy.py").write_text(noted)
    assert karat("bench", "toy", "--json").json[0]["note"] == "0 violations"
    assert "n=1\tplain\t2\t\t0 violations" in karat("bench", "toy").out
    karat("report", "--out", "pages")
    page = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert '<td data-label="Note">0 violations</td>' in page


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing"], 2, "there is no benchmark `nothing`; the benchmarks are toy, broken, silent."),
        (["toy", "--repeats", "0"], 2, "`--repeats` must be a whole number >= 1, got 0."),
        (["broken"], 1, "the benchmark broken failed: no luck"),
        (["silent"], 1, "the benchmark silent gave no rows"),
    ],
)
def test_a_benchmark_that_cannot_run_is_one_line(karat, toy_bench, arguments, code, message):
    outcome = karat("bench", *arguments)
    assert outcome.code == code
    assert outcome.complaint().startswith(message)


@pytest.mark.slow
def test_the_smallest_size_of_the_own_benchmarks_runs(karat):
    rows = karat("bench", "flips", "--quick", "--repeats", "1", "--json").json
    assert [row["implementation"] for row in rows[:2]] == ["bisection", "karat, sorted kinks"]
    assert rows[0]["ratio"] == 1
    json.dumps(rows)


@pytest.mark.slow
def test_certificates_are_compared_with_interval_bounds_in_one_run(karat):
    rows = karat("bench", "certificates", "--quick", "--repeats", "1", "--json").json
    assert rows[0]["implementation"] == "interval bounds"
    assert rows[0]["note"].endswith("gap closed 0.0 %")
    shares = {
        row["implementation"]: float(row["note"].split("gap closed ")[1].removesuffix(" %"))
        for row in rows
        if "note" in row and row["size"] == rows[0]["size"]
    }
    assert shares["linear relaxation (CROWN)"] <= shares["slope ascent, 40 steps"] <= 100
    assert shares["branch and bound, at most 0.5 s"] <= 100.1
