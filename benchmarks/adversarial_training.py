"""CPU time of one step of l2 adversarial training, for naive PyTorch and for every exact reduction of it.

    python benchmarks/adversarial_training.py [--quick] [--json] [--plot FOLDER]

All implementations run interleaved in one process on one thread; a row is the median over the repeats, and
its ratio says how many times longer the naive implementation took in the same run.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from karat.attacks.inner_products.attack import Form
from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.data.noisy_mixture import NoisyMixture
from karat.nets.init import pytorch_default
from karat.nets.two_layer import TwoLayer
from karat.reductions.span import ExactEngine, span_of
from karat.training import Adversary, Snapshot, StepDecay, Trainer

BENCH = "adversarial_training"
NAIVE = "naive PyTorch (autograd.grad)"
YARDSTICK = "float32 product 1000 x 1000 x 1000"
Step = Callable[[], object]


@dataclass(frozen=True)
class Row:
    bench: str
    size: str
    implementation: str
    cpu_seconds: float
    ratio: float | None


@dataclass(frozen=True)
class Problem:
    net: TwoLayer
    x: Tensor
    y: Tensor
    trainer: Trainer


def problem(
    d: int, m: int, n: int, *, signal_norm: float = 5.0, ratio: float = 0.1, steps: int = 20
) -> Problem:
    """Benign's experiment: default init, everything trained, PGD with step tau / 5, in float32."""
    generator = torch.Generator().manual_seed(0)
    data = NoisyMixture(d=d, signal_norm=signal_norm, flip_rate=0.1)
    samples = data.sample(n, generator=generator, dtype=torch.float32)
    net = pytorch_default(d, m, generator=generator, dtype=torch.float32)
    attack = PGD(steps=steps, step_ratio=0.2, gradient="normalised", keep="last")
    trainer = Trainer(
        lr=StepDecay(0.1, 0.1, 500),
        trainable=("W", "a", "b", "c"),
        adversary=Adversary(attack, Ball(2, ratio * signal_norm)),
    )
    return Problem(net, samples.x, samples.y, trainer)


def naive(task: Problem) -> Step:
    """What one writes first: autograd for the attack and for the weights."""
    adversary, x, y = task.trainer.adversary, task.x, task.y
    assert adversary is not None
    parameters = [tensor.clone().requires_grad_() for tensor in task.net.parameters().values()]
    W, a, b, c = parameters
    tau, length = float(adversary.ball.tau), float(adversary.ball.tau) / 5
    sign = y.unsqueeze(1)

    def f(points: Tensor) -> Tensor:
        return torch.relu(points @ W.T + b) @ a + c

    def attacked(points: Tensor) -> Tensor:
        return torch.relu(points @ W.detach().T + b.detach()) @ a.detach()

    def step() -> None:
        delta = torch.zeros_like(x)
        for _ in range(adversary.method.steps):
            delta.requires_grad_()
            (gradient,) = torch.autograd.grad(attacked(x + delta).sum(), delta)
            with torch.no_grad():
                size = gradient.norm(dim=1, keepdim=True).clamp_min(1e-30)
                delta = delta - sign * length * gradient / size
                delta = delta * (tau / delta.norm(dim=1, keepdim=True).clamp_min(1e-30)).clamp_max(1)
        loss = torch.nn.functional.softplus(-y * f(x + delta)).mean()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= 0.1 * gradient

    return step


def closed_form(task: Problem) -> Step:
    """The plain trainer: closed-form gradients in the dimension of the data."""
    state = Snapshot(0, task.net, {}, None, None)

    def step() -> None:
        nonlocal state
        state = task.trainer.step(state, task.x, task.y, generator=None)

    return step


def in_span(task: Problem) -> Problem:
    """The same problem in coordinates of the span of weights and data."""
    space = span_of(task.net, task.x)
    return Problem(space.net, space.x, task.y, task.trainer)


def exact(task: Problem, *, form: Form, weights: bool) -> Step:
    """The engine on inner products."""
    return ExactEngine(task.trainer, task.net, task.x, task.y, form=form, weights=weights).advance


def implementations(d: int, m: int, n: int) -> dict[str, Step]:
    task = problem(d, m, n)
    small = in_span(task)
    return {
        NAIVE: naive(task),
        "closed form in d dimensions": closed_form(task),
        "closed form in the span": closed_form(small),
        "inner products, dense": exact(small, form="dense", weights=True),
        "inner products, side changes": exact(small, form="sides", weights=True),
        "inner products, side changes, weights not kept": exact(small, form="sides", weights=False),
    }


