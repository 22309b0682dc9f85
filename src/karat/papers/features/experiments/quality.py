"""Lemma 23 without learning rates: what the best classifier reaches on the features of every stage."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.core.checks import require_integer
from karat.papers.features.experiments.learning import (
    LearningProblem,
    Stages,
    draw,
    learn_features,
    rescaled_one_step,
)
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.train_methods import train_method
from karat.probes.feature_quality import smallest_hinge, smallest_weights
from karat.reductions.span.pattern_space import PatternNet
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
class QualityConfig(LearningConfig):
    """Settings of a run with linear programs.

    Args:
        n_program: training samples of the programs, at least two more than neurons.
        final: whether the network is trained to its end too.
    """

    n_program: int = 1000
    final: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.n_program, "n_program", type(self).__name__, minimum=2 * self.pairs + 2)


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The best linear classifier on the features of a stage.

    Args:
        loss: its hinge loss on the samples of the program, the smallest possible.
        test_loss: its hinge loss on the test sample.
        test_error: its test error.
        features: number of features that are no constants.
        largest_weight: smallest |a|_inf with which some classifier has hinge loss zero.
    """

    loss: float
    test_loss: float
    test_error: float
    features: int
    largest_weight: Annotated[
        float, Undefined("infinite where no weights classify all samples with hinge loss zero")
    ]


@dataclass(frozen=True, kw_only=True)
class QualityResult:
    """What the best classifier reaches at every stage.

    Args:
        start: on random features.
        step1: after the first step.
        step1_rescaled: with the directions of step one and the lengths of step two.
        step2: after the second step.
        linear_hinge: smallest hinge loss of a linear function of the count.
        end: on the trained network's features, if it was trained.
    """

    start: Quality
    step1: Quality
    step1_rescaled: Quality
    step2: Quality
    linear_hinge: float
    end: Quality | None = None

    @property
    def stages(self) -> dict[str, Quality]:
        """The stages that were looked at, by the names of the fields."""
        named = {
            "start": self.start,
            "step1": self.step1,
            "step1_rescaled": self.step1_rescaled,
            "step2": self.step2,
        }
        return named if self.end is None else {**named, "end": self.end}


def run(config: QualityConfig, generator: torch.Generator) -> QualityResult:
    """Solve for the smallest hinge loss at the start, after each step (one also rescaled) and at the end.

    Args:
        config: settings of the run.
        generator: draws data, start and batches.
    """
    problem = draw(config, generator)
    stages = learn_features(config, problem)
    end = _trained(config, problem, stages, generator) if config.final else None
    # Partners of a pair have equal features before training: one half holds all of them.
    return QualityResult(
        start=_quality(config, stages.start, problem, distinct=config.pairs),
        step1=_quality(config, stages.one, problem),
        step1_rescaled=_quality(config, rescaled_one_step(stages), problem),
        step2=_quality(config, stages.two, problem),
        linear_hinge=_linear_hinge(config, problem),
        end=None if end is None else _quality(config, end, problem),
    )


def _trained(
    config: QualityConfig, problem: LearningProblem, stages: Stages, generator: torch.Generator
) -> PatternNet:
    net = train_method(config, "network", problem, stages, generator).net
    assert net is not None
    return net


def features(net: PatternNet, x: Tensor) -> Tensor:
    """Return truncated-ReLU features (n, m) in double precision, for weights of any scale.

    Args:
        net: whose hidden layer.
        x: (n, D) inputs.
    """
    assert net.net.b is not None
    return TruncatedRelu()(x.double() @ net.net.W.double().T + net.net.b.double())


def _quality(
    config: QualityConfig, net: PatternNet, problem: LearningProblem, distinct: int | None = None
) -> Quality:
    """The program on the first `distinct` features, all of them by default."""
    train, test = problem.train.take(slice(0, config.n_program)), problem.test
    H = features(net, train.x)
    best = smallest_hinge(H[:, :distinct], train.y)
    margin = torch.from_numpy(best.output(features(net, test.x)[:, :distinct])) * test.y.double()
    return Quality(
        loss=best.loss,
        test_loss=float((1 - margin).clamp_min(0).mean()),
        test_error=float((margin <= 0).double().mean()),
        features=best.rank,
        # Both halves, since a weight on each of two equal features is half as large.
        largest_weight=smallest_weights(H, train.y) if best.loss < 1e-9 else float("inf"),
    )


def _linear_hinge(config: QualityConfig, problem: LearningProblem) -> float:
    """Of the best linear function of the count, all that tiny (unkinked) features can express."""
    train = problem.train.take(slice(0, config.n_program))
    return smallest_hinge((train.x.double() @ problem.direction).unsqueeze(1), train.y).loss


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
            cell_seconds=0.52,
        ),
        "full": Preset(
            config=replace(_BASE, final=True, pairs=300, lr_a=(10.0,), n_program=4000),
            grid={"n": (5000, 10_000, 50_000), "p_o": (0.05, 0.1, 0.25, 0.5)},
            seeds=5,
            cell_seconds=30,
        ),
    },
    run=run,
)
