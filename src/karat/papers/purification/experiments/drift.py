r"""The drift of :math:`\langle w_i, M w^* \rangle`: its lower bound from one sample, measured on another."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from karat.core.losses import Logistic
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import require_awake
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import tickets
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddTrainer, forward

STOPS = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of clean training at which a step is taken apart."""


@dataclass(frozen=True, kw_only=True)
class DriftResult:
    r"""The drift of :math:`\langle w_i, M w^* \rangle` per unit of h, lists over the stops.

    Args:
        steps: of the stops.
        time: rescaled time of the stops.
        shortfall: by how much the worst neuron's step misses growth minus decay.
        largest_growth: of one neuron, from one half of each pair.
        largest_noise: largest size of the noise term of one neuron.
        total_ratio: sum of all measured drifts over that of all their predicted parts.
        without_noise: the same, the noise term left out of the prediction.
        correlation: of measured and predicted drifts over the neurons.
        noise_share: sum of the noise terms over that of growth and decay.
        lowest: smallest :math:`\langle w_i, M w^* \rangle`.
        total: its sum over all neurons.
        sure_total: its sum over the sure winners of the start.
        sure: how many sure winners the start has.
        reach: largest :math:`\|w_i\| \|M w^*\|` at the end.
        noise_allowed: :math:`k^2 \sigma_x^2 / \sqrt d`, what the claim allows.
        lambda_: weight of the regulariser.
        points: predicted and measured drift of some live neurons at the last stop.
    """

    steps: list[int]
    time: list[float]
    shortfall: list[float]
    largest_growth: list[float]
    largest_noise: list[float]
    total_ratio: list[float]
    without_noise: list[float]
    correlation: list[float]
    noise_share: list[float]
    lowest: list[float]
    total: list[float]
    sure_total: list[float]
    sure: int
    reach: float
    noise_allowed: float
    lambda_: float
    points: list[list[float]]


@dataclass(frozen=True, eq=False)
class Drift:
    r"""The change of :math:`\langle w_i, M w^* \rangle` over one step and its parts per unit of h, (m,) each.

    On one sample :math:`\mathtt{measured} = 2\,\mathtt{growth} - \mathtt{decay} + \mathtt{noise}`.

    Args:
        measured: the change itself.
        growth: what the labels push, from one half of every pair as the claim has it.
        decay: what the regulariser takes.
        noise: what the input noise adds.
    """

    measured: Tensor
    growth: Tensor
    decay: Tensor
    noise: Tensor

    @property
    def predicted(self) -> Tensor:
        """All parts together, with both halves of every pair."""
        return 2 * self.growth - self.decay + self.noise


def run(config: StepConfig, generator: torch.Generator) -> DriftResult:
    """At some stops of clean training: one large step against the bound, neuron by neuron."""
    for_model, for_start, for_clean, for_parts, for_step = split(generator, 5)
    model = config.draw_model(for_model)
    start = config.draw_net(model, for_start)
    nets: list[OddTwoLayer] = []
    stops = sorted({round(config.clean_steps * stop) for stop in STOPS})

    def keep(step: int, net: OddTwoLayer) -> dict[str, Any]:
        nets.append(net)
        return {}

    last, measured = config.train_clean(start, model, for_clean, observe=keep, observe_at=stops)
    predicting, stepping = (
        model.sample(16 * config.batch, generator=draw, dtype=torch.float32) for draw in (for_parts, for_step)
    )
    stepping = config.labelled(stepping, for_step)
    require_awake(last, predicting.x[: config.batch], config.clean_steps)
    drifts = [
        step_drift(config, model, net, step, predicting, stepping)
        for step, net in zip(stops, nets, strict=True)
    ]
    rows = [_compare(drift) for drift in drifts]
    dense = model.dense_direction.float()
    first = start.W @ model.M.float()
    sure = tickets(first, model.w_star, -float(start.b), config.ticket_rule()).sure.any(dim=1)
    return DriftResult(
        steps=stops,
        time=[values["time"] for _, values in measured],
        **{name: [row[name] for row in rows] for name in rows[0]},
        lowest=[float((net.W @ dense).min()) for net in nets],
        total=[float((net.W @ dense).sum()) for net in nets],
        sure_total=[float((net.W[sure] @ dense).sum()) for net in nets],
        sure=int(sure.sum()),
        reach=float(torch.linalg.vector_norm(last.W, dim=1).max() * torch.linalg.vector_norm(dense)),
        noise_allowed=config.k**2 * config.sigma_x**2 / math.sqrt(config.d),
        lambda_=config.scaled_decay / config.d,
        points=_points(drifts[-1], grown_neurons(nets[-1].W, -float(nets[-1].b))),
    )