def product() -> Step:
    A, B, C = (torch.randn(1000, 1000) for _ in range(3))
    return lambda: torch.mm(A, B, out=C)


def cpu_seconds(step: Step, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        step()
    return (time.process_time() - start) / calls


def calls_for(step: Step, seconds: float) -> int:
    """Calls that fill the given time, after a warm-up that compiles and fills caches."""
    step()
    return max(1, min(20, int(seconds / max(cpu_seconds(step, 1), 1e-6))))


def interleaved(steps: dict[str, Step], *, repeats: int, seconds: float) -> dict[str, float]:
    """Median CPU seconds per call of each implementation, all of them visited in every repeat."""
    calls = {name: calls_for(step, seconds) for name, step in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            times[name].append(cpu_seconds(step, calls[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def measure(
    *,
    sizes: Sequence[int] = (1000, 4000, 18000),
    m: int = 1000,
    n: int = 100,
    repeats: int = 5,
    seconds: float = 0.25,
    quick: bool = False,
) -> list[dict[str, Any]]:
    """One row per size and implementation.

    Args:
        sizes: input dimensions.
        m: neurons.
        n: samples.
        repeats: rounds over all implementations.
        seconds: CPU time of one implementation in one round.
        quick: small sizes and two rounds instead.
    """
    if quick:
        sizes, m, n, repeats, seconds = (300, 1000), 128, 40, 2, 0.02
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows: list[Row] = []
    try:
        for d in sizes:
            steps = {**implementations(d, m, n), YARDSTICK: product()}
            times = interleaved(steps, repeats=repeats, seconds=seconds)
            size = f"d={d}, m={m}, n={n}"
            for name, value in times.items():
                ratio = None if name == YARDSTICK else times[NAIVE] / value
                rows.append(Row(BENCH, size, name, value, ratio))
    finally:
        torch.set_num_threads(threads)
    return [asdict(row) for row in rows]


def growth(*, quick: bool = False) -> dict[str, list[tuple[int, float]]]:
    """CPU seconds per step of the engine (side changes, weights kept) against m and n, at d = 4000."""
    d, m, n = (300, 32, 20) if quick else (4000, 500, 100)
    widths, samples = (
        ((32, 64), (20, 40)) if quick else ((125, 250, 500, 1000, 2000), (25, 50, 100, 200, 400))
    )

    def cost(m: int, n: int) -> float:
        step = exact(in_span(problem(d, m, n)), form="sides", weights=True)
        return interleaved({"step": step}, repeats=3, seconds=0.05)["step"]

    return {
        "m": [(width, cost(width, n)) for width in widths],
        "n": [(count, cost(m, count)) for count in samples],
    }


def plot(rows: list[dict[str, Any]], curves: dict[str, list[tuple[int, float]]], folder: Path) -> Path:
    """Cost of every implementation against d, and of the engine against m and n, as one PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, NullLocator

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained", width_ratios=(2, 1, 1))
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        d = int(str(row["size"]).split(",")[0].removeprefix("d="))
        lines.setdefault(str(row["implementation"]), []).append((d, float(row["cpu_seconds"])))
    panels = {
        "d": lines,
        **{name: {"inner products, side changes": points} for name, points in curves.items()},
    }
    for axis, (name, drawn) in zip(axes, panels.items(), strict=True):
        for label, points in drawn.items():
            style = "k:" if label == YARDSTICK else "o-"
            axis.loglog([x for x, _ in points], [1000 * t for _, t in points], style, label=label)
        ticks = [x for x, _ in next(iter(drawn.values()))]
        axis.set_xticks(ticks, [str(x) for x in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(name)
        axis.set_ylabel("CPU ms per training step")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{BENCH}.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="CPU time of one step of l2 adversarial training.")
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="folder for a figure with the growth in m, n and d")
    options = parser.parse_args(arguments)
    rows = measure(repeats=options.repeats, quick=options.quick)
    if options.plot is not None:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        plot(rows, growth(quick=options.quick), options.plot)
        torch.set_num_threads(threads)
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        ratio = "" if row["ratio"] is None else f"x{row['ratio']:.1f}"
        print(
            f"{row['size']:24s} {row['implementation']:42s} {1000 * row['cpu_seconds']:9.2f} ms  {ratio:>8s}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
