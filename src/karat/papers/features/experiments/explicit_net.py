"""Lemma 5: the explicit network of 3(k + 1) neurons, built and tried on every sample."""

from dataclasses import dataclass, replace

import torch

from karat.core.activations import TruncatedRelu
from karat.data import PatternDictionary
from karat.nets import TwoLayer
from karat.papers.features.experiments.learning import draw_model, permuted
from karat.papers.features.experiments.settings import LearningConfig
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class ExplicitNetResult:
    """How exact the explicit net is, and the sizes of its weights relative to the lemma's bounds.

    Args:
        largest_error: largest |g*(x) - y| over the sample.
        neurons: of the net.
        neurons_bound: 3(k + 1).
        largest_top: largest output weight over 32 k, at most 1.
        smallest_bias: smallest bias times 32 k, at least 1.
        largest_bias: largest bias times 2, at most 1.
        largest_preactivation: at most 1.
        angle: largest 1 - cos between a neuron and the sum of the relevant patterns, zero.
    """

    largest_error: float
    neurons: int
    neurons_bound: int
    largest_top: float
    smallest_bias: float
    largest_bias: float
    largest_preactivation: float
    angle: float


def explicit_net(model: PatternDictionary) -> TwoLayer:
    r"""Return the net with a hat function around every count p of relevant patterns.

    .. math::

        g^*(x) = \sum_p y_p \delta_p\Big(\sum_{j \in A} \tilde\phi_j\Big), \qquad
        w^* = \tilde\sigma \sum_{j \in A} M_j / (4k)

    A hat of height scale a around c is made of three ReLUs,

    .. math:: \delta(s) = a [(s - c + \tfrac12)_+ - 2 (s - c)_+ + (s - c - \tfrac12)_+]

    Two versions: hats centred at p (a = 2) or at p + 1/4 (a = 4); the one whose biases stay away from zero
    is taken. Pre-activations lie in [-1, 1], where the truncated ReLU is a ReLU.

    Args:
        model: whose samples are normalised by its exact mean and scale.

    Ref: features, Lem 5; features, Lem 8
    """
    k = model.k
    mean = float(model.pattern_mean[model.A].sum())
    labels = _labels(model)
    nearest = min(abs(p + shift - mean) for p in range(k + 1) for shift in (-0.5, 0.0, 0.5))
    # A kink at the mean count would have bias zero; hats at p + 1/4 are then 1/4 away from it.
    centre, height = (0.0, 2.0) if nearest >= 1 / 8 else (0.25, 4.0)
    bias, top = [], []
    for p in range(k + 1):
        for shift, weight in ((-0.5, 1.0), (0.0, -2.0), (0.5, 1.0)):
            bias.append((mean - (p + centre + shift)) / (4 * k))
            top.append(labels[p] * height * weight * 4 * k)
    w = model.scale * model.relevant_sum.double() / (4 * k)
    return TwoLayer(
        w.repeat(len(bias), 1),
        torch.tensor(top, dtype=torch.float64),
        torch.tensor(bias, dtype=torch.float64),
        activation=TruncatedRelu(),
    )


def _labels(model: PatternDictionary) -> list[float]:
    """Label of every count 0..k; counts that never occur get -1."""
    labels = [-1.0] * (model.k + 1)
    for count, label in zip(model.law.count.tolist(), model.law.label.tolist(), strict=True):
        labels[count] = label
    return labels


def run(config: LearningConfig, generator: torch.Generator) -> ExplicitNetResult:
    """Build the net for the data model of the config and try it on a sample.

    Args:
        config: settings; nothing is trained.
        generator: draws model and sample.
    """
    # The lemma speaks of inputs normalised by the law itself, not by a sample.
    model = replace(draw_model(config, generator), normalise=True)
    net = explicit_net(model)
    samples = model.sample(config.n, generator=generator)
    if config.labels == "permuted":
        samples = permuted(samples, generator)
    assert net.b is not None
    cosines = torch.nn.functional.cosine_similarity(net.W, model.relevant_sum, dim=1)
    return ExplicitNetResult(
        largest_error=float((net(samples.x) - samples.y).abs().max()),
        neurons=net.m,
        neurons_bound=3 * (config.k + 1),
        largest_top=float(net.a.abs().max()) / (32 * config.k),
        smallest_bias=float(net.b.abs().min()) * 32 * config.k,
        largest_bias=float(net.b.abs().max()) * 2,
        largest_preactivation=float(net.preactivations(samples.x).abs().max()),
        angle=float(1 - cosines.min()),
    )


_BASE = LearningConfig(d=100, D=100, k=5, n=20_000, pairs=1, steps=3, methods=())

LEM5 = Experiment(
    name="features.lem5",
    title="Does the explicit network of 3(k + 1) neurons compute every label?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(_BASE, d=30, D=20, n=500), grid={"task": ("parity", "majority")}, seeds=1
        ),
        "quick": Preset(
            config=_BASE,
            points=(
                {"task": "parity"},
                {"task": "majority"},
                {"task": "interval", "k": 30},
                {"task": "parity", "p_o": 0.1, "k": 9},
            ),
            seeds=3,
            cell_seconds=0.05,
        ),
        "full": Preset(
            config=replace(_BASE, n=200_000, d=500),
            points=(
                {"task": "parity"},
                {"task": "majority"},
                {"task": "interval", "k": 30},
                {"task": "parity", "p_o": 0.1, "k": 9},
                {"task": "majority", "k": 21},
            ),
            seeds=5,
            cell_seconds=3,
        ),
    },
    run=run,
)
