"""Soundness of the certificates: random small problems against grids, PGD, line crossings and exact oracles.

    python benchmarks/soundness.py [--quick] [--json] [--problems 100000] [--out counts.json]

A problem is one net, one sample, one radius: all activations, odd pairs, linear and deep nets, in one and two
dimensions, p = 1, 2, inf, half of them in a box; some nets have duplicated or dead neurons, weights a
thousand times larger or smaller, or a sample on a kink. A violation is a lower bound above a margin that some
allowed perturbation attains, by more than the rounding error of evaluating that margin. Expected: none.
A quarter of the problems go through `certify` as a user would call it, on models that are not what their
layers say and at degenerate scales (disguises.py); there a crash counts as a violation, too.
Counts so far go to standard error after every chunk; with --out an interrupted run goes on where it was.
"""

import argparse
import json
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))
import disguises
from oracles import attacked, deep_grid_minimum, grid_minimum, linear_minimum, lower_of, milp_minimum

from karat.attacks import gradient_crossing
from karat.certificates.ascent import optimised_lines
from karat.certificates.branch_and_bound import branch_and_bound
from karat.certificates.deep_relaxation import deep_bound
from karat.certificates.lipschitz import global_constant, lipschitz_bound, secant_bound
from karat.certificates.problem import Problem
from karat.certificates.profile import IDENTITY
from karat.certificates.quadratic_relaxation import quadratic_bound
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

BENCH = "soundness"
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
KINDS = len(ACTIVATIONS) + 6
PER_NET = 64
CHUNK = 2000
PROGRAMS = 8
TWISTS = ("plain", "duplicates", "dead neuron", "large weights", "small weights", "kink")


@dataclass(frozen=True, eq=False)
class Case:
    """A random net with samples, labels and a ball."""

    net: Any
    x: Tensor
    y: Tensor
    ball: Ball


def draw_net(kind: int, d: int, m: int, twist: str, *, generator: torch.Generator) -> Any:
    """Net number `kind`: all activations, odd pairs of both bias signs and smoothings, linear and deep."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    odd = kind - len(ACTIVATIONS)
    if odd == 5:
        sizes = (d, m, 1 + m // 2, 1)
        layers: list[nn.Module] = []
        for k in range(3):
            layer = nn.Linear(sizes[k], sizes[k + 1], dtype=torch.float64)
            layer.weight.data, layer.bias.data = normal(sizes[k + 1], sizes[k]), normal(sizes[k + 1])
            layers += [layer, nn.ReLU() if k == 0 else nn.LeakyReLU(0.2)]
        return nn.Sequential(*layers[:-1])
    if odd == 4:
        return Linear(normal(d), normal(()))
    W, a, b = normal(m, d), normal(m), normal(m)
    if twist == "duplicates":
        W, b = W[torch.arange(m) // 2], b[torch.arange(m) // 2]
    elif twist == "dead neuron":
        W[0] = 0
    elif twist in ("large weights", "small weights"):
        W, b = (t * (1e3 if twist == "large weights" else 1e-3) for t in (W, b))
    if kind < len(ACTIVATIONS):
        return TwoLayer(W, a, b, normal(()), ACTIVATIONS[kind], 0.7)
    bias = normal(()).abs() * (0.5 if odd % 2 else -0.5)
    return OddTwoLayer(W, bias, 0.0 if odd < 2 else 0.25)


def draw_case(
    kind: int, *, generator: torch.Generator, n: int = PER_NET, box: bool = False, twist: str = "plain"
) -> Case:
    """Samples whose radii run from tiny to larger than the net's features; sizes spread over decades."""
    d, m, p = (1 + int(torch.randint(size, (), generator=generator)) for size in (2, 8, 3))
    net = draw_net(kind, d, m, twist, generator=generator)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    x = x.clamp(-1.0, 1.5) if box else x
    if twist == "kink" and isinstance(net, TwoLayer):
        net = net.replace(b=-(net.W @ x[0]))
    with torch.no_grad():
        y = torch.sign(net(x).reshape(n))
    y[y == 0] = 1.0
    tau = 10 ** (2.5 * torch.rand(n, generator=generator, dtype=torch.float64) - 2)
    tau[1] = 0.0
    return Case(net, x, y, Ball((1.0, 2.0, math.inf)[p - 1], tau, (-1.0, 1.5) if box else None))


