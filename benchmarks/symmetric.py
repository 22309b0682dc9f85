"""CPU time of an adversarial step from pure features: the symmetric reduction against d dimensions.

    python benchmarks/symmetric.py [--quick] [--json] [--repeats R]

One batch of n = 64 codes with k = 100, the fast gradient method in l2. In d dimensions the same step is taken
by `OddTrainer`, which visits only open gates, and by PyTorch autograd. The reduction goes up to d = 10^12;
its ratio there is to the reduced step at d = 1000 in the same run.
"""

import sys
from collections.abc import Sequence
from typing import Any

import torch
from timing import compare, interleaved, main, row

from karat.attacks import Steepest
from karat.core.ball import Ball
from karat.data.sparse_code import SparseCode
from karat.reductions.symmetric import Problem, SymmetricNet, batch_at, lift, reduce, step
from karat.training import Adversary
from karat.training.odd import OddTrainer, RelativeStep

BENCH = "symmetric"


def problem(d: int) -> Problem:
    trainer = OddTrainer(
        step=RelativeStep(size=0.01), decay=0.05, adversary=Adversary(Steepest(), Ball(2, 0.05))
    )
    start = SymmetricNet(d=d, beta=min(15 / d, 0.01), threshold=0.05)
    return Problem(trainer=trainer, start=start, code=SparseCode(k=100, D=d), batch=64)


def autograd_step(
    net: Any, x: torch.Tensor, y: torch.Tensor, trainer: OddTrainer, tau: float
) -> torch.Tensor:
    """What one would write in plain PyTorch: gradient in x, perturbation, gradient in W."""
    W = net.W.clone().requires_grad_(True)
    points = x.clone().requires_grad_(True)

    def output(at: torch.Tensor) -> torch.Tensor:
        u = at @ W.T
        return (net.activation(u + net.b) - net.activation(net.b - u)).sum(dim=1)

    (gradient,) = torch.autograd.grad((y * output(points)).sum(), points)
    moved = x - tau * gradient / gradient.norm(dim=1, keepdim=True)
    length = W.norm(dim=1)
    loss = torch.nn.functional.softplus(-y * output(moved)).mean()
    loss = loss + trainer.decay / net.d * (length**2 / 2 + length**3 / 3).sum()
    (gradient,) = torch.autograd.grad(loss, W)
    return W.detach() - 0.01 * net.d * gradient


def measure(*, repeats: int, quick: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for d in (300,) if quick else (1000, 3000):
        at = problem(d)
        state = reduce(at)
        net = lift(state, at)
        points = batch_at(at, 0)
        x = torch.zeros(64, d, dtype=torch.float64)
        for i in range(64):  # the places of the codes do not matter
            own = points.values[points.offsets[i] : points.offsets[i + 1]]
            x[i, : len(own)] = torch.from_numpy(own)
        x, y = x * at.model.w_star, torch.from_numpy(points.label)
        steps = {
            "autograd in d dimensions": lambda n=net, a=x, b=y, t=at.trainer: autograd_step(n, a, b, t, 0.05),
            "OddTrainer in d dimensions": lambda n=net, a=x, b=y, t=at.trainer: t.advance(n, a, b, 0),
            "symmetric reduction": lambda s=state: step(s),
        }
        rows += compare(BENCH, f"d={d} n=64", steps, repeats=repeats, seconds=0.2)
    sizes = (10**3, 10**6) if quick else (10**3, 10**6, 10**9, 10**12)
    states = {f"d={d:.0e} n=64": reduce(problem(d)) for d in sizes}
    times = interleaved(
        {name: lambda s=s: step(s) for name, s in states.items()}, repeats=repeats, seconds=0.2
    )
    first = next(iter(times.values()))
    rows += [row(BENCH, name, "symmetric reduction", spent, first / spent) for name, spent in times.items()]
    return rows


def run(arguments: Sequence[str] | None = None) -> int:
    return main(__doc__ or "", measure, arguments)


if __name__ == "__main__":
    sys.exit(run())
