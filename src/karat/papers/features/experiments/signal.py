"""Lemma 6: the components of the neurons along relevant and background patterns after each step, over n."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from karat.papers.features.bounds import signal_after_step_one
from karat.papers.features.experiments.learning import Config, Problem, Stages, draw, learn_features
from karat.study.experiment import Experiment, Preset
from karat.training.feature_steps import feature_step, rank_one_step, value_and_slope

PART = 4000
"""Samples on which the second step is also computed in full."""


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Signal, background and their ratio after steps one and two, with what sampling noise alone predicts."""
    problem = draw(config, generator)
    stages = learn_features(config, problem)
    first = components(stages.one.net.W, config.lr_first * stages.start.net.a)
    second = components(stages.two.net.W, config.lr_second * stages.one.net.a)
    activity, energy = _activity(problem)
    wanted = signal_after_step_one(problem.label_corr, problem.scale, 1.0) * activity
    relevant, rest = first[:, problem.model.A], _background(first, problem)
    spread = float(_background(problem.train.x, problem).square().mean())
    sampling = (spread * energy / config.n).sqrt()
    signal, noise = relevant.mean(dim=1), rest.square().mean(dim=1).sqrt()
    return {
        "activity": float(activity.mean()),
        "signal_ratio": float((signal / wanted).mean()),
        "signal_error": float((signal / wanted - 1).abs().mean()),
        "signal_spread": float(((relevant - wanted[:, None]).abs().amax(dim=1) / wanted).mean()),
        "signal_worst": problem.scale * float((relevant - wanted[:, None]).abs().max()),
        "background_worst": problem.scale * float(rest.abs().max()),
        "background": float((noise / wanted).mean()),
        "background_sampling": float((sampling / wanted).mean()),
        "ratio_one": _ratio(first, problem),
        "ratio_two": _ratio(second, problem),
        "gain": _ratio(second, problem) / _ratio(first, problem),
        "gain_predicted": float((energy.sqrt() / activity).mean()),
        "cos_one": float(stages.one.cosines(problem.direction).abs().mean()),
        "cos_two": float(stages.two.cosines(problem.direction).abs().mean()),
        "closed_form_difference": _closed_form_difference(config, problem, stages),
    }


def components(W: Tensor, factor: Tensor) -> Tensor:
    """T_j of w_i = factor_i sum_j T_j M_j, (m, D), for the neurons of a first half."""
    half = len(W) // 2
    return (W[:half].double().T / factor[:half].double()).T


def _closed_form_difference(config: Config, problem: Problem, stages: Stages) -> float:
    """Relative difference between the real second step and the one along mean(y x), on part of the sample.

    Ref: features, Sec 5.2
    """
    part = problem.train.take(slice(0, PART))
    decay = 1 / (2 * config.lr_second)
    real = feature_step(stages.one.net, part.x, part.y, lr=config.lr_second, decay_a=decay).W.double()
    short = rank_one_step(stages.one.net, part.x, part.y, lr=config.lr_second).net.W.double()
    return float(torch.linalg.vector_norm(real - short) / torch.linalg.vector_norm(real))


def _activity(problem: Problem) -> tuple[Tensor, Tensor]:
    """Mean and mean square of phi'(z_i) over the training sample, per neuron: beta and what noise needs."""
    net = problem.start.net
    half = net.m // 2
    assert net.b is not None
    mean, square = torch.zeros(half, dtype=torch.float64), torch.zeros(half, dtype=torch.float64)
    for x in problem.train.x.split(8192):
        slope = value_and_slope(net.activation, x @ net.W[:half].T + net.b[:half])[1].double()
        mean += slope.sum(dim=0)
        square += slope.square().sum(dim=0)
    return mean / len(problem.train), square / len(problem.train)


def _background(table: Tensor, problem: Problem) -> Tensor:
    keep = torch.ones(table.shape[1], dtype=torch.bool)
    keep[problem.model.A] = False
    return table[:, keep].double()


def _ratio(table: Tensor, problem: Problem) -> float:
    """Length of the relevant part over length of the background, mean over neurons."""
    relevant = torch.linalg.vector_norm(table[:, problem.model.A], dim=1)
    return float((relevant / torch.linalg.vector_norm(_background(table, problem), dim=1)).mean())


_BASE = Config(d=100, D=100, k=5, n=20_000, pairs=100, steps=3, methods=(), n_test=100, n_validation=100)
_TINY = replace(_BASE, d=20, D=20, pairs=20, n=1000)

LEM6 = Experiment(
    name="features.lem6",
    title="How large are signal and noise in the neurons after the first and the second gradient step?",
    paper="features",
    presets={
        "tiny": Preset(config=_TINY, grid={"n": (500, 1000, 2000)}, seeds=2, cell_seconds=0.1),
        "quick": Preset(
            config=_BASE,
            points=({"n": 2500}, {"n": 10_000}, {"n": 40_000}, {"n": 40_000, "p_o": 0.1}),
            seeds=3,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=replace(_BASE, pairs=300),
            grid={"n": (5000, 50_000, 400_000), "p_o": (0.1, 0.25, 0.5)},
            seeds=5,
            cell_seconds=8,
        ),
    },
    run=run,
)
