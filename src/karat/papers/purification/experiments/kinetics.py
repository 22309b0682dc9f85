"""Growth during training: winners against the rest, chance accuracy, and how many neurons an input wakes."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from karat.core.losses import Logistic
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.evaluate import require_awake, share
from karat.papers.purification.experiments.l2 import J
from karat.papers.purification.experiments.regime import Regime, split
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.activity import near_threshold_count
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import tickets
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier, forward

SHARES = (0.1, 0.3, 0.5, 0.75, 1.0)
"""Stops after the lottery, in shares of the steps."""

EARLY = ({"d": 50, "k": 4, "clean_steps": 2}, {"d": 50, "k": 50, "clean_steps": 2})
"""Settings of the first phase alone: they show whether its constants depend on the sparsity."""


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Clean training; at every stop the growth of all coordinates, measured on a large fresh sample."""
    draws = split(generator, 5)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    start = config.draw_net(model, draws[2])
    stops = config.stops(SHARES)
    nets: list[OddTwoLayer] = []

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        nets.append(net)
        return {}

    net, measured = config.clean_trainer().run(
        start,
        config.batches(model, draws[3]),
        steps=config.clean_steps,
        generator=draws[3],
        observe=observe,
        observe_at=stops,
    )
    if config.clean_steps > config.step_at(config.phases()["T_e"]):  # before, all nets sleep on most inputs
        require_awake(net, test.x, config.clean_steps)
    sample = model.sample(4 * config.n_test, generator=draws[4], dtype=torch.float32)
    won = _winners(model, net)
    rows = [_growth(config, model, at, sample, test, won) for at in nets]
    values: dict[str, Any] = {"wake_rate": model.code.expected_support / config.d, "steps": stops}
    values["time"] = [row["time"] for _, row in measured]
    return values | {name: [row[name] for row in rows] for name in rows[0]}


def _winners(model: SparseCoding, net: OddTwoLayer) -> Tensor:
    """(m, D) mask: the coordinate on which a live neuron ends, if it stands well above the others."""
    size = net.W @ model.M.float() * model.w_star.sign().float()
    top = size.topk(2, dim=1)
    clear = grown_neurons(net.W) & (top.values[:, 1] < 0.3 * top.values[:, 0])
    mask = torch.zeros_like(size, dtype=torch.bool)
    rows = clear.nonzero().squeeze(1)
    mask[rows, top.indices[rows, 0]] = True
    return mask


def _growth(
    config: Regime, model: SparseCoding, net: OddTwoLayer, sample: Samples, test: Samples, won: Tensor
) -> dict[str, float]:
    """d E[y gate z_j] sign(w*_j) of one half of every pair: the growth per unit of rescaled time, l' = 1.

    Reading: the lemmas speak of one indicator; by the symmetry x -> -x it is half of the pair's gate.
    """
    assert sample.z is not None
    f, gates = forward(net, sample.x)
    signed = sample.z * model.w_star.sign().float()
    weight = sample.y / len(sample) * config.d / 2
    plain = gates.weight_gradient(signed, weight)
    weight[1::2] *= -1
    halves = gates.weight_gradient(signed, weight)
    slope = -Logistic().derivative(sample.y * f) * sample.y
    pair = gates.weight_gradient(signed, slope / len(sample)) * config.d
    own = net.W @ model.M.float() * model.w_star.sign().float()
    sets = tickets(own, torch.ones(config.d), -float(net.b), config.rule())
    lost = ~sets.potential
    common = (slope.unsqueeze(1) * signed).mean(dim=0) * config.d
    grown = won & (own >= 2 * math.sqrt(config.k) * -float(net.b))
    spread = (pair - common)[grown].abs().mean() / common.mean() if bool(grown.any()) else math.nan
    return {
        "threshold": -float(net.b),
        "accuracy": share(TiesToPlus(OddClassifier(net)).margin(test.x, test.y) > 0),
        "winner_growth": float(plain[won].mean()) if bool(won.any()) else math.nan,
        "sure_growth": float(plain[sets.sure].mean()) if bool(sets.sure.any()) else math.nan,
        "sure_growth_low": float(plain[sets.sure].quantile(0.1)) if bool(sets.sure.any()) else math.nan,
        # The product of two independent halves is free of the sampling noise that |plain| is full of.
        "loser_growth": max(0.0, float((plain[lost] ** 2 - halves[lost] ** 2).mean())) ** 0.5,
        "largest_growth": float(plain.abs().max()),
        "most_possible": float(sample.z.abs().mean(dim=0).max()) * config.d / 2,
        "gate": float(gates.value.mean()),
        "coupling_spread": float(spread),
        "grown": float(grown.sum()),
        "awake_count": float(near_threshold_count(net, test.x).double().mean()),
    }


_NO_SURE = "no coordinate is a sure winner at this step"
UNDEFINED = {
    "winner_growth": "no live neuron ends on one feature",
    "sure_growth": _NO_SURE,
    "sure_growth_low": _NO_SURE,
    "coupling_spread": "no winner has grown beyond the threshold yet",
}

KINETICS = Experiment(
    name="purification.kinetics",
    title="Do winners grow at their own pace while accuracy waits?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(J, d=40, k=10, batch=512, clean_steps=150, n_test=300), seeds=2, cell_seconds=0.6
        ),
        "quick": Preset(
            config=replace(J, batch=1024), points=(*EARLY, {"d": 100, "k": 20}), seeds=3, cell_seconds=2
        ),
        "full": Preset(
            config=J,
            points=(
                *EARLY,
                {"d": 100, "k": 20, "batch": 1024},
                {"d": 200, "k": 30},
                {"d": 400, "k": 44, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)
