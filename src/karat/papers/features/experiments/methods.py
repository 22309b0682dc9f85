"""The methods of Tables 1 to 5: train each one, choose its rate on the validation sample, measure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.data import Samples
from karat.nets import TwoLayer
from karat.papers.features.experiments.directions import direction_pictures, rounding_values
from karat.papers.features.experiments.landmarks import (
    closed_form_ntk,
    label_strength,
    movement,
    plateau_values,
)
from karat.papers.features.experiments.learning import (
    Config,
    Problem,
    Stages,
    draw,
    learn_features,
    rescaled_one_step,
    without_structure,
)
from karat.papers.features.experiments.scores import accuracy, hinge, outputs
from karat.reductions.span.pattern_space import PatternNet
from karat.training.classifier_learning import ClassifierLearning
from karat.training.fixed_features import (
    LinearLearning,
    Tangent,
    distinct_half,
)

Curve = list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished classifier: its outputs as a function, its curve and what else is known about it."""

    output: Callable[[Tensor], Tensor]
    lr: float
    curve: Curve
    net: PatternNet | None = None
    weight_norm: float | None = None
    moved: tuple[float, float] | None = None


def measure(name: str, trained: Trained, problem: Problem) -> dict[str, Any]:
    """Accuracies, hinge loss, best cosine, rate and curve of a method, under its name."""
    test, train = problem.test, problem.train
    f = outputs(trained.output, test.x)
    values: dict[str, Any] = {
        f"{name}_train": accuracy(outputs(trained.output, train.x), train.y),
        f"{name}_test": accuracy(f, test.y),
        f"{name}_hinge": hinge(f, test.y),
        f"{name}_zero": float((f == 0).double().mean()),
        f"{name}_lr": trained.lr,
        f"{name}_curve_steps": [step for step, _ in trained.curve],
        f"{name}_curve": [value for _, value in trained.curve],
    }
    if trained.net is not None:
        values |= cosine_values(name, trained.net, problem)
    if trained.weight_norm is not None:
        values[f"{name}_weight_norm"] = trained.weight_norm
    if trained.moved is not None:
        values[f"{name}_moved"], values[f"{name}_moved_over_bound"] = trained.moved
    return values


def cosine_values(name: str, net: PatternNet, problem: Problem) -> dict[str, float]:
    """Largest signed cosine to the ground truth over neurons, and the mean of its absolute value.

    Reading: the tables' metric is the maximum of the signed cosine over all 2 m neurons.

    Ref: features, Sec E.1
    """
    cosines = net.cosines(problem.direction)
    return {f"{name}_cos": float(cosines.max()), f"{name}_cos_mean": float(cosines.abs().mean())}


