"""How each method of Tables 1 to 5 is trained; its rate is chosen on the validation sample."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.data import Samples
from karat.nets import TwoLayer
from karat.papers.features.experiments.landmarks import Movement, movement
from karat.papers.features.experiments.learning import LearningProblem, Stages, rescaled_one_step
from karat.papers.features.experiments.scores import accuracy, outputs
from karat.papers.features.experiments.settings import LearningConfig
from karat.reductions.span.pattern_space import PatternNet
from karat.training.classifier_learning import ClassifierLearning
from karat.training.fixed_features import LinearLearning, Tangent, distinct_half

Curve = list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished classifier.

    Args:
        output: inputs -> outputs.
        lr: the chosen rate.
        curve: (step, test accuracy).
        net: with its hidden weights, None for the NTK.
        weight_norm: length of the output weights on fixed features, None for the network.
        moved: how far classifier learning moved the hidden weights, None where they are fixed.
        on_train: outputs on the training sample, where its features are at hand.
    """

    output: Callable[[Tensor], Tensor]
    lr: float
    curve: Curve
    net: PatternNet | None = None
    weight_norm: float | None = None
    moved: Movement | None = None
    on_train: Tensor | None = None


def train_method(
    config: LearningConfig,
    name: str,
    problem: LearningProblem,
    stages: Stages,
    generator: torch.Generator,
    rates: tuple[float, ...] | None = None,
) -> Trained:
    """Train one method with each candidate rate and keep the best on the validation sample.

    Args:
        config: settings of the run.
        name: of the method, without `_unstructured`.
        problem: data and start.
        stages: of feature learning on these data.
        generator: draws the seed of the batches.
        rates: instead of the config's candidates.
    """
    seed = int(torch.randint(2**62, (), generator=generator))
    if name == "network":
        train = partial(_network, config, problem, stages.two, seed)
        return _first_best(train, rates or config.lr_a, problem.validation)
    if name == "ntk":
        train = partial(_ntk, config, problem, seed)
        return _first_best(train, rates or config.lr_ntk, problem.validation)
    if name == "rf":
        neurons = stages.start if config.fixed_features == "random" else _told(config, problem)
        return _on_features(config, rates or config.lr_rf, problem, neurons, seed, fixed=True)
    learned = {"one_step": stages.one, "one_step_rescaled": rescaled_one_step(stages), "two_step": stages.two}
    return _on_features(config, rates or config.lr_top, problem, learned[name], seed)


def _told(config: LearningConfig, problem: LearningProblem) -> PatternNet:
    """Neurons 1[s >= p], p = 0..k, of the number s of relevant patterns: features that know A."""
    direction, start, size = problem.direction, problem.start, config.k + 1
    mean = float(problem.model.pattern_mean[problem.model.A].sum())
    # Inputs are centred and divided by the scale: scale <direction, x> + mean is the count.
    W = problem.scale * direction.repeat(2 * size, 1)
    b = (mean + 1 - torch.arange(size, dtype=torch.float64)).repeat(2)
    a = torch.ones(2 * size)
    return start.moved(start.net.replace(W=W.to(a), b=b.to(a), a=a), 0.0)


def evaluation_steps(steps: int, evaluations: int) -> list[int]:
    """Return the steps of a curve: 1 to the last, more of them early.

    Args:
        steps: the last one.
        evaluations: points of the curve, fewer where steps coincide.

    >>> evaluation_steps(100, 4)
    [1, 12, 45, 100]
    """
    grid = [round(1 + (steps - 1) * (i / (evaluations - 1)) ** 2) for i in range(evaluations)]
    return sorted(set(grid))


def _first_best(train: Callable[[float], Trained], rates: Sequence[float], validation: Samples) -> Trained:
    """The rate of highest validation accuracy; none is tried after one without errors."""
    best, best_accuracy = None, -1.0
    for lr in rates:
        trained = train(lr)
        reached = accuracy(outputs(trained.output, validation.x), validation.y)
        if reached > best_accuracy:
            best, best_accuracy = trained, reached
        if best_accuracy == 1:
            break
    assert best is not None
    return best


