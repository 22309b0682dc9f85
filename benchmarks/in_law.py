"""CPU time of one start and the supremum over its ball at four points: in law against plain torch matrices.

    python benchmarks/in_law.py [--quick] [--json] [--repeats R]

Both draw a Gaussian start and take the largest margin of all nets of the ball C0 = 1 at four points against
the start's gradient. Matrices need d m numbers, so that they end at d = 144 inside the theorem's window
m = d^2.4. In law d is free: the ratio of the rows with m = 100,000 is to d = 100 in the same run.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any

import torch
from timing import compare, interleaved, main, row

from karat.reductions.in_law import draw_plane_start, largest_margins

BENCH = "in_law"
TANGENTS = (0.1, 0.2, 0.4, 0.8)


def in_law(d: int, m: int) -> list[float]:
    start = draw_plane_start(d, m, generator=torch.Generator().manual_seed(0))
    return largest_margins(start, 1, TANGENTS, [1 / math.sqrt(m)] * len(TANGENTS))


def with_matrices(d: int, m: int) -> list[float]:
    """What one would write in plain PyTorch."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(m, d, generator=generator)
    a = torch.randint(2, (m,), generator=generator) * 2.0 - 1
    x = torch.zeros(d)
    x[0] = 1.0
    gradient = (a * (W[:, 0] > 0)) @ W
    gradient[0] = 0.0
    walks = torch.outer(torch.tensor(TANGENTS), gradient / gradient.norm())
    points = torch.nn.functional.normalize(x - walks)
    u = W @ points.T
    return [float(value) for value in a @ torch.relu(u + a.unsqueeze(1) / math.sqrt(m)) / math.sqrt(m)]


def measure(*, repeats: int, quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for d in (25, 36) if quick else (36, 64, 100, 144):
        m = math.ceil(d**2.4)
        steps = {
            "matrices": lambda d=d, m=m: with_matrices(d, m),
            "in law": lambda d=d, m=m: in_law(d, m),
        }
        rows += compare(BENCH, f"d={d} m={m}", steps, repeats=repeats, seconds=0.2)
    m = 10_000 if quick else 100_000
    sizes = (10**2, 10**5) if quick else (10**2, 10**5, 10**9)
    times = interleaved(
        {f"d={d:.0e} m={m}": lambda d=d: in_law(d, m) for d in sizes}, repeats=repeats, seconds=0.2
    )
    first = next(iter(times.values()))
    rows += [row(BENCH, name, "in law", spent, first / spent) for name, spent in times.items()]
    if not quick:
        m = math.ceil(784**2.4)
        times = interleaved({f"d=784 m={m}": lambda: in_law(784, m)}, repeats=repeats, seconds=0.2)
        rows += [row(BENCH, name, "in law", spent, None) for name, spent in times.items()]
    return rows


def run(arguments: Sequence[str] | None = None) -> int:
    return main(__doc__ or "", measure, arguments)


if __name__ == "__main__":
    sys.exit(run())
