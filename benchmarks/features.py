"""CPU time of learning from patterns in d = 2000 over that in d = 100, reduced to pattern space and naive.

    python benchmarks/features.py [--quick] [--json]

Both dimensions run interleaved in one process on one thread; a row is the median over the repeats, and its
ratio says how many times longer the larger dimension took in the same run.
"""

import argparse
import json
import statistics
import time
from dataclasses import replace

import torch

from karat.papers.features.experiments.methods import run_methods
from karat.papers.features.experiments.settings import LearningConfig

SMALL, LARGE = 100, 2000
LIMIT = 1.3
BASE = LearningConfig(
    d=SMALL, D=100, k=5, n=20_000, pairs=300, steps=300, methods=("network", "rf", "two_step"), n_test=2000
)


def seconds(config: LearningConfig) -> float:
    start = time.process_time()
    run_methods(config, torch.Generator().manual_seed(0))
    return time.process_time() - start


def measure(base: LearningConfig, repeats: int) -> dict[str, float | str]:
    seconds(replace(base, n=2000, steps=10))  # warm caches
    rows = {d: [] for d in (SMALL, LARGE)}
    for _ in range(repeats):
        for d, found in rows.items():
            found.append(seconds(replace(base, d=d)))
    small, large = (statistics.median(rows[d]) for d in (SMALL, LARGE))
    return {"engine": base.engine, "small": small, "large": large, "ratio": large / small}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and repeats, no naive run")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    base = replace(BASE, n=10_000, steps=150) if options.quick else BASE
    rows = [measure(replace(base, engine="reduced"), 3 if options.quick else 5)]
    if not options.quick:
        rows.append(measure(replace(base, engine="input"), 1))
    if options.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(
            f"{row['engine']:8} d = {SMALL}: {row['small']:.2f} s   d = {LARGE}: {row['large']:.2f} s   "
            f"ratio {row['ratio']:.2f}"
        )
    print(f"target: reduced ratio below {LIMIT}")


if __name__ == "__main__":
    main()
