"""A run in input space with closed-form gradients: the reference for the exact engine."""

from typing import Any

import torch

from karat.core.ball import Ball
from karat.core.losses import Logistic
from karat.nets import TwoLayer, as_classifier
from karat.papers.benign.experiments.evaluation import Evaluation, evaluation_steps
from karat.papers.benign.experiments.mixture import MixtureConfig, draw_net
from karat.probes.errors import flipped_errors


def run_plain(config: MixtureConfig, generator: torch.Generator) -> dict[int, Evaluation]:
    """Draw net and data in d dimensions and train there.

    Args:
        config: the run.
        generator: draws net and data.

    Returns:
        step -> evaluation, none with a certificate.
    """
    net = draw_net(config, generator)
    mixture = config.mixture()
    train = mixture.sample(config.n, generator=generator, dtype=config.dtype)
    test = mixture.sample(config.n_test, generator=generator, dtype=config.dtype)
    method, loss = config.attack(), Logistic()
    ball, test_ball = Ball(config.p, config.tau), Ball(config.p, config.test_tau)

    def observe(step: int, current: TwoLayer) -> dict[str, Any]:
        classifier = as_classifier(current)
        delta = method(classifier, train.x, train.y, ball)
        margin = classifier.margin(train.x + delta, train.y)
        errors = flipped_errors(classifier, test.x, test.y_clean, test_ball, method, config.flip_rate)
        return vars(
            Evaluation(
                train_loss=float(loss(margin).mean()),
                train_error=float((margin <= 0).double().mean()),
                clean_error=errors.clean,
                robust_error=errors.robust,
            )
        )

    trajectory = config.trainer().run(
        net,
        train.x,
        train.y,
        steps=config.steps,
        observe=observe,
        observe_at=evaluation_steps(config.steps, config.evaluations),
    )
    if trajectory.divergence is not None:
        raise trajectory.divergence
    return {step: Evaluation(**values) for step, values in trajectory.measurements}