def run_methods(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train every method of the config on the same data and start."""
    problem = draw(config, generator)
    stages = learn_features(config, problem)
    values: dict[str, Any] = {
        "majority": problem.majority(),
        "scale": problem.scale,
        "label_corr": problem.label_corr,
        "closed_form_spread": stages.spread,
        "closed_form": stages.closed,
        **plateau_values(config),
    }
    for name, net in (("start", stages.start), ("step1", stages.one), ("step2", stages.two)):
        values |= cosine_values(name, net, problem)
    values |= rounding_values(config, problem, stages, generator)
    chosen: dict[str, float] = {}
    last = stages.two
    wanted = [name for name in config.methods if not name.endswith("_unstructured")]
    for name in wanted:
        trained = train_method(config, name, problem, stages, generator)
        chosen[name] = trained.lr
        values |= measure(name, trained, problem)
        last = trained.net or last if name == "network" else last
    if config.n_kernel and "ntk" in wanted:
        values |= closed_form_ntk(config, problem)
    if config.pictures:
        values["pictures"] = direction_pictures(stages, last, problem.direction)
    values |= _unstructured(config, problem, chosen, generator)
    return values


def _unstructured(
    config: Config, problem: Problem, chosen: dict[str, float], generator: torch.Generator
) -> dict[str, Any]:
    """The same methods on coins; rates are those chosen on structured data where there are any."""
    names = [name for name in config.methods if name.endswith("_unstructured")]
    if not names:
        return {}
    free = without_structure(config, problem, generator)
    stages = learn_features(config, free)
    values: dict[str, Any] = {"majority_unstructured": free.majority()}
    for name in names:
        method = name.removesuffix("_unstructured")
        fixed = (chosen[method],) if method in chosen else None
        values |= measure(name, train_method(config, method, free, stages, generator, fixed), free)
    if "rf_unstructured" in names:
        values["rf_unstructured_strength"] = label_strength(free)
    return values


def train_method(
    config: Config,
    name: str,
    problem: Problem,
    stages: Stages,
    generator: torch.Generator,
    rates: tuple[float, ...] | None = None,
) -> Trained:
    """Train one method with each candidate rate and keep the best on the validation sample."""
    seed = int(torch.randint(2**62, (), generator=generator))
    if name == "network":
        train = partial(_network, config, problem, stages.two, seed)
        return _first_best(train, rates or config.lr_a, problem.validation)
    if name == "ntk":
        train = partial(_ntk, config, problem, seed)
        return _first_best(train, rates or config.lr_ntk, problem.validation)
    learned = {"one_step": stages.one, "one_step_rescaled": rescaled_one_step(stages), "two_step": stages.two}
    if name == "rf":
        return _on_features(config, rates or config.lr_rf, problem, stages.start, seed, fixed=True)
    return _on_features(config, rates or config.lr_top, problem, learned[name], seed)


def _first_best(train: Callable[[float], Trained], rates: Sequence[float], validation: Samples) -> Trained:
    """The rate of highest validation accuracy; none is tried after one without errors."""
    best, score = None, -1.0
    for lr in rates:
        trained = train(lr)
        reached = accuracy(outputs(trained.output, validation.x), validation.y)
        if reached > score:
            best, score = trained, reached
        if score == 1:
            break
    assert best is not None
    return best


def evaluation_steps(steps: int, evaluations: int) -> list[int]:
    """Steps of a curve: 1 to the last, more of them early.

    >>> evaluation_steps(100, 4)
    [1, 12, 45, 100]
    """
    grid = [round(1 + (steps - 1) * (i / (evaluations - 1)) ** 2) for i in range(evaluations)]
    return sorted(set(grid))


def _network(config: Config, problem: Problem, start: PatternNet, seed: int, lr: float) -> Trained:
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

    net, curve = stage.run(
        start.net.replace(activation=TruncatedRelu()),
        problem.train.x,
        problem.train.y,
        generator=torch.Generator().manual_seed(seed),
        observe=observe,
        observe_at=evaluation_steps(stage.steps, config.evaluations),
    )
    shifted = [(step + 2, value) for step, value in curve]
    moved = movement(start.net, net, steps=stage.steps, lr=config.lr_hidden)
    return Trained(net, lr, shifted, start.moved(net), moved=moved)


def _ntk(config: Config, problem: Problem, seed: int, lr: float) -> Trained:
    """Hinge SGD on the gradient features of the start."""
    half = distinct_half(problem.start.net.replace(activation=TruncatedRelu()))
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
    config: Config,
    lrs: tuple[float, ...],
    problem: Problem,
    net: PatternNet,
    seed: int,
    *,
    fixed: bool = False,
) -> Trained:
    """Train output weights on frozen neurons; all rates at once, the best on the validation sample kept."""
    frozen = net.net.replace(activation=TruncatedRelu())
    frozen = distinct_half(frozen) if fixed else frozen
    plan = LinearLearning(
        steps=config.steps if fixed else config.steps - 2,
        lrs=tuple(2 * lr for lr in lrs) if fixed else lrs,
        momentum=0.9 if fixed else config.momentum,
        batch_size=config.batch_size,
    )

    def hidden(x: Tensor) -> Tensor:
        return frozen.activation(frozen.preactivations(x))

    on_test = hidden(problem.test.x)

    def observe(step: int, a: Tensor) -> list[float]:
        return [accuracy(on_test @ row, problem.test.y) for row in a]

    a, curves = plan.on_features(
        outputs(hidden, problem.train.x),
        problem.train.y,
        generator=torch.Generator().manual_seed(seed),
        start=None if fixed else frozen.a,
        observe=observe,
        observe_at=evaluation_steps(plan.steps, config.evaluations),
    )
    on_validation = hidden(problem.validation.x)
    scores = [accuracy(on_validation @ row, problem.validation.y) for row in a]
    best = scores.index(max(scores))
    weights = a[best]
    later = 0 if fixed else 2
    return Trained(
        lambda x: hidden(x) @ weights,
        lrs[best],
        [(step + later, values[best]) for step, values in curves],
        net,
        float(torch.linalg.vector_norm(weights.double())),
    )
