"""The row of `symmetric`: training from pure features on sparse codes, and what breaks the symmetry."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from reduction_row import Row

from karat.attacks import PGD, Steepest
from karat.core.ball import Ball
from karat.data.sparse_code import SparseCode
from karat.nets.odd_two_layer import OddTwoLayer
from karat.reductions import symmetric
from karat.reductions.symmetric import NeuronClass, Problem, SymmetricNet, batch_at
from karat.reductions.symmetric.diagram import obstacle, trainer_obstacle
from karat.training import Adversary, Ramp
from karat.training.odd import GrowingBias, OddTrainer, ProportionalNoise, RelativeStep

# Beside the first class: a weaker winner, and a loser below the threshold that sees against its feature.
TWO = {"more": (NeuronClass(alpha=0.7, beta=-0.01),)}
THREE = {"more": (*TWO["more"], NeuronClass(alpha=-0.15, beta=0.02, copies=2))}
L2, L_INF = Ball(2, 0.15), Ball(math.inf, 0.02)


def problem(d: int = 40, *, rule: dict[str, Any] | None = None, **changes: Any) -> Problem:
    """Codes of a few non-zero entries, and a net that holds every feature a little soiled."""
    start = {"alpha": 1.2, "beta": 0.03, "threshold": 0.2} | changes.pop("start", {})
    trainer = OddTrainer(**({"step": RelativeStep(size=0.1), "decay": 0.05} | (rule or {})))
    code = SparseCode(k=6, D=d, small_rate=0.5)
    return Problem(trainer=trainer, start=SymmetricNet(d=d, **start), code=code, batch=24, **changes)


def against(method: Any, ball: Any, **rule: Any) -> dict[str, Any]:
    return {"adversary": Adversary(method, ball, **rule)}


def project(net: OddTwoLayer, start: Problem) -> OddTwoLayer:
    """The average of a net over all permutations of the features, entry by entry."""
    d = start.start.d
    W = net.W @ start.model.M * start.model.w_star.sign()
    begin = 0
    for kind in start.start.classes:
        eye = torch.eye(d, dtype=torch.bool).repeat(kind.copies, 1)
        rows = W[begin : begin + kind.copies * d]
        W[begin : begin + kind.copies * d] = torch.where(eye, rows[eye].mean(), rows[~eye].mean())
        begin += kind.copies * d
    if start.start.hubs:
        W[begin:] = W[begin:].mean()
    return net.replace(W=W * start.model.w_star.sign() @ start.model.M.T)


def follow(start: Problem, steps: int) -> OddTwoLayer:
    """The plain trainer on the same codes in d dimensions, averaged after every step."""
    net = symmetric.lift(symmetric.reduce(start, despite_obstacle=True), start)
    if start.rows is not None:
        net = net.replace(W=start.rows)
    generator, time = torch.Generator().manual_seed(1), 0.0
    for step in range(steps):
        points = batch_at(start, step)
        places = points.positions(np.random.default_rng([7, step]))
        model = start.model
        z = torch.from_numpy(points.dense(places)) * model.w_star.sign()
        x = z @ model.M.T
        x += start.sigma_x / math.sqrt(model.d) * torch.randn(x.shape, generator=generator, dtype=x.dtype)
        spikes = torch.rand(x.shape, generator=generator, dtype=x.dtype) < model.spike_rate
        x += model.spike_size * spikes
        h = start.trainer.step(-float(net.b))
        net = start.trainer.advance(net, x, model.label(z), step, time=time, generator=generator)
        net, time = project(net, start), time + h
    return net


def with_rows(change: Callable[[torch.Tensor], torch.Tensor]) -> Problem:
    """Two classes, and rows in d dimensions that are not quite theirs."""
    start = problem(start=TWO)
    rows = start.start.lift(start.model.M, start.model.w_star.sign()).W
    return replace(start, rows=change(rows))


def without_a_feature(W: torch.Tensor) -> torch.Tensor:
    W = W.clone()
    W[-1] = 0.0
    return W


def gaussian(W: torch.Tensor) -> torch.Tensor:
    return torch.randn(W.shape, generator=torch.Generator().manual_seed(0), dtype=W.dtype)


def distance(have: OddTwoLayer, want: OddTwoLayer) -> float:
    numbers = [
        (have.W, want.W),
        (have.b, want.b),
        (torch.tensor(have.sigma_rho), torch.tensor(want.sigma_rho)),
    ]
    return max(float((a - b).norm() / b.norm().clamp_min(1e-300)) for a, b in numbers)


SYMMETRIC = Row(
    name="symmetric",
    reduction=symmetric,
    exact={
        "clean training": problem(),
        "the fast gradient method in l2": problem(rule=against(Steepest(), L2)),
        "in l_inf": problem(rule=against(Steepest(zero_below=1e-8), L_INF)),
        "a growing radius": problem(rule=against(Steepest(), L2, radius=Ramp(0.15, 4), first_step=1)),
        "a rotated dictionary": problem(dictionary="unitary", rule=against(Steepest(), L2)),
        "all label weights one": problem(w_star="ones"),
        "copies and hubs": problem(
            start={"copies": 2, "hubs": 3, "gamma": 0.15}, rule=against(Steepest(), L2)
        ),
        "a growing threshold without noise": problem(
            rule={"bias": GrowingBias(speed=0.1, stop=0.25), "noise": ProportionalNoise(ratio=0.0)}
        ),
        "much noise": problem(rule={"noise": ProportionalNoise(ratio=1.0), **against(Steepest(), L2)}),
        "two classes": problem(start=TWO, rule=against(Steepest(), L2)),
        "three classes, hubs and a growing threshold": problem(
            start={**THREE, "hubs": 3, "gamma": 0.15},
            rule={"bias": GrowingBias(speed=0.1, stop=0.25), **against(Steepest(), L2)},
        ),
        "three classes in l_inf": problem(start=THREE, rule=against(Steepest(), L_INF)),
        "three classes in 200 dimensions": problem(200, start=THREE, rule=against(Steepest(), L2)),
        "rows that are those of two classes": with_rows(torch.clone),
        "neurons that see against their feature": problem(start={"alpha": -0.8, "beta": 0.1}),
    },
    broken={
        "a random start": with_rows(gaussian),
        "a class that misses a feature": with_rows(without_a_feature),
        "noise": problem(sigma_x=0.3),
        "spikes": problem(sigma_spike=0.5),
        "label weights": problem(w_star="spread"),
        "incoherent": problem(dictionary="incoherent"),
        "sampled noise": problem(rule={"sampled_noise": True}),
        "descent on the bias": problem(rule={"bias_rate": 1.0}),
        "another attack": problem(rule=against(PGD(steps=3, random_start=True), L2)),
        "l_1 ball": problem(rule=against(Steepest(), Ball(1, 0.3))),
        "box": problem(rule=against(Steepest(), Ball(2, 0.5, box=(-1.0, 1.0)))),
        "l_inf ball in a rotated dictionary": problem(dictionary="unitary", rule=against(Steepest(), L_INF)),
    },
    sentences=(obstacle, trainer_obstacle),
    follow=follow,
    distance=distance,
    in_dimension=lambda d: replace(
        problem(), code=SparseCode(k=6, D=d), start=SymmetricNet(d=d, threshold=0.2)
    ),
)