def step_drift(
    config: OddNetConfig,
    model: SparseCoding,
    net: OddTwoLayer,
    step: int,
    predicting: Samples,
    stepping: Samples,
) -> Drift:
    r"""Take one step of clean training and predict its effect on :math:`\langle w_i, M w^* \rangle`.

    .. math:: \mathtt{growth}_i = d \, E\big[\ell' \, 1[\langle w_i, x \rangle + \rho_i \ge b] \,
        |\langle w^*, z \rangle|\big], \qquad
        \mathtt{decay}_i = \lambda d \, (1 + \|w_i\|) \, \langle w_i, M w^* \rangle

    Args:
        config: of the trainer.
        model: gives the dense direction.
        net: before the step.
        step: its number.
        predicting: sample of the parts.
        stepping: sample of the step itself; another one, so that agreement is no matter of course.

    Reading: by the symmetry x -> -x the pair's gate is twice the claim's one indicator, so the step itself
        adds the growth twice. Per unit of lr all four are smaller by d.

    Ref: purification, Claim E.3
    """
    # The step must be the gradient of the expectation that is predicted, not one draw of its noise.
    trainer: OddTrainer = replace(config.clean_trainer(), sampled_noise=False)
    dense, h = model.dense_direction.float(), trainer.step(-float(net.b))
    after = trainer.advance(net, stepping.x, stepping.y, step)
    f, gates = forward(net, predicting.x)
    z = predicting.z
    assert z is not None
    weight = -Logistic().derivative(predicting.y * f) / len(predicting) * config.d
    score = (z @ model.w_star.float()).abs()
    input_noise = (predicting.x - z @ model.M.float().T) @ dense
    return Drift(
        measured=(after.W - net.W) @ dense / h,
        growth=gates.value.T @ (weight * score) / 2,
        decay=config.scaled_decay * (1 + torch.linalg.vector_norm(net.W, dim=1)) * (net.W @ dense),
        noise=gates.value.T @ (weight * predicting.y * input_noise),
    )


def _compare(drift: Drift) -> dict[str, float]:
    """How far the worst neuron falls short of the bound, and total drifts over those of the identity."""
    measured, growth, decay, noise = (
        part.double().numpy() for part in (drift.measured, drift.growth, drift.decay, drift.noise)
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


def _points(drift: Drift, live: Tensor) -> list[list[float]]:
    """Predicted and measured drift of at most 150 live neurons, for the picture."""
    rows = live.nonzero().squeeze(1)[:150]
    predicted, measured = drift.predicted, drift.measured
    return [[round(float(predicted[i]), 5), round(float(measured[i]), 5)] for i in rows.tolist()]


DRIFT = Experiment(
    name="purification.drift",
    title="Does <w_i, M w*> grow at least as fast as the labels push it?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=StepConfig(d=40, k=6, batch=512, clean_steps=150),
            points=({"d": 24, "k": 4}, {"d": 32, "k": 5}, {"d": 40, "k": 6}),
            seeds=2,
            cell_seconds=0.4,
        ),
        "quick": Preset(
            config=StepConfig(d=200, k=14, batch=1024),
            points=({"d": 50, "k": 7}, {"d": 100, "k": 9}, {"d": 200, "k": 14}),
            seeds=3,
            cell_seconds=2.3,
        ),
        "full": Preset(
            config=StepConfig(d=200, k=14),
            points=(
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 400, "k": 19, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
