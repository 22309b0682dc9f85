"""Robust accuracy under several attacks, each spending its time only on what the earlier ones left."""

from collections.abc import Sequence

import torch
from torch import Tensor

from karat.attacks.judge import run_attack
from karat.attacks.method import Method
from karat.core.ball import Ball
from karat.core.classifier import Classifier


def surviving(
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    methods: Sequence[Method],
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """(n,) bool: correct at x and under every attack. The share of them is an upper bound on robust accuracy.

    Equal to attacking every point with every method and taking the worst, at a fraction of the cost: a
    broken point stays broken.

    Args:
        classifier: what is attacked.
        x: (n, ...) points.
        y: (n,) their labels.
        ball: the perturbations allowed, with one radius or one per point.
        methods: the attacks in the order in which they are tried, cheap ones first.
        generator: of attacks that draw.
    """
    alive = classifier.margin(x, y) > 0
    for method in methods:
        rows = alive.nonzero().squeeze(1)
        if len(rows) == 0:
            break
        allowed = ball.with_tau(ball.tau[rows]) if isinstance(ball.tau, Tensor) and ball.tau.dim() else ball
        result = run_attack(method, classifier, x[rows], y[rows], allowed, generator=generator)
        alive[rows[result.success]] = False
    return alive
