"""The drift of <w_i, M w*>: its lower bound from one sample, measured on the steps of another."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from karat.core.losses import Logistic
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.evaluate import require_awake
from karat.papers.purification.experiments.l2 import J
from karat.papers.purification.experiments.regime import Regime, split
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import tickets
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddTrainer, forward

STOPS = (0.1, 0.25, 0.5, 0.75, 1.0)


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """At some stops of clean training: one large step against the bound, neuron by neuron."""
    draws = split(generator, 6)
    model = config.draw_model(draws[0])
    start = config.draw_net(model, draws[1])
    nets: list[tuple[int, OddTwoLayer]] = []
    stops = sorted({round(config.clean_steps * share) for share in STOPS})

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        nets.append((step, net))
        return {}

    trainer = config.clean_trainer()
    last, measured = trainer.run(
        start,
        config.batches(model, draws[2]),
        steps=config.clean_steps,
        generator=draws[2],
        observe=observe,
        observe_at=stops,
    )
    one, other = (model.sample(16 * config.batch, generator=g, dtype=torch.float32) for g in draws[3:5])
    require_awake(last, one.x[: config.batch], config.clean_steps)
    rows = [_compare(config, model, trainer, net, step, one, other) for step, net in nets]
    dense = model.dense_direction.float()
    sure = tickets(start.W @ model.M.float(), model.w_star, -float(start.b), config.rule()).sure.any(dim=1)
    return {
        "steps": stops,
        "time": [row["time"] for _, row in measured],
        **{name: [row[name] for row in rows] for name in rows[0]},
        "lowest": [float((net.W @ dense).min()) for _, net in nets],
        "total": [float((net.W @ dense).sum()) for _, net in nets],
        "sure_total": [float((net.W[sure] @ dense).sum()) for _, net in nets],
        "sure": int(sure.sum()),
        "reach": float(torch.linalg.vector_norm(last.W, dim=1).max() * torch.linalg.vector_norm(dense)),
        "noise_allowed": config.k**2 * config.sigma_x**2 / math.sqrt(config.d),
        "lambda": config.lam / config.d,
        "points": _points(config, model, trainer, nets[-1][1], nets[-1][0], one, other),
    }


def _pair(
    config: Regime,
    model: SparseCoding,
    trainer: OddTrainer,
    net: OddTwoLayer,
    step: int,
    one: Samples,
    other: Samples,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(measured, growth, decay, noise term) of the change of <w_i, M w*> over one step, per unit of h.

    Reading: growth is that of one half of every pair, as the claim has it; by the symmetry x -> -x the step
        itself adds it twice. Per unit of lr all four are smaller by d.
    """
    dense, h = model.dense_direction.float(), trainer.step(-float(net.b))
    after = replace(trainer, sampled_noise=False).advance(net, other.x, other.y, step)
    measured = (after.W - net.W) @ dense / h
    f, gates = forward(net, one.x)
    assert one.z is not None
    slope = -Logistic().derivative(one.y * f) / len(one) * config.d
    score = (one.z @ model.w_star.float()).abs()
    decay = config.lam * (1 + torch.linalg.vector_norm(net.W, dim=1)) * (net.W @ dense)
    growth = gates.value.T @ (slope * score) / 2
    noise = gates.value.T @ (slope * one.y * ((one.x - one.z @ model.M.float().T) @ dense))
    return measured, growth, decay, noise


def _compare(
    config: Regime,
    model: SparseCoding,
    trainer: OddTrainer,
    net: OddTwoLayer,
    step: int,
    one: Samples,
    other: Samples,
) -> dict[str, float]:
    """How far the worst neuron falls short of the bound, and total drifts over those of the identity."""
    measured, growth, decay, noise = (
        v.double().numpy() for v in _pair(config, model, trainer, net, step, one, other)
    )
    predicted = 2 * growth - decay
    # Sampling noise of the prediction would pull a fitted slope down; the ratio of totals has none of it.
    return {
        "shortfall": float((growth - decay - measured).max()),
        "largest_growth": float(growth.max()),
        "largest_noise": float(np.abs(noise).max()),
        "total_ratio": float(measured.sum() / (predicted + noise).sum()),
        "without_noise": float(measured.sum() / predicted.sum()),
        "correlation": float(np.corrcoef(measured, predicted + noise)[0, 1]),
        "noise_share": float(noise.sum() / predicted.sum()),
    }


def _points(
    config: Regime,
    model: SparseCoding,
    trainer: OddTrainer,
    net: OddTwoLayer,
    step: int,
    one: Samples,
    other: Samples,
) -> list[list[float]]:
    """Predicted and measured drift of some live neurons at the last stop, for the picture."""
    measured, growth, decay, noise = _pair(config, model, trainer, net, step, one, other)
    predicted = 2 * growth - decay + noise
    rows = grown_neurons(net.W).nonzero().squeeze(1)[:150]
    return [[round(float(predicted[i]), 5), round(float(measured[i]), 5)] for i in rows.tolist()]


DRIFT = Experiment(
    name="purification.drift",
    title="Does <w_i, M w*> grow at least as fast as the labels push it?",
    paper="purification",
    presets={
        "tiny": Preset(config=replace(J, d=40, k=10, batch=512, clean_steps=150), seeds=2, cell_seconds=0.6),
        "quick": Preset(config=replace(J, d=100, k=20, batch=1024), seeds=3, cell_seconds=5),
        "full": Preset(
            config=J,
            points=(
                {"d": 100, "k": 20, "batch": 1024},
                {"d": 200, "k": 30},
                {"d": 400, "k": 44, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
