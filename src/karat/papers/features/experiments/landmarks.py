"""What the methods are compared with: plateaus of threshold classifiers, the closed-form NTK, two bounds."""

from dataclasses import dataclass

import torch

from karat.core.activations import TruncatedRelu
from karat.nets import TwoLayer
from karat.papers.features import bounds
from karat.papers.features.experiments.learning import LearningProblem
from karat.papers.features.experiments.scores import accuracy, hinge, outputs
from karat.papers.features.experiments.settings import LearningConfig
from karat.training.fixed_features import distinct_half, gradient_kernel, kernel_ridge

RIDGES = (0.01, 0.1, 1.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class ClosedFormNtk:
    """Kernel ridge regression with the NTK of the start.

    Args:
        test: accuracy.
        hinge: test hinge loss.
        n: training samples that were used.
    """

    test: float
    hinge: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Movement:
    """How far classifier learning moves the hidden weights.

    Args:
        share: length of the whole movement over the length of all hidden weights.
        over_bound: largest over neurons of its movement over the bound of Lemma 24.
    """

    share: float
    over_bound: float


def closed_form_ntk(config: LearningConfig, problem: LearningProblem) -> ClosedFormNtk:
    """Return kernel ridge regression with the same NTK on part of the samples, ridge chosen on validation.

    Reading: the kernel of all samples does not fit into memory; `n` says how many were used.

    Args:
        config: settings of the run.
        problem: its data and start.
    """
    count = min(config.n_kernel, config.n)
    half = distinct_half(problem.start.net.replace(activation=TruncatedRelu()))
    x, y = problem.train.x[:count], problem.train.y[:count]
    alphas = kernel_ridge(gradient_kernel(half, x, x).double(), y, RIDGES).to(x.dtype)
    on_validation = gradient_kernel(half, problem.validation.x, x) @ alphas.T
    accuracies = [accuracy(column, problem.validation.y) for column in on_validation.T]
    best = accuracies.index(max(accuracies))
    f = gradient_kernel(half, problem.test.x, x) @ alphas[best]
    return ClosedFormNtk(test=accuracy(f, problem.test.y), hinge=hinge(f, problem.test.y), n=count)


def parity_plateaus(config: LearningConfig) -> tuple[list[float], float]:
    """Return the plateaus of threshold classifiers on the count of a parity, and the best linear accuracy."""
    weights, labels = bounds.count_weights(config.k, config.p_o), bounds.parity_labels(config.k)
    return bounds.plateaus(weights, labels), bounds.best_accuracy(weights, labels, 1)


def label_strength(problem: LearningProblem) -> float:
    r"""Return :math:`|E[y \Psi]|` of the random features :math:`\Psi` over the training sample.

    For all output weights of norm B the hinge loss is at least

    .. math:: 1 - B |E[y \Psi]|,

    which the best weights reach while :math:`B |\Psi| \le 1`. So Theorem 29 says that
    :math:`|E[y \Psi]| \le \sqrt{2N} / 2^k` for some set A.

    Ref: features, Thm 29
    """
    half = distinct_half(problem.start.net.replace(activation=TruncatedRelu()))
    H = outputs(lambda x: half.activation(half.preactivations(x)), problem.train.x)
    return float(torch.linalg.vector_norm(problem.train.y.to(H) @ H)) / len(H)


def movement(before: TwoLayer, after: TwoLayer, *, steps: int, lr: float) -> Movement:
    """Return how far the hidden weights moved, over their length and over the bound of every neuron.

    Args:
        before: the net at the beginning of classifier learning.
        after: the net at its end.
        steps: of classifier learning.
        lr: rate of the hidden weights.

    Ref: features, Lem 24
    """
    distances = torch.linalg.vector_norm((after.W - before.W).double(), dim=1)
    lengths = torch.linalg.vector_norm(before.W.double(), dim=1)
    ratios = [
        distance / bounds.movement_bound(steps=steps, lr=lr, decay=0.0, length=length, top=top)
        for distance, length, top in zip(distances.tolist(), lengths.tolist(), before.a.tolist(), strict=True)
    ]
    return Movement(share=float(distances.norm() / lengths.norm()), over_bound=max(ratios))
