"""Bounds per second and gap closed: intervals, plain linear relaxation, slope ascent, secant SDP, auto_LiRPA.

    python benchmarks/certificates.py [--samples N] [--repeats R] [--json]

All methods bound the same samples of the same random nets in one process on one thread. A row is the median
CPU time over the repeats; its gap closed is the share of the distance between interval bounds and the
strongest attack's margin that the method's mean bound closes. auto_LiRPA takes part only if it can be imported.
"""

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from karat.attacks import Strongest
from karat.certificates.ascent import optimised_slopes
from karat.certificates.interval import interval_bounds
from karat.certificates.layers import dense
from karat.certificates.lipschitz import global_constant, lipschitz_bound, secant_bound
from karat.certificates.profile import profile_of
from karat.certificates.relaxation import linear_relaxation
from karat.certificates.target import Target, target_of
from karat.core import Ball, Relu
from karat.nets import TwoLayer, init

SIZES = ((49, 50), (784, 50), (784, 200))
BALLS = ((2.0, 0.5), (math.inf, 0.02))


@dataclass(frozen=True)
class Row:
    size: str
    method: str
    bounds_per_second: float
    mean_bound: float
    gap_closed: float


def interval(net: TwoLayer, target: Target) -> Tensor:
    """Interval bounds of y f."""
    chain = [
        dense(net.W, net.b),
        profile_of(Relu()),
        dense((net.scale * net.a).unsqueeze(0), net.c.reshape(1)),
    ]
    with torch.no_grad():
        low, high = interval_bounds(chain, target.x, target.ball)[-1]
    return torch.where(target.y > 0, low.squeeze(1), -high.squeeze(1))


def auto_lirpa(net: TwoLayer, target: Target) -> dict[str, Callable[[], Tensor]]:
    """CROWN of auto_LiRPA as a method, if it is installed."""
    try:
        from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
    except ImportError:
        return {}
    hidden, out = torch.nn.Linear(net.d, net.m).double(), torch.nn.Linear(net.m, 1).double()
    hidden.weight.data, hidden.bias.data = net.W, net.b
    out.weight.data, out.bias.data = (net.scale * net.a).unsqueeze(0), net.c.reshape(1)
    bounded = BoundedModule(torch.nn.Sequential(hidden, torch.nn.ReLU(), out), target.x)
    region = PerturbationLpNorm(norm=target.ball.p, eps=float(target.ball.radius(target.x)[0]))

    def run() -> Tensor:
        low, high = bounded.compute_bounds(x=(BoundedTensor(target.x, region),), method="CROWN")
        return torch.where(target.y > 0, low.flatten(), -high.flatten()).detach()

    return {"auto_LiRPA CROWN": run}


def measure(d: int, m: int, p: float, tau: float, n: int, repeats: int) -> list[Row]:
    """All methods on one net, interleaved."""
    generator = torch.Generator().manual_seed(d + m)
    net = init.pytorch_default(d, m, generator=generator)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    y = torch.where(net(x) > 0, 1.0, -1.0).double()
    target = target_of(net, x, y, Ball(p, tau))
    problem = target.problem
    assert problem is not None
    delta = Strongest()(target.classifier, target.x, target.y, target.ball, generator=generator)
    attack = float(target.classifier.margin(target.x + delta, target.y).mean())
    constant = global_constant(problem)
    methods: dict[str, Callable[[], Tensor]] = {
        "interval bounds": lambda: interval(net, target),
        "global SDP constant (once per net)": lambda: lipschitz_bound(problem, constant),
        "linear relaxation (CROWN)": lambda: linear_relaxation(problem),
        "slope ascent, 40 steps": lambda: optimised_slopes(problem)[0],
        "secant SDP": lambda: secant_bound(problem),
    } | auto_lirpa(net, target)
    times: dict[str, list[float]] = {name: [] for name in methods}
    means: dict[str, float] = {}
    for _ in range(repeats):
        for name, method in methods.items():
            start = time.process_time()
            means[name] = float(method().mean())
            times[name].append(time.process_time() - start)
    base = means["interval bounds"]
    size = f"d={d} m={m} l{p:g} tau={tau:g}"
    return [
        Row(
            size,
            name,
            n / max(statistics.median(times[name]), 1e-9),
            means[name],
            (means[name] - base) / (attack - base),
        )
        for name in methods
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        row
        for d, m in SIZES
        for p, tau in BALLS
        for row in measure(d, m, p, tau, options.samples, options.repeats)
    ]
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    for row in rows:
        print(
            f"{row.size:26s} {row.method:36s} {row.bounds_per_second:9.0f} per s  mean {row.mean_bound:9.4f}"
            f"  gap closed {100 * row.gap_closed:6.1f} %"
        )


if __name__ == "__main__":
    main()
