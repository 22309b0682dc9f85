"""Projected adversarial training of deep ReLU nets, and what their start looks like."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from karat.core.cap import Cap
from karat.core.checks import require_integer, require_number, require_settings
from karat.nets import init
from karat.nets.deep import Deep
from karat.papers.convergence.experiments.sets import PseudoHuber, draw_sets
from karat.probes.movement import frobenius_movement, pattern_change
from karat.study.experiment import Experiment, Preset
from karat.training import frobenius_ball
from karat.training.displacements import layer_ball
from karat.training.linearised import LinearisedProblem
from karat.training.surrogate import SurrogateDescent, random, worst


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run.

    Args:
        m, depth: width and number of square hidden layers.
        R: every layer stays within R/sqrt m.
        step: the learning rate is step/(m depth^2).
        steps: of descent.
        tol: target of the theorem.
        attack, n, d, tau, K: as for two-layer nets.
    """

    m: int
    depth: int
    R: float = 4.0
    step: float = 1.0
    steps: int = 300
    tol: float = 0.05
    attack: Literal["worst", "random"] = "worst"
    n: int = 8
    d: int = 6
    tau: float = 0.25
    K: int = 8

    def __post_init__(self) -> None:
        for name in ("m", "depth", "steps", "K"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("d", "n"):
            require_integer(getattr(self, name), name, "Config", minimum=2)
        for name in ("R", "step", "tol"):
            require_number(getattr(self, name), name, "Config", positive=True)
        Cap(self.tau)
        require_settings(self)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train in the per-layer ball and compare with the best linearised robust loss of the same ball.

    Ref: convergence, Thm 4.1
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator)
    start = init.deep_gaussian(config.d, config.m, config.depth, generator=generator)
    radius = config.R / math.sqrt(config.m)
    points = sets.x.reshape(-1, config.d)
    y = sets.y.repeat_interleave(config.K)
    loss = PseudoHuber()
    problem = LinearisedProblem(
        space=layer_ball(start, points, y),
        margin=y * start(points),
        sample=torch.arange(config.n).repeat_interleave(config.K),
        loss=loss,
    )
    reference = problem.solve(radius, steps=800, sharpness=200.0)
    names = tuple(f"W{h}" for h in range(1, config.depth + 1))
    descent = SurrogateDescent(
        lr=config.step / (config.m * config.depth**2),
        trainable=names,
        loss=loss,
        projection=frobenius_ball(start, radius, names),
    )
    pick = worst(loss) if config.attack == "worst" else random(generator)
    net, losses = descent.run(start, sets, pick, steps=config.steps)
    running = torch.tensor(losses).cummin(dim=0).values
    at = [step for step in (30, 100, 300, 1000, 3000) if step < config.steps] + [config.steps]
    return {
        "reference": reference.loss,
        "reference_bound": reference.bound,
        "steps": at,
        "gap": [float(running[step - 1]) - reference.bound for step in at],
        "final_gap": float(running[-1]) - reference.bound,
        "start_loss": losses[0],
        "frobenius": frobenius_movement(net, start) * math.sqrt(config.m),
        "pattern_change": pattern_change(net, start, sets.x[:, 0]),
        **_start_norms(start, points),
        "wide_norm": _start_norms(
            init.deep_gaussian(config.d, _WIDE, config.depth, generator=generator), points[:4]
        )["norm_mean"],
        "equivalence": _equivalence(start, points),
    }


_WIDE = 1024
"""Width of the start whose lengths are compared with the lemma: wide enough for them to concentrate."""


def _start_norms(net: Deep, x: torch.Tensor) -> dict[str, float]:
    """Smallest and largest |x^(h)| over all layers and inputs at the start.

    Ref: convergence, Lem A.2
    """
    lengths = torch.stack([torch.linalg.vector_norm(state, dim=1) for state in net.hidden(x)[1]])
    return {
        "norm_low": float(lengths.min()),
        "norm_high": float(lengths.max()),
        "norm_mean": float(lengths.mean()),
    }


def _equivalence(net: Deep, x: torch.Tensor) -> float:
    """How far the rank-one change of W1 that stands for a shift of the input misses the shifted net's output.

    Ref: convergence, Lem A.4
    """
    first, other = x[:1], x[1:2]
    base, shifted = first @ net.A.T, other @ net.A.T
    change = net.layers[0] @ (shifted - base).T @ base / base.square().sum()
    twin = net.replace(W1=net.layers[0] + change)
    return abs(float(twin(first)) - float(net(other))) / max(1.0, abs(float(net(other))))


BASE = Config(m=128, depth=2)

THM41 = Experiment(
    name="convergence.thm4.1",
    title="Does projected adversarial training of a deep ReLU net reach the best robust loss of its ball?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(BASE, m=16, n=4, d=4, K=4, steps=60),
            grid={"m": (16, 32, 64), "depth": (1, 2)},
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=replace(BASE, steps=600),
            grid={"m": (32, 64, 128), "depth": (1, 2, 3)},
            seeds=3,
            cell_seconds=0.9,
        ),
        "full": Preset(
            config=replace(BASE, n=10, K=12, steps=3000),
            grid={"m": (32, 128, 512, 1024), "depth": (1, 2, 3), "attack": ("worst", "random")},
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
)
