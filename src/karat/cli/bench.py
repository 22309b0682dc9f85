"""The command bench: ratios against other implementations, measured in one run on this machine."""

import ast
import json as strict_json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Annotated, Any

import typer

from karat import version
from karat.cli.errors import BAD_INPUT, Failure
from karat.cli.options import Json, StorePath
from karat.cli.output import print_json, print_pairs, print_table
from karat.cli.session import open_store
from karat.core.texts import number

FIELDS = ("bench", "size", "implementation", "cpu_seconds", "ratio")
YARDSTICK = "float32 product 1000 x 1000 x 1000"
LIBRARIES = ("torch", "numpy", "numba", "foolbox", "adversarial-robustness-toolbox", "dask")
_POOLS = ("OMP", "MKL", "OPENBLAS", "NUMBA")


def bench(
    name: Annotated[str | None, typer.Argument(help="Which one; without a name they are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see that it runs.")] = False,
    repeats: Annotated[int | None, typer.Option(help="Rounds over all implementations.")] = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Run a benchmark of this clone; its rows also go into the store, for the report.\f

    Args:
        name: of the benchmark; all are listed without one.
        quick: small sizes.
        repeats: rounds over all implementations.
        store: the store's file.
        json: print strict JSON.
    """
    scripts = found_scripts()
    if name is None:
        _list(scripts, json)
        return
    if name not in scripts:
        listed = ", ".join(scripts) or "not there: benchmarks come with a clone of karat"
        raise Failure(f"there is no benchmark `{name}`; the benchmarks are {listed}.", BAD_INPUT)
    if repeats is not None and repeats < 1:
        raise Failure(f"`--repeats` must be a whole number >= 1, got {repeats}.", BAD_INPUT)
    rows = measure(scripts[name], quick, repeats)
    known, rate = versions(), _gemm(rows)
    with open_store(store) as opened:
        opened.put_benchmark(name, {"rows": rows, "versions": known, "gemm_gflops": rate, "quick": quick})
    if json:
        print_json(rows)
        return
    _print(rows)
    listed = ", ".join(f"{library} {release}" for library, release in known.items())
    gemm = f"{rate:.1f} Gflop/s" if rate else ""
    print_pairs([("gemm", gemm), ("versions", listed), ("records", str(opened.path))])


def found_scripts() -> dict[str, Path]:
    """Return the scripts of this clone, or those that came with the package, by name."""
    home = Path(version.__file__).parent
    for folder in (home / "_benchmarks", home.parents[1] / "benchmarks"):
        files = sorted(folder.glob("*.py"))
        scripts = {file.stem: file for file in files if _is_benchmark(file.read_text(encoding="utf-8"))}
        if scripts:
            return scripts
    return {}


def _is_benchmark(text: str) -> bool:
    """A script that can be run and gives rows; the folder also holds what scripts share."""
    return "--json" in text and '__name__ == "__main__"' in text


def measure(script: Path, quick: bool, repeats: int | None) -> list[dict[str, Any]]:
    """Run a script in a process of its own, on one thread, and return its rows.

    Args:
        script: of the benchmark.
        quick: small sizes.
        repeats: rounds, None for its own number.
    """
    command = [sys.executable, str(script), "--json", *(["--quick"] if quick else [])]
    command += [] if repeats is None else ["--repeats", str(repeats)]
    threads = {f"{pool}_NUM_THREADS": "1" for pool in _POOLS}
    done = subprocess.run(command, env=os.environ | threads, capture_output=True)
    words = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    if done.returncode != 0:
        raise Failure(f"the benchmark {script.stem} failed: {words[-1] if words else done.returncode}")
    try:
        rows = strict_json.loads(done.stdout)
        return [{field: row[field] for field in FIELDS} | _note(row) for row in rows]
    except (ValueError, KeyError, TypeError):
        raise Failure(f"the benchmark {script.stem} gave no rows {', '.join(FIELDS)}.") from None


def _note(row: dict[str, Any]) -> dict[str, str]:
    """What a row says besides its time: a count, a share; few benchmarks have that."""
    return {"note": str(row["note"])} if row.get("note") else {}


def _print(rows: list[dict[str, Any]]) -> None:
    noted = any("note" in row for row in rows)
    print_table(
        ["size", "implementation", "cpu s", "ratio", *(["note"] if noted else [])],
        [
            [row["size"], row["implementation"], number(row["cpu_seconds"]), number(row["ratio"])]
            + ([row.get("note", "")] if noted else [])
            for row in rows
        ],
    )


def versions() -> dict[str, str]:
    """Return the versions of karat and of the libraries it is compared with, those that are installed."""
    versions = {"karat": version.__version__, "python": sys.version.split()[0]}
    for library in LIBRARIES:
        try:
            versions[library] = installed(library)
        except PackageNotFoundError:
            continue
    return versions


def _gemm(rows: list[dict[str, Any]]) -> float | None:
    """Rate of the matrix product every benchmark times along: what this machine can do at most."""
    seconds = [row["cpu_seconds"] for row in rows if row["implementation"] == YARDSTICK]
    return 2.0 / min(seconds) if seconds and min(seconds) > 0 else None


def _list(scripts: dict[str, Path], json: bool) -> None:
    titles = {
        name: (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]
        for name, file in scripts.items()
    }
    if json:
        print_json([{"bench": name, "title": title} for name, title in titles.items()])
    else:
        print_table(["benchmark", "what"], [[name, title] for name, title in titles.items()])
