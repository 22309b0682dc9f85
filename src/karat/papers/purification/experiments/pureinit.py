"""From pure features: clean training soils them, adversarial training cleans them again."""

from dataclasses import replace
from typing import Any

import torch

from karat.attacks import PGD, Method, Steepest
from karat.attacks.cascade import surviving
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.evaluate import require_awake, share
from karat.papers.purification.experiments.linf import PURE
from karat.papers.purification.experiments.regime import Regime, split, universal
from karat.papers.purification.experiments.ties import TiesToPlus, Wake
from karat.probes.dense_mixture import split_mixture
from karat.probes.movement import relative_movement
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Curves over both trainings: mixture, movement from the pure start, accuracies."""
    draws = split(generator, 6)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    start = config.draw_net(model, draws[2])
    few = test.take(slice(0, config.n_attack))
    fixed, fast, ball = universal(model, config.p), Steepest(), config.ball(model)
    attacks: tuple[Method, ...] = (fixed, fast, PGD(steps=config.pgd_steps, start=fast))

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        part, classifier = split_mixture(net.W, model.M, model.w_star), TiesToPlus(OddClassifier(net))
        alive = surviving(classifier, few.x, few.y, ball, (*attacks, Wake(net)), generator=draws[5])
        return {
            "pure": float(part.pure_norm.mean()),
            "dense": float(part.along.mean()),
            "ratio": float((part.mean_beta / part.alpha).mean()),
            "aligned": float(part.aligned.mean()),
            "accuracy": share(classifier.margin(test.x, test.y) > 0),
            "pgd": share(alive),
            "from_start": relative_movement(net.W, start.W),
        }

    clean, before = config.clean_trainer().run(
        start,
        config.batches(model, draws[3]),
        steps=config.clean_steps,
        generator=draws[3],
        observe=observe,
        observe_at=_grid(config.clean_steps),
    )
    require_awake(clean, test.x, config.clean_steps)
    robust, after = config.robust_trainer(model).run(
        clean,
        config.batches(model, draws[4]),
        steps=config.robust_steps,
        generator=draws[4],
        observe=observe,
        observe_at=_grid(config.robust_steps),
    )
    require_awake(robust, test.x, config.clean_steps + config.robust_steps)
    values: dict[str, Any] = {
        "predicted": model.code.expected_support / config.d,
        "tau": config.tau(model),
        "movement": relative_movement(robust.W, clean.W),
    }
    for name, rows in (("clean", before), ("robust", after)):
        values[f"{name}_steps"] = [step for step, _ in rows]
        for key in rows[0][1]:
            values[f"{name}_{key}"] = [row[key] for _, row in rows]
    return values


def _grid(steps: int) -> list[int]:
    """Ten evaluations, denser at the start."""
    return sorted({round(steps * (i / 9) ** 1.5) for i in range(10)})


PUREINIT = Experiment(
    name="purification.pureinit",
    title="Does clean training accumulate mixtures even from pure features?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                PURE,
                d=40,
                k=8,
                batch=256,
                clean_steps=60,
                robust_steps=30,
                n_test=200,
                n_attack=100,
                pgd_steps=5,
            ),
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(config=replace(PURE, n_attack=500, pgd_steps=15), seeds=3, cell_seconds=4),
        "full": Preset(
            config=replace(PURE, n_attack=1000, pgd_steps=30),
            points=(
                {"d": 200, "k": 25},
                {"d": 400, "k": 40, "tau_factor": 0.18},
                {"d": 200, "k": 60, "p": 2.0, "tau_factor": 0.4, "robust_step": 0.06, "robust_steps": 60},
            ),
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
)
