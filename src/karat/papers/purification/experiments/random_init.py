"""Adversarial training from random weights beside clean training: is the mixture built at all?"""

from dataclasses import replace
from typing import Any

import torch

from karat.attacks import Steepest
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.evaluate import (
    accuracies,
    features,
    named,
    require_awake,
    undefined,
)
from karat.papers.purification.experiments.l2 import J
from karat.papers.purification.experiments.regime import ZERO_GRADIENT, Regime, split
from karat.study.experiment import Experiment, Preset
from karat.training import Adversary, Ramp

STOPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Two arms from the same start on the same data: clean, and attacked from the first step on.

    Reading: the radius grows over the share `ramp` of the steps. At the full radius from the start the
        attack outweighs the tiny weights and silences most neurons before the lottery is drawn.
    """
    draws = split(generator, 5)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    start = config.draw_net(model, draws[2])
    ball = config.ball(model)
    steps = config.clean_steps
    ramp = Ramp(float(ball.tau), max(1, round(config.ramp * steps)))
    clean = config.clean_trainer()
    arms = {
        "clean": clean,
        "robust": replace(clean, adversary=Adversary(Steepest(zero_below=ZERO_GRADIENT), ball, radius=ramp)),
    }
    stops = sorted({round(steps * share) for share in STOPS})
    seed = int(torch.randint(2**62, (), generator=draws[3]))

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        own = features(model, net, test.x)
        return {name: own[name] for name in ("ratio", "aligned", "alpha", "along")}

    values: dict[str, Any] = {"steps": stops, "tau": float(ball.tau)}
    for name, trainer in arms.items():
        own = torch.Generator().manual_seed(seed)
        net, rows = trainer.run(
            start,
            config.batches(model, own),
            steps=steps,
            generator=own,
            observe=observe,
            observe_at=stops,
        )
        require_awake(net, test.x, steps)
        values |= {f"{name}_{key}_curve": [row[key] for _, row in rows] for key in rows[0][1]}
        values |= named(name, features(model, net, test.x))
        values |= named(name, accuracies(config, model, net, test, draws[4]))
    return values


RANDOM_INIT = Experiment(
    name="purification.random_init",
    title="Does adversarial training from random weights avoid the mixture?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                J, d=40, k=10, batch=512, clean_steps=150, ramp=0.8, n_test=300, n_attack=100, pgd_steps=5
            ),
            seeds=2,
            cell_seconds=1.2,
        ),
        "quick": Preset(
            config=replace(J, d=100, k=20, batch=1024, ramp=0.8, n_attack=500, pgd_steps=15),
            seeds=3,
            cell_seconds=9,
        ),
        "full": Preset(
            config=replace(J, ramp=0.8),
            points=(
                {"d": 100, "k": 20, "batch": 1024},
                {"d": 200, "k": 30},
                {"d": 400, "k": 44, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=120,
        ),
    },
    run=run,
    undefined=undefined("clean", "robust"),
)