def bounds(problem: Problem) -> dict[str, Tensor]:
    """Every vectorised lower bound."""
    return {
        "lipschitz": lipschitz_bound(problem, global_constant(problem)),
        "relaxation": linear_relaxation(problem),
        "slopes": optimised_lines(problem, steps=20)[0],
        "secant": secant_bound(problem, rounds=15),
        "quadratic": _some(problem),
    }


def _some(problem: Problem) -> Tensor:
    """The quadratic relaxation of the first samples, for it takes them one by one; -inf for the rest."""
    found = torch.full_like(problem.offset, -torch.inf)
    first = torch.arange(min(PROGRAMS, len(problem)))
    found[first] = quadratic_bound(problem.rows(first))[0]
    return found


def check(case: Case, *, searches: int, points: int, generator: torch.Generator) -> Counter[str]:
    """Counts of problems and violations of one net; prints nothing."""
    target = target_of(case.net, case.x, case.y, case.ball)
    problem = target.problem
    if problem is None:
        return _check_deep(target, points, generator)
    lowest, error = lower_of(grid_minimum(problem, points), attacked(target, generator))
    count: Counter[str] = Counter(problems=len(problem))
    count[f"problems l{case.ball.p:g}"] = len(problem)
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
    count.update(_invariances(problem, generator))
    count.update(_exact(problem))
    return count


def _check_deep(target: Target, points: int, generator: torch.Generator) -> Counter[str]:
    lowest, error = lower_of(deep_grid_minimum(target, points), attacked(target, generator))
    found = deep_bound(target.chain, target.x, target.rows, target.owner, target.ball)
    count: Counter[str] = Counter(problems=len(target.x))
    count[f"problems l{target.ball.p:g}"] = len(target.x)
    for name, bound in zip(("intervals", "deep relaxation"), found, strict=True):
        lower = target.per_sample(bound)
        count[f"violations of {name}"] += int((lower > lowest + error).sum())
        count[f"certified by {name}"] += int((lower > 0).sum())
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
    return Counter({"crossings": len(hit), "violations of crossings": wrong})


def _invariances(problem: Problem, generator: torch.Generator) -> Counter[str]:
    """Scaling input and radius, permuting neurons, and in l2 turning the input leave a bound unchanged."""
    if problem.ball.box is not None:
        return Counter()
    order = torch.randperm(len(problem.b), generator=generator)
    wider = problem.ball.with_tau(problem.tau * 4)
    others = [
        replace(problem, W=problem.W / 4, x=problem.x * 4, ball=wider),
        replace(problem, W=problem.W[order], b=problem.b[order], c=problem.c[:, order]),
    ]
    if problem.ball.p == 2:
        d = problem.W.shape[1]
        Q = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64)).Q
        others.append(replace(problem, W=problem.W @ Q, x=problem.x @ Q))
    mine = linear_relaxation(problem)
    # Two evaluations part by what rounding may cost each; a sample on a kink may take either slope there.
    near = (problem.z.abs() < 1e-9 * problem.magnitude).any(dim=1)
    size = problem.offset.abs() + (problem.c.abs() * problem.profile.value(problem.interval[1]).abs()).sum(1)
    size = size + (problem.c.abs() * problem.profile.value(problem.interval[0]).abs()).sum(1)
    wrong = sum(
        int((((linear_relaxation(other) - mine).abs() > 1e-8 * (1e-3 + size)) & ~near).sum())
        for other in others
    )
    return Counter({"invariances": len(others) * len(problem), "violations of invariances": wrong})


def _exact(problem: Problem) -> Counter[str]:
    """Linear nets in closed form; the l_inf values of some ReLU problems by mixed-integer programs."""
    if problem.ball.box is not None:
        return Counter()
    if problem.profile is IDENTITY:
        exact = linear_minimum(problem)
        wrong = (linear_relaxation(problem) - exact).abs() > 1e-10 * (1 + exact.abs())
        return Counter({"linear nets": len(problem), "violations of linear nets": int(wrong.sum())})
    if (
        problem.ball.p != math.inf
        or problem.profile.steepness != (0.0, 1.0)
        or problem.profile.knots != (0.0,)
    ):
        return Counter()
    if not problem.profile.piecewise_linear:
        return Counter()
    count: Counter[str] = Counter()
    for i in range(min(PROGRAMS, len(problem))):
        one = problem.rows(torch.tensor([i]))
        near = 1e-5 * (1 + float(one.magnitude.max()))  # HiGHS works to about 1e-6
        found = branch_and_bound(one, seconds=5, precise=1e-7)
        below, above = milp_minimum(one)
        count["mixed-integer programs"] += 1
        count["violations of mixed-integer programs"] += (
            found.lower > above + near or found.upper < below - near
        )
    return count


