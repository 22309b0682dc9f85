"""A run in input space with closed-form gradients: the reference for the exact engine."""

from typing import Any

import torch

from karat.attacks import PGD
from karat.core.ball import Ball
from karat.core.losses import Logistic
from karat.experiments.benign.mixture import Config, draw_net, evaluation_steps
from karat.nets import TwoLayer, as_classifier
from karat.probes.errors import flipped_errors
from karat.training import Adversary, StepDecay, Trainer


def attack(config: Config) -> PGD:
    """The PGD of the experiments: normalised steps from a zero start, the last point kept.

    Reading: strength alpha/|mu| and step alpha/(5 |mu|) are in units of |mu|.

    Ref: benign, Sec 5
    """
    return PGD(
        steps=config.attack_steps, step_ratio=config.attack_step_ratio, gradient="normalised", keep="last"
    )


def run_plain(config: Config, generator: torch.Generator) -> list[tuple[int, dict[str, Any]]]:
    """Train in d dimensions; measurements at the evaluation steps."""
    net = draw_net(config, generator)
    mixture = config.mixture()
    train = mixture.sample(config.n, generator=generator, dtype=config.dtype)
    test = mixture.sample(config.n_test, generator=generator, dtype=config.dtype)
    ball, method, loss = Ball(2, config.tau), attack(config), Logistic()

    def observe(step: int, current: TwoLayer) -> dict[str, Any]:
        classifier = as_classifier(current)
        delta = method(classifier, train.x, train.y, ball)
        margin = classifier.margin(train.x + delta, train.y)
        errors = flipped_errors(classifier, test.x, test.y_clean, ball, method, config.flip_rate)
        return {
            "train_loss": float(loss(margin).mean()),
            "train_error": float((margin <= 0).double().mean()),
            "clean_error": errors.clean,
            "robust_error": errors.robust,
        }

    trainer = Trainer(
        lr=StepDecay(config.lr, 0.1, config.decay_every),
        trainable=config.trainable,
        adversary=Adversary(method, ball, first_step=0 if config.attack_first else 1),
    )
    trajectory = trainer.run(
        net,
        train.x,
        train.y,
        steps=config.steps,
        observe=observe,
        observe_at=evaluation_steps(config.steps, config.evaluations),
    )
    if trajectory.divergence is not None:
        raise trajectory.divergence
    return list(trajectory.measurements)
