r"""The drift of :math:`\langle w_i, M w^* \rangle`: a step of clean training against its lower bound."""

from dataclasses import dataclass, replace
from typing import Any

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

STOPS = (0.25, 0.5, 1.0)
"""Shares of clean training at which a step is taken apart."""


@dataclass(frozen=True, kw_only=True)
class DriftResult:
    r"""The drift of :math:`\langle w_i, M w^* \rangle` per unit of h, lists over the stops.

    Args:
        steps: of the stops.
        time: rescaled time of the stops.
        shortfall: by how much the worst neuron's step misses growth minus decay, both on the step's points.
        largest_growth: of one neuron, from one half of each pair.
        lowest: smallest :math:`\langle w_i, M w^* \rangle`.
        below_start: largest :math:`\min(0, \langle w_i^{(0)}, M w^* \rangle) - \langle w_i, M w^* \rangle`.
        negative: share of neurons with :math:`\langle w_i, M w^* \rangle < 0`.
        total: sum of :math:`\langle w_i, M w^* \rangle` over all neurons.
        sure_total: its sum over the sure winners of the start, over all neurons of a pure one.
        sure: how many these are.
        start_total: the sum over them before training.
        points: lower bound and measured drift of some live neurons at the last stop.
    """

    steps: list[int]
    time: list[float]
    shortfall: list[float]
    largest_growth: list[float]
    lowest: list[float]
    below_start: list[float]
    negative: list[float]
    total: list[float]
    sure_total: list[float]
    sure: int
    start_total: float
    points: list[list[float]]


@dataclass(frozen=True, eq=False)
class Drift:
    r"""The change of :math:`\langle w_i, M w^* \rangle` over one step and its parts per unit of h, (m,) each.

    Where the step sees the true labels :math:`\mathtt{measured} = \mathtt{growth} + \mathtt{mirrored} -
    \mathtt{decay} + \mathtt{noise}`.

    Args:
        measured: the change itself.
        growth: what the labels push through the half :math:`1[\langle w_i, x \rangle + \rho_i \ge b]`.
        mirrored: what they push through the other half of the pair.
        decay: what the regulariser takes.
        noise: what the input noise adds.
    """

    measured: Tensor
    growth: Tensor
    mirrored: Tensor
    decay: Tensor
    noise: Tensor

    @property
    def bound(self) -> Tensor:
        """What the claim says the step reaches at least, its noise term left out."""
        return self.growth - self.decay


def run(config: StepConfig, generator: torch.Generator) -> DriftResult:
    """At some stops of clean training: one step against the bound, neuron by neuron."""
    for_model, for_start, for_clean, for_step, for_labels = split(generator, 5)
    model = config.draw_model(for_model)
    start = config.draw_net(model, for_start)
    nets: list[OddTwoLayer] = []
    stops = sorted({round(config.clean_steps * stop) for stop in STOPS})

    def keep(step: int, net: OddTwoLayer) -> dict[str, Any]:
        nets.append(net)
        return {}

    last, measured = config.train_clean(start, model, for_clean, observe=keep, observe_at=stops)
    points = model.sample(2 * config.batch, generator=for_step)
    require_awake(last, points.x[: config.batch].float(), config.clean_steps)
    seen = config.labelled(points, for_labels)
    drifts = [
        step_drift(config, model, net, step, points, seen) for step, net in zip(stops, nets, strict=True)
    ]
    dense = model.dense_direction.float()
    first, later = start.W @ dense, [net.W @ dense for net in nets]
    sure = _winners(config, model, start)
    return DriftResult(
        steps=stops,
        time=[values["time"] for _, values in measured],
        shortfall=[float((drift.bound - drift.measured).max()) for drift in drifts],
        largest_growth=[float(drift.growth.max()) for drift in drifts],
        lowest=[float(values.min()) for values in later],
        below_start=[float((first.clamp_max(0) - values).max()) for values in later],
        negative=[float((values < 0).float().mean()) for values in later],
        total=[float(values.sum()) for values in later],
        sure_total=[float(values[sure].sum()) for values in later],
        sure=int(sure.sum()),
        start_total=float(first[sure].sum()),
        points=_points(drifts[-1], grown_neurons(nets[-1].W, -float(nets[-1].b))),
    )