def _network(
    config: LearningConfig, problem: LearningProblem, start: PatternNet, seed: int, lr: float
) -> Trained:
    """Classifier learning of all weights after the two feature steps."""
    stage = ClassifierLearning(
        steps=config.steps - 2,
        lr_a=lr,
        lr_W=config.lr_hidden,
        momentum=config.momentum,
        batch_size=config.batch_size,
        sampling=config.sampling,
        optimiser=config.optimiser,
    )

    def observe(step: int, net: TwoLayer) -> float:
        return accuracy(outputs(net, problem.test.x), problem.test.y)

    # The neurons' noise belongs to the feature steps: from here on the activation is not smoothed.
    net, curve = stage.run(
        start.net.replace(activation=TruncatedRelu()),
        problem.train.x,
        problem.train.y,
        generator=torch.Generator().manual_seed(seed),
        observe=observe,
        observe_at=evaluation_steps(stage.steps, config.evaluations),
    )
    moved = movement(start.net, net, steps=stage.steps, lr=config.lr_hidden)
    # Both feature steps count: the curve continues after them.
    return Trained(net, lr, [(step + 2, value) for step, value in curve], start.moved(net), moved=moved)


def _ntk(config: LearningConfig, problem: LearningProblem, seed: int, lr: float) -> Trained:
    """Hinge SGD on the gradient features of the start."""
    half = distinct_half(problem.start.net.replace(activation=TruncatedRelu()))
    # One half of the pairs at twice the rate is the same as both halves.
    plan = LinearLearning(steps=config.steps, lrs=(2 * lr,), batch_size=config.batch_size)

    def observe(step: int, model: Tangent) -> float:
        return accuracy(outputs(model, problem.test.x), problem.test.y)

    model, curve = plan.on_tangents(
        half,
        problem.train.x,
        problem.train.y,
        generator=torch.Generator().manual_seed(seed),
        observe=observe,
        observe_at=evaluation_steps(config.steps, config.evaluations),
    )
    return Trained(model, lr, curve, weight_norm=model.norm)


def _on_features(
    config: LearningConfig,
    lrs: tuple[float, ...],
    problem: LearningProblem,
    net: PatternNet,
    seed: int,
    *,
    fixed: bool = False,
) -> Trained:
    """Train output weights on frozen neurons; all rates at once, the best on the validation sample kept.

    `fixed` neurons are those of the start: pairs share their features, and no feature steps were spent.
    """
    frozen = net.net.replace(activation=TruncatedRelu())
    frozen = distinct_half(frozen) if fixed else frozen
    feature_steps = 0 if fixed else 2
    plan = LinearLearning(
        steps=config.steps - feature_steps,
        lrs=tuple(2 * lr for lr in lrs) if fixed else lrs,
        momentum=0.9 if fixed else config.momentum,
        batch_size=config.batch_size,
    )

    def hidden(x: Tensor) -> Tensor:
        return frozen.activation(frozen.preactivations(x))

    on_train, on_test, on_validation = (
        outputs(hidden, sample.x) for sample in (problem.train, problem.test, problem.validation)
    )
    a, curves = plan.on_features(
        on_train,
        problem.train.y,
        generator=torch.Generator().manual_seed(seed),
        start=None if fixed else frozen.a,
        observe=lambda step, a: _accuracies(on_test, a, problem.test.y),
        observe_at=evaluation_steps(plan.steps, config.evaluations),
    )
    accuracies = _accuracies(on_validation, a, problem.validation.y)
    best = accuracies.index(max(accuracies))
    weights = a[best]
    return Trained(
        lambda x: hidden(x) @ weights,
        lrs[best],
        [(step + feature_steps, values[best]) for step, values in curves],
        net,
        float(torch.linalg.vector_norm(weights.double())),
        on_train=on_train @ weights,
    )


def _accuracies(H: Tensor, a: Tensor, y: Tensor) -> list[float]:
    """Of several output weights a (c, N) on the same features H (n, N)."""
    return [accuracy(H @ row, y) for row in a]
