"""The drift identity of <w_i, M w*>: predicted from one sample, measured on the steps of another."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from karat.core.losses import Logistic
from karat.data import Samples, SparseCoding
from karat.experiments.experiment import Experiment, Preset
from karat.experiments.purification.evaluate import require_awake
from karat.experiments.purification.l2 import J
from karat.experiments.purification.regime import Regime, split
from karat.nets import OddTwoLayer
from karat.probes.angles import live_neurons
from karat.training.odd import OddTrainer, forward

STOPS = (0.1, 0.25, 0.5, 0.75, 1.0)


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """At some stops of clean training: one large step against the identity, neuron by neuron."""
    draws = split(generator, 6)
    model = config.draw_model(draws[0])
    start = config.draw_net(model, draws[1])
    nets: list[tuple[int, OddTwoLayer]] = []
    stops = sorted({round(config.clean_steps * share) for share in STOPS})

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        nets.append((step, net))
        return {}

    trainer = config.clean_trainer()
    last, _ = trainer.run(
        start, config.batches(model, draws[2]), steps=config.clean_steps, observe=observe, observe_at=stops
    )
    one, other = (model.sample(16 * config.batch, generator=g, dtype=torch.float32) for g in draws[3:5])
    require_awake(last, one.x[: config.batch], config.clean_steps)
    rows = [_compare(config, model, trainer, net, step, one, other) for step, net in nets]
    dense = model.dense_direction.float()
    return {
        "steps": stops,
        **{name: [row[name] for row in rows] for name in rows[0]},
        "lowest": [float((net.W @ dense).min()) for _, net in nets],
        "total": [float((net.W @ dense).sum()) for _, net in nets],
        "scale": float(torch.linalg.vector_norm(dense)),
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
) -> tuple[Tensor, Tensor, Tensor]:
    """(measured, predicted, noise term) of the change of <w_i, M w*> over one step, per unit of h."""
    dense, h = model.dense_direction.float(), trainer.step(-float(net.b))
    after = trainer.advance(net, other.x, other.y, step)
    measured = (after.W - net.W) @ dense / h
    f, gates = forward(net, one.x)
    assert one.z is not None
    slope = -Logistic().derivative(one.y * f) / len(one) * config.d
    score = (one.z @ model.w_star.float()).abs()
    decay = config.lam * (1 + torch.linalg.vector_norm(net.W, dim=1)) * (net.W @ dense)
    predicted = gates.value.T @ (slope * score) - decay
    noise = gates.value.T @ (slope * one.y * ((one.x - one.z @ model.M.float().T) @ dense))
    return measured, predicted, noise


def _compare(
    config: Regime,
    model: SparseCoding,
    trainer: OddTrainer,
    net: OddTwoLayer,
    step: int,
    one: Samples,
    other: Samples,
) -> dict[str, float]:
    """Total drift of all neurons, measured over predicted with and without the noise term."""
    measured, predicted, noise = (
        v.double().numpy() for v in _pair(config, model, trainer, net, step, one, other)
    )
    # Sampling noise of the prediction would pull a fitted slope down; the ratio of totals has none of it.
    return {
        "total_ratio": float(measured.sum() / (predicted + noise).sum()),
        "without_noise": float(measured.sum() / predicted.sum()),
        "correlation": float(np.corrcoef(measured, predicted + noise)[0, 1]),
        "noise_share": float(noise.sum() / predicted.sum()),
        "positive": float((predicted > 0).mean()),
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
    measured, signal, noise = _pair(config, model, trainer, net, step, one, other)
    predicted = signal + noise
    rows = live_neurons(net.W).nonzero().squeeze(1)[:150]
    return [[round(float(predicted[i]), 5), round(float(measured[i]), 5)] for i in rows.tolist()]


DRIFT = Experiment(
    name="purification.drift",
    title="Does <w_i, M w*> grow as the identity says, with no constant left open?",
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
