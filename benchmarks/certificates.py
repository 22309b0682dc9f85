"""Bounds per second and gap closed: intervals, lines, parabolas, secants, search, and auto_LiRPA's CROWN.

    python benchmarks/certificates.py [--quick] [--json] [--repeats N]

All methods bound the same samples of the same nets in one process on one thread. CPU seconds are the median
over the repeats for all samples; the ratio is the time of interval bounds over the method's own. The gap
closed is the share of the distance between interval bounds and the strongest attack that the method's mean
bound closes: 100 % would be an attack's own margin. auto_LiRPA takes part only if it can be imported.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from certified_cells import purification_net
from timing import YARDSTICK, interleaved, main, product, row

from karat.attacks import Strongest
from karat.certificates.ascent import optimised_lines
from karat.certificates.branch_and_bound import branch_and_bound
from karat.certificates.interval import interval_bounds
from karat.certificates.layers import dense
from karat.certificates.lipschitz import global_constant, lipschitz_bound, secant_bound
from karat.certificates.profile import profile_of
from karat.certificates.quadratic_relaxation import quadratic_bound
from karat.certificates.relaxation import linear_relaxation
from karat.certificates.target import Target, target_of
from karat.core import Ball, Relu
from karat.nets import TwoLayer, init

BENCH = "certificates"
SECONDS = 0.5  # of search per sample
Method = Callable[[], Tensor]


@dataclass(frozen=True, eq=False)
class Task:
    """A ReLU net with samples and a ball."""

    name: str
    net: TwoLayer
    target: Target


def random_task(d: int, m: int, n: int, p: float, tau: float) -> Task:
    """A net as PyTorch starts it, its own labels."""
    generator = torch.Generator().manual_seed(d + m)
    net = init.pytorch_default(d, m, generator=generator)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return _task(f"random d={d} m={m}", net, x, torch.where(net(x) > 0, 1.0, -1.0), Ball(p, tau))


def purification_task(d: int, k: int, n: int, p: float, tau: float) -> Task:
    """A dictionary with a dense mixture, its odd pairs written as ReLUs."""
    generator = torch.Generator().manual_seed(d)
    odd, x, y = purification_net(d, k, "mix 0.5", n, identity=p == math.inf, generator=generator)
    a = torch.cat([torch.ones(odd.m), -torch.ones(odd.m)]).double()
    net = TwoLayer(torch.cat([odd.W, -odd.W]), a, odd.b.expand(2 * odd.m))
    return _task(f"purification d={d} m={2 * odd.m}", net, x, y, Ball(p, tau))


def _task(name: str, net: TwoLayer, x: Tensor, y: Tensor, ball: Ball) -> Task:
    norm = "l2" if ball.p == 2 else "l_inf"
    return Task(f"{name} n={len(x)} {norm} tau={ball.tau:.3g}", net, target_of(net, x, y.double(), ball))


def intervals(task: Task) -> Method:
    net, target = task.net, task.target
    offset = torch.zeros(1).double() if net.c is None else net.c.reshape(1)
    chain = [dense(net.W, net.b), profile_of(Relu()), dense((net.scale * net.a).unsqueeze(0), offset)]

    def run() -> Tensor:
        with torch.no_grad():
            low, high = interval_bounds(chain, target.x, target.ball)[-1]
        return torch.where(target.y > 0, low.squeeze(1), -high.squeeze(1))

    return run


def auto_lirpa(task: Task) -> dict[str, Method]:
    """CROWN of auto_LiRPA, if it is installed."""
    try:
        from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
    except ImportError:
        return {}
    net, target = task.net, task.target
    hidden = torch.nn.Linear(net.d, net.m, dtype=torch.float64)
    out = torch.nn.Linear(net.m, 1, bias=net.c is not None, dtype=torch.float64)
    hidden.weight.data, hidden.bias.data = net.W, net.b
    out.weight.data = (net.scale * net.a).unsqueeze(0)
    if net.c is not None:
        out.bias.data = net.c.reshape(1)
    bounded = BoundedModule(torch.nn.Sequential(hidden, torch.nn.ReLU(), out), target.x)
    region = PerturbationLpNorm(norm=target.ball.p, eps=float(target.ball.radius(target.x)[0]))

    def run() -> Tensor:
        low, high = bounded.compute_bounds(x=(BoundedTensor(target.x, region),), method="CROWN")
        return torch.where(target.y > 0, low.flatten(), -high.flatten()).detach()

    return {"auto_LiRPA CROWN": run}


def methods(task: Task) -> dict[str, Method]:
    problem = task.target.problem
    assert problem is not None
    constant = global_constant(problem)

    def search() -> Tensor:
        every = (problem.rows(torch.tensor([i])) for i in range(len(problem)))
        return torch.tensor([branch_and_bound(one, seconds=SECONDS, precise=1e-3).lower for one in every])

    return {
        "interval bounds": intervals(task),
        "global SDP constant, once per net": lambda: lipschitz_bound(problem, constant),
        "linear relaxation (CROWN)": lambda: linear_relaxation(problem),
        **auto_lirpa(task),
        "slope ascent, 40 steps": lambda: optimised_lines(problem)[0],
        **({"quadratic relaxation": lambda: quadratic_bound(problem)[0]} if problem.ball.p == 2 else {}),
        "secant SDP": lambda: secant_bound(problem),
        f"branch and bound, at most {SECONDS:g} s": search,
    }


def measure(*, repeats: int = 5, quick: bool = False) -> list[dict[str, Any]]:
    """One row per net, norm and method."""
    n = 4 if quick else 20
    tasks = [random_task(49, 50, n, 2.0, 0.5), random_task(49, 50, n, math.inf, 0.1)]
    if not quick:
        tasks += [random_task(784, 200, n, 2.0, 1.0), random_task(784, 200, n, math.inf, 0.05)]
        tasks += [purification_task(100, 9, n, 2.0, 1 / 6), purification_task(100, 9, n, math.inf, 1 / 60)]
    rows = []
    for task in tasks:
        every, target = methods(task), task.target
        generator = torch.Generator().manual_seed(0)
        delta = Strongest()(target.classifier, target.x, target.y, target.ball, generator=generator)
        attack = float(target.classifier.margin(target.x + delta, target.y).mean())
        means = {name: float(method().mean()) for name, method in every.items()}
        timed = {**every, YARDSTICK: product()}
        times = interleaved(timed, repeats=1 if quick else repeats, seconds=0.01 if quick else 0.1)
        first = next(iter(every))
        for name, spent in times.items():
            if name == YARDSTICK:
                rows.append(row(BENCH, task.name, name, spent, None))
                continue
            closed = (means[name] - means[first]) / (attack - means[first])
            note = f"{n / spent:,.0f} bounds/s, gap closed {100 * closed:.1f} %"
            rows.append(row(BENCH, task.name, name, spent, times[first] / spent) | {"note": note})
    return rows


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], measure, None))
