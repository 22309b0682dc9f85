"""What the benchmarks share: rows, interleaved timing on one thread, and the command line."""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

YARDSTICK = "float32 product 1000 x 1000 x 1000"
Step = Callable[[], object]


def row(bench: str, size: str, implementation: str, seconds: float, ratio: float | None) -> dict[str, Any]:
    return {
        "bench": bench,
        "size": size,
        "implementation": implementation,
        "cpu_seconds": seconds,
        "ratio": ratio,
    }


def product() -> Step:
    A, B, C = (torch.randn(1000, 1000) for _ in range(3))
    return lambda: torch.mm(A, B, out=C)


def cpu_seconds(step: Step, calls: int = 1) -> float:
    start = time.process_time()
    for _ in range(calls):
        step()
    return (time.process_time() - start) / calls


def interleaved(steps: Mapping[str, Step], *, repeats: int, seconds: float) -> dict[str, float]:
    """Median CPU seconds per call of each implementation, all of them visited in every repeat."""
    calls, times = {}, {name: [] for name in steps}
    for name, step in steps.items():
        step()  # compiles and fills caches
        calls[name] = max(1, min(20, int(seconds / max(cpu_seconds(step), 1e-6))))
    for _ in range(repeats):
        for name, step in steps.items():
            times[name].append(cpu_seconds(step, calls[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def compare(
    bench: str, size: str, steps: Mapping[str, Step], *, repeats: int, seconds: float
) -> list[dict[str, Any]]:
    """One row per implementation; the ratio is the first one's time over its own, the yardstick has none."""
    times = interleaved({**steps, YARDSTICK: product()}, repeats=repeats, seconds=seconds)
    first = times[next(iter(steps))]
    return [
        row(bench, size, name, value, None if name == YARDSTICK else first / value)
        for name, value in times.items()
    ]


def main(title: str, measure: Callable[..., list[dict[str, Any]]], arguments: Sequence[str] | None) -> int:
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = measure(repeats=options.repeats, quick=options.quick)
    finally:
        torch.set_num_threads(threads)
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    for item in rows:
        ratio = "" if item["ratio"] is None else f"x{item['ratio']:.2f}"
        spent = f"{1000 * item['cpu_seconds']:10.3f} ms"
        note = item.get("note", "")
        print(f"{item['size']:32s} {item['implementation']:44s} {spent} {ratio:>9s}  {note}".rstrip())
    return 0
