"""CPU time of the shortest flipping step along the gradient: exact search of the kinks against bisection.

    python benchmarks/flips.py [--quick] [--json] [--repeats N]

Bisection scans 64 points of the ray for the first sign change and halves its bracket 30 times, evaluating
the net each time; it overlooks a margin that dips below zero and back between two points. The benchmark
refuses to time searches whose lengths disagree where the exact one is not shorter. The ratio says how many
times longer bisection took.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from timing import Step, compare, main

from karat.attacks import first_crossing
from karat.nets import TwoLayer, as_classifier

BENCH = "flips"
SIZES = ((200, 100, 1000), (200, 784, 1000), (500, 784, 100))
POINTS, HALVINGS = 64, 30


def problem(n: int, d: int, m: int) -> tuple[TwoLayer, Tensor, Tensor, float]:
    """A random ReLU net, Gaussian points labelled by it, and a ray long enough for most of them to flip."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(m, d, generator=generator) / math.sqrt(d)
    a = torch.randn(m, generator=generator) / math.sqrt(m)
    net, x = TwoLayer(W, a), torch.randn(n, d, generator=generator)
    f, gradient = net.value_and_input_gradient(x)
    y = torch.where(f > 0, 1.0, -1.0)
    return net, x, y, 4 * float((f.abs() / gradient.norm(dim=1)).median())


def bisection(net: TwoLayer, x: Tensor, y: Tensor, end: float) -> Tensor:
    """Lengths (n,) of the first crossing seen, inf where none is."""
    _, gradient = net.value_and_input_gradient(x)
    direction = -y.unsqueeze(1) * gradient / gradient.norm(dim=1, keepdim=True)

    def margin(t: Tensor) -> Tensor:
        return y * net(x + t.unsqueeze(1) * direction)

    low, high = torch.zeros(len(x)), torch.full((len(x),), math.inf)
    for k in range(1, POINTS + 1):
        t = torch.full((len(x),), end * k / POINTS)
        crossed = (margin(t) <= 0) & high.isinf()
        high = torch.where(crossed, t, high)
        low = torch.where(high.isinf(), t, low)
    found = high.isfinite()
    for _ in range(HALVINGS):
        middle = torch.where(found, (low + high) / 2, 0.0)
        inside = margin(middle) <= 0
        high, low = torch.where(found & inside, middle, high), torch.where(found & ~inside, middle, low)
    return high


def implementations(n: int, d: int, m: int) -> dict[str, Step]:
    net, x, y, end = problem(n, d, m)
    classifier = as_classifier(net)
    exact, halved = first_crossing(classifier, x, y, end), bisection(net, x, y, end)
    longer = exact > halved + 1e-4 * end
    if bool(longer.any()):
        raise SystemExit(f"the exact search is longer than bisection for {int(longer.sum())} of {n} points.")
    return {
        "bisection": lambda: bisection(net, x, y, end),
        "karat, sorted kinks": lambda: first_crossing(classifier, x, y, end),
    }


def measure(
    *,
    sizes: Sequence[tuple[int, int, int]] = SIZES,
    repeats: int = 5,
    seconds: float = 0.2,
    quick: bool = False,
) -> list[dict[str, object]]:
    """One row per size (n, d, m) and implementation."""
    if quick:
        sizes, repeats, seconds = ((20, 30, 40),), 2, 0.01
    rows = []
    for n, d, m in sizes:
        steps = implementations(n, d, m)
        rows += compare(BENCH, f"n={n}, d={d}, m={m}", steps, repeats=repeats, seconds=seconds)
    return rows


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], measure, None))
