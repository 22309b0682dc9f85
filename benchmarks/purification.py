"""CPU time of a training step of the odd net, as a ratio to its own matrix products.

    python benchmarks/purification.py [--quick] [--json]

Products of a clean step: projections (n, d) x (d, m) and gradient (m, n) x (n, d); an adversarial step has
the projections and the input gradient of the attack besides. Everything runs interleaved in one process on
one thread; a row is the median over the repeats, its ratio is to the products of the same size in that run.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch

from karat.attacks import Steepest
from karat.core.ball import Ball
from karat.data import SparseCoding
from karat.nets import OddTwoLayer, init
from karat.training import Adversary, Constant, CubicNorms, Snapshot, Trainer
from karat.training.odd import FreshBatches, OddTrainer, RelativeStep, TwoStageBias

BENCH = "purification"


@dataclass(frozen=True)
class Row:
    bench: str
    size: str
    implementation: str
    cpu_seconds: float
    ratio: float


def trained(d: int, k: int, n: int, steps: int) -> tuple[OddTwoLayer, FreshBatches]:
    """The net after some steps of clean training: what is asleep depends on how far training is."""
    generator = torch.Generator().manual_seed(0)
    model = SparseCoding.draw(d=d, k=k, generator=generator, dictionary="identity", sigma_x=0.1)
    batches = FreshBatches(model, n, generator)
    b = 0.97e-3 * math.sqrt(2 * math.log(d))
    net = init.small_odd(d, 6 * d, 1e-3, b, generator=generator, dtype=torch.float32)
    return clean_trainer(k).run(net, batches, steps=steps)[0], batches


def clean_trainer(k: int) -> OddTrainer:
    scale = 1 / math.sqrt(k)
    bias = TwoStageBias(fast=0.022, turn=0.25 * scale, slow=0.003, stop=0.5 * scale)
    return OddTrainer(step=RelativeStep(size=0.06, share=0.8), decay=0.01, bias=bias)


def implementations(d: int, k: int, n: int, steps: int) -> dict[str, Callable[[], object]]:
    net, batches = trained(d, k, n, steps)
    x, y = batches(0)
    gates = torch.rand(n, net.m)
    clean = clean_trainer(k)
    attack = Adversary(Steepest(zero_below=1e-8), Ball(2, 0.4 / math.sqrt(k)))
    robust = OddTrainer(step=RelativeStep(size=0.06), decay=0.01, adversary=attack)
    plain = Trainer(lr=Constant(0.06 * d), regulariser=CubicNorms(0.01 / d))

    def two() -> object:
        return x @ net.W.T, gates.T @ x

    def four() -> object:
        return x @ net.W.T, gates @ net.W, x @ net.W.T, gates.T @ x

    return {
        "products of a clean step": two,
        "clean step": lambda: clean.advance(net, x, y, 0),
        "clean step, general trainer": lambda: plain.step(Snapshot(0, net), x, y),
        "products of an adversarial step": four,
        "adversarial step": lambda: robust.advance(net, x, y, 0),
    }


def measure(d: int, k: int, n: int, steps: int, repeats: int) -> list[Row]:
    tasks = implementations(d, k, n, steps)
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = time.process_time()
            task()
            found[name].append(time.process_time() - begin)
    medians = {name: statistics.median(values) for name, values in found.items()}
    size = f"d={d} m={6 * d} n={n} after {steps} steps"
    rows = []
    for name, value in medians.items():
        products = "products of an adversarial step" if "adversarial" in name else "products of a clean step"
        rows.append(Row(BENCH, size, name, value, value / medians[products]))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.quick:
        cases = [(60, 12, 512, 20), (60, 12, 512, 100)]
    else:
        cases = [(200, 30, 2048, steps) for steps in (0, 100, 330)]
    rows = [row for d, k, n, steps in cases for row in measure(d, k, n, steps, 7 if options.quick else 15)]
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    for row in rows:
        print(f"{row.size:34s} {row.implementation:34s} {1e3 * row.cpu_seconds:8.2f} ms {row.ratio:6.2f}")


if __name__ == "__main__":
    main()
