"""Soundness of the certificates: random small problems against dense grids, PGD and exact line crossings.

    python benchmarks/soundness.py [--problems 100000] [--searches 4] [--seed 0]

A problem is one net, one sample, one radius. A violation is a lower bound above a margin that some allowed
perturbation attains, by more than the rounding error of evaluating that margin. Expected: none.
"""

import argparse
import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.attacks import PGD, gradient_crossing
from karat.certificates.ascent import optimised_slopes
from karat.certificates.branch_and_bound import branch_and_bound
from karat.certificates.lipschitz import global_constant, lipschitz_bound, secant_bound
from karat.certificates.problem import Problem
from karat.certificates.relaxation import linear_relaxation
from karat.certificates.target import Target, target_of
from karat.core import (
    Ball,
    LeakyRelu,
    Quadratic,
    QuadraticRelu,
    Relu,
    SmoothedRelu,
    SmoothedTruncatedRelu,
    SmoothLeakyRelu,
    Softplus,
    TruncatedRelu,
)
from karat.nets import Linear, OddTwoLayer, TwoLayer

ACTIVATIONS = (
    Relu(),
    LeakyRelu(0.1),
    SmoothLeakyRelu(0.2, 3.0),
    TruncatedRelu(),
    QuadraticRelu(),
    Quadratic(),
    Softplus(),
    SmoothedRelu(0.3),
    SmoothedTruncatedRelu(0.2),
)
KINDS = len(ACTIVATIONS) + 5
PER_NET = 64


@dataclass(frozen=True, eq=False)
class Case:
    """A random net with samples, labels and a ball."""

    net: Any
    x: Tensor
    y: Tensor
    ball: Ball


def draw_net(kind: int, d: int, m: int, *, generator: torch.Generator) -> Any:
    """Net number `kind`: all activations, odd pairs of both bias signs and smoothings, and the linear net."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    if kind < len(ACTIVATIONS):
        return TwoLayer(normal(m, d), normal(m), normal(m), normal(()), ACTIVATIONS[kind], 0.7)
    odd = kind - len(ACTIVATIONS)
    if odd == 4:
        return Linear(normal(d), normal(()))
    bias = normal(()).abs() * (0.5 if odd % 2 else -0.5)
    return OddTwoLayer(normal(m, d), bias, 0.0 if odd < 2 else 0.25)


def draw_case(kind: int, *, generator: torch.Generator, n: int = PER_NET, box: bool = False) -> Case:
    """Samples whose radii run from tiny to larger than the net's features; sizes spread over decades."""
    d, m = (
        1 + int(torch.randint(2, (), generator=generator)),
        1 + int(torch.randint(8, (), generator=generator)),
    )
    net = draw_net(kind, d, m, generator=generator)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    x = x.clamp(-1.0, 1.5) if box else x
    y = torch.sign(net(x))
    y[y == 0] = 1.0
    tau = 10 ** (2.5 * torch.rand(n, generator=generator, dtype=torch.float64) - 2)
    p = (1.0, 2.0, math.inf)[int(torch.randint(3, (), generator=generator))]
    return Case(net, x, y, Ball(p, tau, (-1.0, 1.5) if box else None))


def grid_minimum(problem: Problem, points: int) -> tuple[Tensor, Tensor]:
    """Smallest margin on a grid of the ball, and the rounding error of that margin, per sample."""
    side = torch.linspace(-1, 1, points, dtype=torch.float64)
    d = problem.x.shape[1]
    unit = side.unsqueeze(1) if d == 1 else torch.cartesian_prod(side, side)
    n, count = len(problem), len(unit)
    every = problem.rows(torch.arange(n).repeat_interleave(count))
    delta = every.ball.project(unit.repeat(n, 1) * every.tau.unsqueeze(1), every.x)
    lowest, index = every.value(delta).reshape(n, count).min(dim=1)
    best = delta.reshape(n, count, d)[torch.arange(n), index]
    return lowest, problem.value_error(best)


def attacked(case: Case, target: Target, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Smallest margin that PGD with restarts finds, and its rounding error."""
    method = PGD(steps=15, restarts=2)
    delta = method(target.classifier, target.x, target.y, target.ball, generator=generator)
    return target.classifier.margin(target.x + delta, target.y), target.margin_error(delta)


def bounds(problem: Problem) -> dict[str, Tensor]:
    """Every vectorised lower bound."""
    return {
        "lipschitz": lipschitz_bound(problem, global_constant(problem)),
        "relaxation": linear_relaxation(problem),
        "slopes": optimised_slopes(problem, steps=20)[0],
        "secant": secant_bound(problem, rounds=15),
    }


def check(case: Case, *, searches: int, points: int, generator: torch.Generator) -> Counter[str]:
    """Counts of problems and violations of one net; prints nothing."""
    target = target_of(case.net, case.x, case.y, case.ball)
    problem = target.problem
    assert problem is not None
    lowest, error = grid_minimum(problem, points)
    other, other_error = attacked(case, target, generator)
    error = torch.where(other < lowest, other_error, error)
    lowest = torch.minimum(lowest, other)
    count: Counter[str] = Counter(problems=len(problem))
    for name, bound in bounds(problem).items():
        count[f"violations of {name}"] += int((bound > lowest + error).sum())
        count[f"certified by {name}"] += int((bound > 0).sum())
    for i in range(searches):
        found = branch_and_bound(problem.rows(torch.tensor([i])), seconds=0.3)
        count["searches"] += 1
        count["searches decided"] += found.lower > 0 or found.upper < 0
        count["violations of search"] += found.lower > float(lowest[i] + error[i])
        count["violations of search"] += found.lower > found.upper + 1e-12 * (1 + abs(found.upper))
    count.update(_crossings(case, target))
    return count


def _crossings(case: Case, target: Target) -> Counter[str]:
    """At the radius where the gradient line crosses zero, no bound may be positive."""
    if case.ball.box is not None:
        return Counter()
    reach = gradient_crossing(target.classifier, case.x, case.y, 3.0, p=case.ball.p).length
    hit = (torch.isfinite(reach) & (reach > 0)).nonzero().squeeze(1)
    if len(hit) == 0:
        return Counter()
    radius = reach[hit] * (1 + 1e-9)
    problem = target_of(case.net, case.x[hit], case.y[hit], case.ball.with_tau(radius)).problem
    assert problem is not None
    wrong = sum(int((bound > 0).sum()) for bound in bounds(problem).values())
    return Counter({"crossings": len(hit), "violations at crossings": wrong})


def run(problems: int, *, searches: int, seed: int, points: int = 33, box: bool = False) -> Counter[str]:
    """Check at least so many problems, the kinds of nets in turn."""
    generator = torch.Generator().manual_seed(seed)
    total: Counter[str] = Counter()
    kind = 0
    while total["problems"] < problems:
        case = draw_case(kind % KINDS, generator=generator, box=box)
        total.update(check(case, searches=searches, points=points, generator=generator))
        kind += 1
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument(
        "--searches", type=int, default=4, help="branch-and-bound runs per net of 64 problems"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    half = options.problems // 2
    total = run(half, searches=options.searches, seed=options.seed)
    total.update(run(options.problems - half, searches=options.searches, seed=options.seed + 1, box=True))
    for name in sorted(total):
        print(f"{name:30s} {total[name]}")
    print(f"{'violations in all':30s} {sum(n for name, n in total.items() if name.startswith('violations'))}")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
