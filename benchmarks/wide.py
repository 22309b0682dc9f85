"""CPU time of one projected adversarial update of a wide hidden layer: m x d numbers against m x m.

    python benchmarks/wide.py [--quick] [--json] [--repeats R]

Eight samples with eight allowed points each in d = 6 dimensions, the strongest of which is taken. In full the
same update is taken by `SurrogateDescent`, with closed-form gradients, and by PyTorch autograd. The reduction
goes on where a matrix of m x m numbers would not fit; its ratio there is to the first of these widths, per
neuron, so that 1 means a cost in proportion to m.
"""

import math
import sys
from collections.abc import Sequence
from typing import Any

import torch
from timing import compare, interleaved, main, row

from karat.core.losses import Logistic
from karat.nets.init import deep_gaussian
from karat.reductions.wide import Problem, draw_start, reduce, step
from karat.training import frobenius_ball
from karat.training.surrogate import Sets, SurrogateDescent, worst

BENCH = "wide"


def draw_sets() -> Sets:
    generator = torch.Generator().manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(8, 8, 6, generator=generator, dtype=torch.float64), dim=2)
    return Sets(x, torch.tensor([1.0, -1.0] * 4, dtype=torch.float64))


def problem(m: int) -> Problem:
    net = deep_gaussian(6, m, 1, generator=torch.Generator().manual_seed(1))
    descent = SurrogateDescent(
        lr=0.2 / m, trainable=("W1",), projection=frobenius_ball(net, 1 / math.sqrt(m), ("W1",))
    )
    return Problem(descent, net, draw_sets(), lambda sets: worst(Logistic()))


def autograd_step(at: Problem) -> torch.Tensor:
    """What one would write in plain PyTorch: losses at all points, gradient at the worst, projection."""
    start, x, y = at.net.layers[0], at.sets.x, at.sets.y
    W = start.clone().requires_grad_(True)
    margin = y[:, None] * (torch.relu(x @ at.net.A.T @ W.T) @ at.net.a)
    loss = torch.nn.functional.softplus(-margin).amax(dim=1).mean()
    (gradient,) = torch.autograd.grad(loss, W)
    moved = -at.descent.lr * gradient
    return start + moved * min(1.0, 1 / math.sqrt(len(start)) / float(moved.norm()))


def measure(*, repeats: int, quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for m in (500,) if quick else (1000, 4000):
        at = problem(m)
        state = reduce(at)
        full = at.descent
        steps = {
            "autograd on m x m": lambda at=at: autograd_step(at),
            "SurrogateDescent on m x m": lambda at=at, full=full: full.run(
                at.net, at.sets, at.pick(at.sets), steps=1
            ),
            "wide reduction": lambda s=state: step(s),
        }
        rows += compare(BENCH, f"m={m} n=8 K=8", steps, repeats=repeats, seconds=0.2)
    widths = (10**4, 10**5) if quick else (10**5, 3 * 10**5, 10**6)
    descent, generator = SurrogateDescent(lr=1e-6), torch.Generator().manual_seed(2)
    states = {
        m: draw_start(
            m,
            draw_sets(),
            descent,
            weight_radius=1 / math.sqrt(m),
            pick=lambda sets: worst(Logistic()),
            generator=generator,
        )
        for m in widths
    }
    timed = interleaved(
        {str(m): lambda s=s: step(s) for m, s in states.items()}, repeats=repeats, seconds=0.2
    )
    per_neuron = {m: timed[str(m)] / m for m in widths}
    rows += [
        row(BENCH, f"m={m:.0e} n=8 K=8", "wide reduction", timed[str(m)], per_neuron[widths[0]] / cost)
        for m, cost in per_neuron.items()
    ]
    return rows


def run(arguments: Sequence[str] | None = None) -> int:
    return main(__doc__ or "", measure, arguments)


if __name__ == "__main__":
    sys.exit(run())
