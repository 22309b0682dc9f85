"""What the methods are compared with: plateaus of threshold classifiers, the closed-form NTK, two bounds."""

import math
from typing import Any

import torch

from karat.core.activations import TruncatedRelu
from karat.nets import TwoLayer
from karat.papers.features import bounds
from karat.papers.features.experiments.learning import Config, Problem
from karat.papers.features.experiments.scores import accuracy, hinge, outputs
from karat.training.fixed_features import distinct_half, gradient_kernel, kernel_ridge

RIDGES = (0.01, 0.1, 1.0, 10.0)


def closed_form_ntk(config: Config, problem: Problem) -> dict[str, Any]:
    """Kernel ridge regression with the same NTK on part of the samples, ridge chosen on validation.

    Reading: the kernel of all samples does not fit into memory; `ntk_closed_n` says how many were used.
    """
    count = min(config.n_kernel, config.n)
    half = distinct_half(problem.start.net.replace(activation=TruncatedRelu()))
    x, y = problem.train.x[:count], problem.train.y[:count]
    alphas = kernel_ridge(gradient_kernel(half, x, x).double(), y, RIDGES).to(x.dtype)
    checked = gradient_kernel(half, problem.validation.x, x) @ alphas.T
    scores = [accuracy(column, problem.validation.y) for column in checked.T]
    best = scores.index(max(scores))
    f = gradient_kernel(half, problem.test.x, x) @ alphas[best]
    return {
        "ntk_closed_test": accuracy(f, problem.test.y),
        "ntk_closed_hinge": hinge(f, problem.test.y),
        "ntk_closed_n": count,
    }


def plateau_values(config: Config) -> dict[str, Any]:
    """Landmarks of threshold classifiers on the count, for parity."""
    if config.task != "parity" or config.negative_rate is not None:
        return {}
    weights, labels = bounds.count_weights(config.k, config.p_o), bounds.parity_labels(config.k)
    return {
        "plateaus": bounds.plateaus(weights, labels),
        "linear_ceiling": bounds.best_accuracy(weights, labels, 1),
        "rf_floor_energy": config.pairs,
        "parities": math.comb(config.D, config.k),
    }


def label_strength(problem: Problem) -> float:
    """|mean(y Psi)| of the random features Psi: hinge >= 1 - B |E[y Psi]| for all output weights of norm B.

    The best weights reach it while B |Psi| <= 1, so Theorem 29 says |E[y Psi]| <= sqrt(2N)/2^k for some A.

    Ref: features, Thm 29
    """
    half = distinct_half(problem.start.net.replace(activation=TruncatedRelu()))
    H = outputs(lambda x: half.activation(half.preactivations(x)), problem.train.x)
    return float(torch.linalg.vector_norm(problem.train.y.to(H) @ H)) / len(H)


def movement(before: TwoLayer, after: TwoLayer, *, steps: int, lr: float) -> tuple[float, float]:
    """Movement of the hidden weights over their length, and the largest over neurons of movement over bound.

    Ref: features, Lem 24
    """
    far = torch.linalg.vector_norm((after.W - before.W).double(), dim=1)
    length = torch.linalg.vector_norm(before.W.double(), dim=1)
    ratios = [
        way / bounds.movement_bound(steps=steps, lr=lr, decay=0.0, length=size, top=top)
        for way, size, top in zip(far.tolist(), length.tolist(), before.a.tolist(), strict=True)
    ]
    return float(far.norm() / length.norm()), max(ratios)