def _winners(config: OddNetConfig, model: SparseCoding, start: OddTwoLayer) -> Tensor:
    """Neurons that are sure winners at the start; a pure neuron is the one of its feature."""
    if config.start == "pure":
        return torch.ones(len(start.W), dtype=torch.bool)
    first = start.W @ model.M.float()
    return tickets(first, model.w_star, -float(start.b), config.ticket_rule()).sure.any(dim=1)


def step_drift(
    config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, step: int, points: Samples, seen: Samples
) -> Drift:
    r"""Take one step of clean training apart, in double precision.

    .. math:: \mathtt{growth}_i = d \, E\big[\ell' \, 1[\langle w_i, x \rangle + \rho_i \ge b] \,
        |\langle w^*, z \rangle|\big], \qquad
        \mathtt{decay}_i = \lambda d \, (1 + \|w_i\|) \, \langle w_i, M w^* \rangle

    Args:
        config: of the trainer.
        model: gives the dense direction.
        net: before the step.
        step: its number.
        points: over which the expectations are taken.
        seen: the same points with the labels that the step sees.

    Reading: the descent is on a finite set, and E is the mean over that set: without input noise the claim
        then has no error term left. Per unit of lr all parts are smaller by d.

    Ref: purification, Claim E.3
    """
    # The step must be the gradient of the expectation that is predicted, not one draw of its noise.
    trainer: OddTrainer = replace(config.clean_trainer(), sampled_noise=False)
    precise = net.replace(W=net.W.double(), b=net.b.double())
    W, b, dense = precise.W, float(precise.b), model.dense_direction.double()
    after = trainer.advance(precise, seen.x, seen.y, step)
    f, gates = forward(precise, points.x)
    z = points.z
    assert z is not None
    weight = -Logistic().derivative(points.y * f) / len(points) * config.d
    push = weight * (z @ model.w_star.double()).abs()
    if net.sigma_rho > 0:
        half = torch.special.ndtr((points.x @ W.T + b) / net.sigma_rho)
    else:
        half = (points.x @ W.T + b >= 0).double()
    growth = half.T @ push
    input_noise = (points.x - z @ model.M.double().T) @ dense
    return Drift(
        measured=(after.W - W) @ dense / trainer.step(-b),
        growth=growth,
        mirrored=gates.value.T @ push - growth,
        decay=config.scaled_decay * (1 + torch.linalg.vector_norm(W, dim=1)) * (W @ dense),
        noise=gates.value.T @ (weight * points.y * input_noise),
    )


def _points(drift: Drift, live: Tensor) -> list[list[float]]:
    """Bound and measured drift of at most 150 live neurons, for the picture."""
    rows = live.nonzero().squeeze(1)[:150]
    return [[round(float(drift.bound[i]), 5), round(float(drift.measured[i]), 5)] for i in rows.tolist()]


PURE = {"start": "pure", "sigma_x": 0.0, "small_rate": 1.0, "decay": 0.25, "clean_steps": 100, "batch": 512}
r"""Pure rows without input noise, longer than :math:`1/\lambda`."""
QUIET = {"sigma_x": 0.0, "decay": 0.1, "batch": 512}
r"""Random rows without input noise, longer than :math:`1/\lambda`."""

DRIFT = Experiment(
    name="purification.drift",
    title="Does <w_i, M w*> grow at least as fast as the labels push it?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=StepConfig(d=32, k=5, batch=256, clean_steps=150),
            points=(
                *({"d": d, "k": k, **PURE, "batch": 128} for d, k in ((24, 4), (32, 5), (48, 6))),
                *(
                    {"d": d, "k": k, **QUIET, "decay": 0.01, "batch": 256}
                    for d, k in ((24, 4), (32, 5), (48, 6))
                ),
            ),
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=StepConfig(d=200, k=14, batch=512),
            points=(
                *({"d": d, "k": k, **PURE} for d, k in ((50, 7), (100, 9), (200, 14), (400, 19))),
                *({"d": d, "k": k, **QUIET} for d, k in ((50, 7), (100, 9), (141, 11))),
            ),
            seeds=3,
            cell_seconds=0.35,
        ),
        "full": Preset(
            config=StepConfig(d=200, k=14, batch=2048),
            points=(
                *({"d": d, "k": k, **PURE} for d, k in ((100, 9), (200, 14), (400, 19), (800, 28))),
                *({"d": d, "k": k, **QUIET} for d, k in ((100, 9), (200, 14), (400, 19))),
            ),
            seeds=10,
            cell_seconds=30,
        ),
    },
    run=run,
)
