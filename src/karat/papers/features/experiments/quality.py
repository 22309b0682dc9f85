"""Lemma 23 without learning rates: what the best classifier reaches on the features of every stage."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.core.checks import require_integer
from karat.papers.features.experiments.learning import (
    Config,
    Problem,
    Stages,
    draw,
    learn_features,
    rescaled_one_step,
)
from karat.papers.features.experiments.methods import train_method
from karat.probes.feature_quality import BestClassifier, smallest_hinge, smallest_weights
from karat.reductions.span.pattern_space import PatternNet
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class QualityConfig(Config):
    """Settings of a run with a linear program on n_program training samples; final: train the network too."""

    n_program: int = 1000
    final: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.n_program, "n_program", "QualityConfig", minimum=2 * self.pairs + 2)


def run(config: QualityConfig, generator: torch.Generator) -> dict[str, Any]:
    """Smallest hinge loss after the start, step one (as it is and rescaled), step two and at the end."""
    problem = draw(config, generator)
    stages = learn_features(config, problem)
    nets = {
        "start": stages.start,
        "step1": stages.one,
        "step1_rescaled": rescaled_one_step(stages),
        "step2": stages.two,
    }
    if config.final:
        nets["end"] = _trained(config, problem, stages, generator)
    values: dict[str, Any] = {}
    for name, net in nets.items():
        values |= _quality(config, name, net, problem)
    values["linear_hinge"] = _linear(problem, config).loss
    return values


def _trained(
    config: QualityConfig, problem: Problem, stages: Stages, generator: torch.Generator
) -> PatternNet:
    net = train_method(config, "network", problem, stages, generator).net
    assert net is not None
    return net


def features(net: PatternNet, x: Tensor) -> Tensor:
    """Truncated-ReLU features in double precision, for weights of any scale."""
    assert net.net.b is not None
    return TruncatedRelu()(x.double() @ net.net.W.double().T + net.net.b.double())


def _quality(config: QualityConfig, name: str, net: PatternNet, problem: Problem) -> dict[str, Any]:
    train, test = problem.train.take(slice(0, config.n_program)), problem.test
    H = features(net, train.x)
    best = smallest_hinge(H[:, : config.pairs] if name == "start" else H, train.y)
    if name == "start":  # partners have equal features
        on_test = features(net, test.x)[:, : config.pairs]
    else:
        on_test = features(net, test.x)
    margin = torch.from_numpy(best.output(on_test)) * test.y.double()
    return {
        f"{name}_loss": best.loss,
        f"{name}_test_loss": float((1 - margin).clamp_min(0).mean()),
        f"{name}_test_error": float((margin <= 0).double().mean()),
        f"{name}_features": best.rank,
        f"{name}_largest_weight": smallest_weights(H, train.y) if best.loss < 1e-9 else float("inf"),
    }


def _linear(problem: Problem, config: QualityConfig) -> BestClassifier:
    """The best linear function of the count itself, what tiny (unkinked) features can express at most."""
    train = problem.train.take(slice(0, config.n_program))
    return smallest_hinge((train.x.double() @ problem.direction).unsqueeze(1), train.y)


_BASE = QualityConfig(
    d=500, D=100, k=5, n=20_000, pairs=50, steps=600, methods=(), lr_a=(50.0,), n_test=4000, final=False
)
_TINY = replace(_BASE, d=20, D=20, n=2000, pairs=15, steps=40, n_program=200, n_test=500, final=True)

LEM23 = Experiment(
    name="features.lem23",
    title="Is the second step needed: what does the best classifier reach on the features of each stage?",
    paper="features",
    presets={
        "tiny": Preset(config=_TINY, grid={"p_o": (0.25, 0.5)}, seeds=2, cell_seconds=0.2),
        "quick": Preset(
            config=_BASE,
            points=({"n": 5000}, {"n": 50_000, "final": True}, {"n": 50_000, "p_o": 0.1}),
            seeds=3,
            cell_seconds=2,
        ),
        "full": Preset(
            config=replace(_BASE, final=True, pairs=300, lr_a=(10.0,), n_program=4000),
            grid={"n": (5000, 10_000, 50_000), "p_o": (0.05, 0.1, 0.25, 0.5)},
            seeds=5,
            cell_seconds=30,
        ),
    },
    run=run,
    undefined={
        f"{stage}_largest_weight": "infinite where no weights classify all samples with hinge loss zero"
        for stage in ("start", "step1", "step1_rescaled", "step2", "end")
    },
)