def run(
    problems: int, *, searches: int, seed: int, points: int = 33, box: bool = False, first: int = 0
) -> Counter[str]:
    """Check at least so many problems, the kinds of nets in turn from number `first` on."""
    generator = torch.Generator().manual_seed(seed)
    total: Counter[str] = Counter()
    number = first
    while total["problems"] < problems:
        twist = TWISTS[int(torch.randint(2 * len(TWISTS), (), generator=generator)) % len(TWISTS)]
        case = draw_case(number % KINDS, generator=generator, box=box, twist=twist)
        total.update(check(case, searches=searches, points=points, generator=generator))
        number += 1
    return total


def chunk(problems: int, *, searches: int, seed: int, box: bool) -> Counter[str]:
    """Three quarters of the problems of random nets, one quarter of disguised and degenerate models."""
    strange = problems // 4
    # A chunk may be shorter than a round of all kinds, so each begins elsewhere.
    total = run(problems - strange, searches=searches, seed=seed, box=box, first=seed)
    total.update(disguises.run(strange, seed=seed))
    total["problems"] += total["disguised"] + total["degenerate"]
    return total


def violations(total: Counter[str]) -> int:
    """All violations together."""
    return sum(number for name, number in total.items() if name.startswith("violations"))


def rows(total: Counter[str], seconds: float) -> list[dict[str, Any]]:
    """One row for everything and one per bound or oracle, as the command `karat bench` wants them."""
    table = [("all", "", seconds)]
    for name in ("lipschitz", "relaxation", "slopes", "secant", "quadratic", "intervals", "deep relaxation"):
        table.append((name, f", {total[f'certified by {name}']:,} samples certified", None))
    decided = f", {total['searches decided']:,} of {total['searches']:,} decided in 0.3 s"
    table.append(("search", decided, None))
    for name in ("crossings", "invariances", "linear nets", "mixed-integer programs"):
        table.append((name, f", {total[name]:,} compared", None))
    refused = f", {total['disguised']:,} samples, {total['disguised, refused']:,} of them refused"
    table.append(("disguises", refused, None))
    decided = f", {total['degenerate']:,} samples, {total['degenerate, decided']:,} of them decided"
    table.append(("degenerate scales", decided, None))

    def wrong(name: str) -> int:
        if name == "all":
            return violations(total)
        return sum(count for key, count in total.items() if key.startswith(f"violations of {name}"))

    return [
        {
            "bench": BENCH,
            "size": f"{total['problems']:,} problems",
            "implementation": name,
            "cpu_seconds": spent,
            "ratio": None,
            "note": f"{wrong(name)} violations{note}",
        }
        for name, note, spent in table
    ]


def _resumed(path: Path | None) -> tuple[Counter[str], int, float]:
    """What an interrupted run has counted: totals, chunks done, CPU seconds."""
    if path is None or not path.exists():
        return Counter(), 0, 0.0
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Counter(kept["counts"]), int(kept["chunks"]), float(kept["cpu_seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4,000 problems")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--repeats", type=int, default=1, help="so many times the problems, all different")
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--searches", type=int, default=2, help="searches per net of 64 problems")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="keep counts here after every chunk, and go on from them")
    options = parser.parse_args()
    torch.set_num_threads(1)
    wanted = options.repeats * (4000 if options.quick else options.problems)
    total, number, spent = _resumed(options.out)
    while total["problems"] < wanted:
        start = time.process_time()
        size = min(CHUNK, wanted - total["problems"])
        seed = 1_000_000 * options.seed + number
        total.update(chunk(size, searches=options.searches, seed=seed, box=number % 2 == 1))
        number, spent = number + 1, spent + time.process_time() - start
        if options.out is not None:
            kept = {"chunks": number, "cpu_seconds": spent, "counts": dict(total)}
            options.out.write_text(json.dumps(kept, indent=2), encoding="utf-8")
        print(f"{total['problems']} problems, {violations(total)} violations, {spent:.0f} s", file=sys.stderr)
    table = rows(total, spent)
    if options.json:
        print(json.dumps(table, indent=2))
    else:
        for row in table:
            print(f"{row['implementation']:34s} {row['note']}")
    return 1 if violations(total) else 0


if __name__ == "__main__":
    sys.exit(main())
