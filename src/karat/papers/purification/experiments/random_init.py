"""Adversarial training from random weights beside clean training: is the mixture built at all?"""

from dataclasses import dataclass, replace
from typing import Any

import torch

from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import FGM
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import (
    Accuracies,
    Features,
    accuracies,
    features,
    require_awake,
)
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.study.experiment import Experiment, Preset
from karat.training import Adversary, Ramp
from karat.training.odd import OddTrainer
from karat.training.odd.trainer import columns

STOPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of training at which the features are looked at."""


@dataclass(frozen=True, kw_only=True)
class ArmMeasures(Accuracies, Features):
    """One training: the net at the end, and curves over the stops.

    Args:
        time_curve: rescaled time.
        ratio_curve: mixture over pure part.
        aligned_curve: share of mixture coefficients with the sign of w*.
        alpha_curve: mean largest coefficient.
        along_curve: mean component of the mixture along w* over the neuron's length.
    """

    time_curve: list[float]
    ratio_curve: list[float]
    aligned_curve: list[float]
    alpha_curve: list[float]
    along_curve: list[float]


@dataclass(frozen=True, kw_only=True)
class RandomInitResult:
    """Both trainings from the same random start.

    Args:
        steps: of the stops.
        tau: radius of the attacks.
        clean: without attacker.
        robust: attacked from the first step on.
    """

    steps: list[int]
    tau: float
    clean: ArmMeasures
    robust: ArmMeasures


def run(config: OddNetConfig, generator: torch.Generator) -> RandomInitResult:
    """Two arms from the same start on the same data: clean, and attacked from the first step on.

    Reading: the radius grows over the share `ramp` of the steps. At the full radius from the start the
        attack outweighs the tiny weights and silences most neurons before the lottery is drawn.
    """
    for_model, for_test, for_start, for_training, for_attacks = split(generator, 5)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    ball, steps = config.ball(model), config.clean_steps
    ramp = Ramp(float(ball.tau), max(1, round(config.ramp * steps)))
    clean_trainer = config.clean_trainer()
    stops = sorted({round(steps * stop) for stop in STOPS})
    seed = int(torch.randint(2**62, (), generator=for_training))

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        now = features(model, net, test.x)
        return {"ratio": now.ratio, "aligned": now.aligned, "alpha": now.alpha, "along": now.along}

    def arm(trainer: OddTrainer) -> ArmMeasures:
        same = torch.Generator().manual_seed(seed)  # both arms see the same batches
        net, measured = trainer.run(
            start,
            config.batches(model, same),
            steps=steps,
            generator=same,
            observe=observe,
            observe_at=stops,
        )
        require_awake(net, test.x, steps)
        return ArmMeasures(
            **{f"{name}_curve": values for name, values in columns(measured).items()},
            **vars(features(model, net, test.x)),
            **vars(accuracies(config, model, net, test, for_attacks)),
        )

    return RandomInitResult(
        steps=stops,
        tau=float(ball.tau),
        clean=arm(clean_trainer),
        robust=arm(replace(clean_trainer, adversary=Adversary(FGM, ball, radius=ramp))),
    )


RANDOM_INIT = Experiment(
    name="purification.random_init",
    title="Does adversarial training from random weights avoid the mixture?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                RANDOM_START,
                d=40,
                k=10,
                batch=512,
                clean_steps=150,
                ramp=0.8,
                n_test=300,
                n_attack=100,
                pgd_steps=5,
            ),
            seeds=2,
            cell_seconds=1.2,
        ),
        "quick": Preset(
            config=replace(RANDOM_START, d=100, k=9, batch=512, ramp=0.8, n_attack=400, pgd_steps=15),
            seeds=3,
            cell_seconds=1.8,
        ),
        "full": Preset(
            config=replace(RANDOM_START, ramp=0.8),
            points=(
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 400, "k": 19, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=120,
        ),
    },
    run=run,
)
