"""CPU time of PGD, l2 and l_inf, against plain autograd, Foolbox and ART, at equal robust accuracy.

    python benchmarks/attacks.py [--quick] [--json] [--repeats N]

All implementations take the same 20 steps from zero on the same net and keep the last point; the benchmark
refuses to time them if their robust accuracies differ. Libraries that are not installed are left out. The
ratio says how many times longer plain autograd took.
"""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from timing import compare, main

import karat
from karat.core.ball import Ball
from karat.nets import TwoLayer

BENCH = "attacks"
SIZES = ((1000, 784, 1000), (200, 100, 100), (300, 4000, 100))
STEPS, STEP = 20, 2.5 / 20
SAME = 0.015
Attack = Callable[[], Tensor]
"""Runs the attack and returns the margins of the attacked points."""


@dataclass(frozen=True)
class Problem:
    net: TwoLayer
    x: Tensor
    y: Tensor
    p: float
    tau: float

    @property
    def ball(self) -> Ball:
        return Ball(self.p, self.tau)

    def margins(self, points: Tensor) -> Tensor:
        return self.y * self.net(points)


def problem(n: int, d: int, m: int, p: float) -> Problem:
    """A random net on Gaussian points, each with its own label, and a radius that breaks about half."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(m, d, generator=generator) / math.sqrt(d)
    a = torch.randn(m, generator=generator) / math.sqrt(m)
    net, x = TwoLayer(W, a, torch.zeros(m)), torch.randn(n, d, generator=generator)
    f, gradient = net.value_and_input_gradient(x)
    dual = gradient.norm(dim=1) if p == 2 else gradient.abs().sum(dim=1)
    return Problem(net, x, torch.where(f > 0, 1.0, -1.0), p, float((f.abs() / dual).median()))


def plain(task: Problem) -> Attack:
    """What one writes first."""
    W, a, b, sign = task.net.W, task.net.a, task.net.b, task.y.unsqueeze(1)

    def attack() -> Tensor:
        delta = torch.zeros_like(task.x)
        for _ in range(STEPS):
            delta.requires_grad_()
            f = torch.relu((task.x + delta) @ W.T + b) @ a
            (gradient,) = torch.autograd.grad(f.sum(), delta)
            with torch.no_grad():
                gradient = sign * gradient
                if task.p == 2:
                    size = gradient.norm(dim=1, keepdim=True).clamp_min(1e-30)
                    delta = delta - STEP * task.tau * gradient / size
                    size = delta.norm(dim=1, keepdim=True).clamp_min(1e-30)
                    delta = delta * (task.tau / size).clamp_max(1)
                else:
                    delta = (delta - STEP * task.tau * gradient.sign()).clamp(-task.tau, task.tau)
        return task.margins(task.x + delta)

    return attack


def karat_until_broken(task: Problem) -> Attack:
    """As a user calls it who wants robust accuracy: broken samples are left alone."""
    return lambda: (
        karat.attack(
            task.net, task.x, task.y, task.ball, "pgd", steps=STEPS, keep="last", until_broken=True
        ).margin
    )


def karat_attack(task: Problem) -> Attack:
    """As a user calls it who wants the last point of every sample: by inner products or changes of sign."""
    return lambda: karat.attack(task.net, task.x, task.y, task.ball, "pgd", steps=STEPS, keep="last").margin


class Logits(torch.nn.Module):
    """The net with two logits, as the libraries want it; written with torch's own layers."""

    def __init__(self, net: TwoLayer) -> None:
        super().__init__()
        m, d = net.W.shape
        self.hidden, self.top = torch.nn.Linear(d, m), torch.nn.Linear(m, 2, bias=False)
        with torch.no_grad():
            self.hidden.weight.copy_(net.W)
            self.hidden.bias.copy_(net.b)
            self.top.weight.copy_(torch.stack([-net.a / 2, net.a / 2]))
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.top(torch.relu(self.hidden(x)))


def foolbox(task: Problem) -> Attack | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import foolbox as library
    except ImportError:
        return None
    model = library.PyTorchModel(Logits(task.net).eval(), bounds=(-1000, 1000))
    kind = library.attacks.L2PGD if task.p == 2 else library.attacks.LinfPGD
    attack = kind(rel_stepsize=STEP, steps=STEPS, random_start=False)
    labels = (task.y > 0).long()

    def run() -> Tensor:
        points = attack.run(model, task.x, library.criteria.Misclassification(labels), epsilon=task.tau)
        return task.margins(points)

    return run


def art(task: Problem) -> Attack | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from art.attacks.evasion import ProjectedGradientDescentPyTorch
            from art.estimators.classification import PyTorchClassifier
    except ImportError:
        return None
    n, d = task.x.shape
    estimator = PyTorchClassifier(
        Logits(task.net).eval(), torch.nn.CrossEntropyLoss(), (d,), 2, device_type="cpu"
    )
    attack = ProjectedGradientDescentPyTorch(
        estimator,
        norm=task.p if task.p == 2 else math.inf,
        eps=task.tau,
        eps_step=STEP * task.tau,
        max_iter=STEPS,
        num_random_init=0,
        batch_size=n,
        verbose=False,
    )
    points, labels = task.x.numpy(), (task.y > 0).long().numpy()
    return lambda: task.margins(torch.from_numpy(attack.generate(points, labels)))


def implementations(task: Problem) -> dict[str, Attack]:
    found = {
        "plain autograd": plain(task),
        "karat": karat_attack(task),
        "karat, until broken": karat_until_broken(task),
    }
    others = {"Foolbox": foolbox(task), "ART": art(task)}
    return found | {name: attack for name, attack in others.items() if attack is not None}


def accuracies(attacks: dict[str, Attack]) -> dict[str, float]:
    return {name: float((attack() > 0).double().mean()) for name, attack in attacks.items()}


def measure(
    *,
    sizes: Sequence[tuple[int, int, int]] = SIZES,
    repeats: int = 5,
    seconds: float = 0.2,
    quick: bool = False,
) -> list[dict[str, object]]:
    """One row per size (n, d, m), norm and implementation."""
    if quick:
        sizes, repeats, seconds = ((40, 30, 20),), 2, 0.01
    rows = []
    for n, d, m in sizes:
        for p in (2.0, math.inf):
            attacks = implementations(problem(n, d, m, p))
            found = accuracies(attacks)
            if max(found.values()) - min(found.values()) > SAME:
                raise SystemExit(f"robust accuracies differ at n={n}, d={d}, m={m}, l_{p:g}: {found}")
            size = f"n={n}, d={d}, m={m}, {'l2' if p == 2 else 'l_inf'}"
            rows += compare(BENCH, size, attacks, repeats=repeats, seconds=seconds)
    return rows


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], measure, None))
