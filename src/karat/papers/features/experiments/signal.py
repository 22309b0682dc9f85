"""Lemma 6: the components of the neurons along relevant and background patterns after each step, over n."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.papers.features.bounds import signal_after_step_one
from karat.papers.features.experiments.learning import LearningProblem, Stages, draw, learn_features
from karat.papers.features.experiments.settings import LearningConfig
from karat.study.experiment import Experiment, Preset
from karat.training.feature_steps import feature_step, rank_one_step, value_and_slope

PART = 4000
"""Samples on which the second step is also computed in full."""


@dataclass(frozen=True, kw_only=True)
class SignalResult:
    r"""Signal and background in the neurons; "relative" is over :math:`\beta\gamma/\tilde\sigma`.

    Args:
        activity: :math:`\beta`, mean over neurons of the share of active samples.
        signal_ratio: relative mean of the relevant components, mean over neurons.
        signal_error: mean over neurons of |ratio - 1|.
        signal_spread: relative error of a neuron's worst relevant component, mean over neurons.
        signal_worst: largest error of any relevant component, times :math:`\tilde\sigma`.
        background_worst: largest background component, times :math:`\tilde\sigma`.
        background: relative root mean square of the background components.
        background_sampling: what the finite sample alone causes of it.
        ratio_one: length of the relevant over that of the background part after step one.
        ratio_two: the same after step two.
        gain: ratio_two over ratio_one.
        gain_predicted: what using all samples instead of the active ones explains of the gain.
        cos_one: mean |cos| to the ground truth after step one.
        cos_two: the same after step two.
        signed_one: mean cosine times the sign of the output weight after step one, see `Cosines`.
        signed_two: the same after step two.
        closed_form_difference: relative difference between the real second step and its closed form.
    """

    activity: float
    signal_ratio: float
    signal_error: float
    signal_spread: float
    signal_worst: float
    background_worst: float
    background: float
    background_sampling: float
    ratio_one: float
    ratio_two: float
    gain: float
    gain_predicted: float
    cos_one: float
    cos_two: float
    signed_one: float
    signed_two: float
    closed_form_difference: float


def run(config: LearningConfig, generator: torch.Generator) -> SignalResult:
    """Take both feature steps; signal, background and their ratio, with what sampling noise alone predicts.

    Args:
        config: settings; no classifier is trained.
        generator: draws data and start.
    """
    problem = draw(config, generator)
    stages = learn_features(config, problem)
    first = components(stages.one.net.W, config.lr_first * stages.start.net.a)
    second = components(stages.two.net.W, config.lr_second * stages.one.net.a)
    activity, energy = _activity(problem)
    predicted = signal_after_step_one(problem.label_corr, problem.scale, 1.0) * activity
    relevant, background = first[:, problem.model.A], _background(first, problem)
    # A background component is a mean of n terms y x_j phi': its variance is the product of theirs over n.
    variance = float(_background(problem.train.x, problem).square().mean())
    sampling = (variance * energy / config.n).sqrt()
    signal, noise = relevant.mean(dim=1), background.square().mean(dim=1).sqrt()
    error = (relevant - predicted[:, None]).abs()
    ratio_one, ratio_two = _ratio(first, problem), _ratio(second, problem)
    cos_one, cos_two = (net.cosines(problem.direction) for net in (stages.one, stages.two))
    return SignalResult(
        activity=float(activity.mean()),
        signal_ratio=float((signal / predicted).mean()),
        signal_error=float((signal / predicted - 1).abs().mean()),
        signal_spread=float((error.amax(dim=1) / predicted).mean()),
        signal_worst=problem.scale * float(error.max()),
        background_worst=problem.scale * float(background.abs().max()),
        background=float((noise / predicted).mean()),
        background_sampling=float((sampling / predicted).mean()),
        ratio_one=ratio_one,
        ratio_two=ratio_two,
        gain=ratio_two / ratio_one,
        gain_predicted=float((energy.sqrt() / activity).mean()),
        cos_one=float(cos_one.abs().mean()),
        cos_two=float(cos_two.abs().mean()),
        signed_one=float((cos_one * stages.start.net.a.sign()).mean()),
        signed_two=float((cos_two * stages.one.net.a.sign()).mean()),
        closed_form_difference=_closed_form_difference(config, problem, stages),
    )


def components(W: Tensor, factor: Tensor) -> Tensor:
    r"""Return :math:`T_j` of :math:`w_i = c_i \sum_j T_j M_j`, (m, D), for the neurons of a first half.

    Args:
        W: (2m, D) weights in pattern coordinates.
        factor: (2m,) :math:`c_i`.
    """
    half = len(W) // 2
    return (W[:half].double().T / factor[:half].double()).T


def _closed_form_difference(config: LearningConfig, problem: LearningProblem, stages: Stages) -> float:
    """Relative difference between the real second step and the one along mean(y x), on part of the sample.

    Ref: features, Sec 5.2
    """
    x, y = problem.train.x[:PART], problem.train.y[:PART]
    decay = 1 / (2 * config.lr_second)
    real = feature_step(stages.one.net, x, y, lr=config.lr_second, decay_a=decay).W.double()
    rank_one = rank_one_step(stages.one.net, x, y, lr=config.lr_second).net.W.double()
    return float(torch.linalg.vector_norm(real - rank_one) / torch.linalg.vector_norm(real))


def _activity(problem: LearningProblem) -> tuple[Tensor, Tensor]:
    r"""Mean and mean square of :math:`\phi'(z_i)` over the sample, per neuron: beta and what noise needs."""
    net = problem.start.net
    half = net.m // 2
    assert net.b is not None
    mean, square = torch.zeros(half, dtype=torch.float64), torch.zeros(half, dtype=torch.float64)
    for x in problem.train.x.split(8192):
        slope = value_and_slope(net.activation, x @ net.W[:half].T + net.b[:half])[1].double()
        mean += slope.sum(dim=0)
        square += slope.square().sum(dim=0)
    return mean / len(problem.train), square / len(problem.train)


def _background(table: Tensor, problem: LearningProblem) -> Tensor:
    """The columns of background patterns."""
    background = torch.ones(table.shape[1], dtype=torch.bool)
    background[problem.model.A] = False
    return table[:, background].double()


def _ratio(table: Tensor, problem: LearningProblem) -> float:
    """Length of the relevant part over length of the background, mean over neurons."""
    relevant = torch.linalg.vector_norm(table[:, problem.model.A], dim=1)
    return float((relevant / torch.linalg.vector_norm(_background(table, problem), dim=1)).mean())


def work(config: LearningConfig) -> float:
    """Measured: samples times patterns and neurons, and d D^2 for orthonormal patterns."""
    return 1600.0 * config.n * (config.D + config.pairs) + config.d * float(config.D) ** 2


_BASE = LearningConfig(
    d=100, D=100, k=5, n=20_000, pairs=100, steps=3, methods=(), n_test=100, n_validation=100
)
_TINY = replace(_BASE, d=20, D=20, pairs=20, n=1000)

# Samples in proportion to the patterns: sampling noise then falls like the lemma's own error, D^(-1/2).
_GROWING = tuple({"d": D, "D": D, "n": 100 * D} for D in (50, 200, 400))

LEM6 = Experiment(
    name="features.lem6",
    title="How large are signal and noise in the neurons after the first and the second gradient step?",
    paper="features",
    presets={
        "tiny": Preset(config=_TINY, grid={"n": (500, 1000, 2000)}, seeds=2, cell_seconds=0.1),
        "quick": Preset(
            config=_BASE,
            points=({"n": 2500}, {"n": 10_000}, {"n": 40_000}, {"n": 40_000, "p_o": 0.1}, *_GROWING),
            seeds=3,
            cell_seconds=0.25,
        ),
        "full": Preset(
            config=replace(_BASE, pairs=300),
            grid={"n": (5000, 50_000, 400_000), "p_o": (0.1, 0.25, 0.5)},
            seeds=5,
            cell_seconds=8,
        ),
    },
    run=run,
    work=work,
)
