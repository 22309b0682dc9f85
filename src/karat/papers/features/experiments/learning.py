"""Learning from patterns: the data and start of a run, and the two feature-learning steps."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.data import Normaliser, PatternDictionary, Samples
from karat.papers.features.experiments.settings import LearningConfig
from karat.reductions.span.pattern_space import PatternNet, start_in_pattern_space
from karat.training.feature_steps import class_weights, feature_step, rank_one_step


@dataclass(frozen=True, eq=False)
class LearningProblem:
    r"""Everything drawn for a run: normalised samples, the start, and the direction that should be found.

    Args:
        train: x in pattern or input coordinates, normalised by its own statistics.
        validation: normalised by those of `train`.
        test: normalised by those of `train`.
        start: net before training.
        direction: ground truth in the same coordinates.
        scale: :math:`\tilde\sigma` of the training sample.
        label_corr: :math:`\gamma` of the law.
        model: the law of the data with its dictionary.
    """

    train: Samples
    validation: Samples
    test: Samples
    start: PatternNet
    direction: Tensor
    scale: float
    label_corr: float
    model: PatternDictionary

    def majority(self) -> float:
        """Accuracy on the test sample of the better constant answer."""
        positive = float((self.test.y > 0).double().mean())
        return max(positive, 1 - positive)


def draw_model(
    config: LearningConfig, generator: torch.Generator, *, structured: bool = True
) -> PatternDictionary:
    """Return the data model; in pattern space its dictionary is the identity of D dimensions.

    Args:
        config: settings of the run.
        generator: draws the dictionary and the relevant patterns.
        structured: whether the inputs have structure; without it every pattern is a fair coin.
    """
    law = config.law(generator, structured=structured)
    return PatternDictionary.draw(
        law,
        d=config.D if config.reduced else config.d,
        D=config.D,
        dictionary="identity" if config.reduced else config.dictionary,
        negative_rate=config.negative_rate,
        sigma_zeta=config.sigma_zeta,
        normalise=False,
        generator=generator,
    )


def draw(config: LearningConfig, generator: torch.Generator) -> LearningProblem:
    """Draw data and start; equal seeds share them across d in pattern space.

    Args:
        config: settings of the run.
        generator: draws everything.
    """
    model = draw_model(config, generator)
    start_seed = int(torch.randint(2**62, (), generator=generator))
    train, validation, test, scale = _samples(config, model, generator)
    label_corr = abs(model.law.label_corr_balanced)
    if config.task == "hidden":  # relevant patterns differ: gamma is read as their root mean square
        half = (model.law.given(1) - model.law.given(-1)) / 2 @ model.law.presence
        label_corr = float(half.square().mean().sqrt())
    start = start_in_pattern_space(
        config.d,
        model.d,
        config.pairs,
        sd_W=config.start_sd,
        sd_a=scale**2 / (label_corr * config.k**2),
        sd_b=1 / config.k**2,
        activation=config.activation(),
        generator=torch.Generator().manual_seed(start_seed),
        dtype=torch.float32,
    )
    direction = model.class_mean_difference if config.task == "hidden" else model.relevant_sum
    return LearningProblem(train, validation, test, start, direction.double(), scale, label_corr, model)


def without_structure(
    config: LearningConfig, problem: LearningProblem, generator: torch.Generator
) -> LearningProblem:
    """Return the same start and relevant patterns with inputs whose patterns are all fair coins.

    Args:
        config: settings of the run.
        problem: with structure.
        generator: draws the new samples.
    """
    law = config.law(generator, structured=False)
    if config.negative_rate is not None:
        law = law.with_negative_rate(config.negative_rate)
    model = replace(problem.model, law=law)
    train, validation, test, scale = _samples(config, model, generator)
    return replace(problem, train=train, validation=validation, test=test, scale=scale, model=model)


def _samples(
    config: LearningConfig, model: PatternDictionary, generator: torch.Generator
) -> tuple[Samples, Samples, Samples, float]:
    """Training, validation and test sample, and the scale by which all of them were divided."""
    sizes = (config.n, config.n_validation, config.n_test)
    raw = [model.sample(size, generator=generator, dtype=torch.float32) for size in sizes]
    if config.labels == "permuted":
        raw[0] = permuted(raw[0], generator)
    normaliser = Normaliser.fit(raw[0].x)
    train, validation, test = (normaliser.apply(sample) for sample in raw)
    return train, validation, test, normaliser.scale


def permuted(samples: Samples, generator: torch.Generator) -> Samples:
    """Return the same inputs with their labels in random order: a world in which they say nothing.

    Args:
        samples: whose labels are shuffled.
        generator: draws the order.
    """
    y = samples.y[torch.randperm(len(samples), generator=generator)]
    return Samples.clean(samples.x, y, z=samples.z, component=samples.component)


@dataclass(frozen=True, eq=False)
class Stages:
    """The net before training and after each feature step.

    Args:
        start: before training.
        one: after the first step.
        two: after the second.
        spread: of the closed form of step two (see `RankOneStep`), infinite where it was not tried.
        closed: whether step two was taken in closed form.
    """

    start: PatternNet
    one: PatternNet
    two: PatternNet
    spread: float
    closed: bool


def learn_features(config: LearningConfig, problem: LearningProblem) -> Stages:
    """Take the two full-batch steps with exact forgetting; step two in closed form where that is valid.

    Args:
        config: settings of the run.
        problem: data and start.
    """
    x, y = problem.train.x, problem.train.y
    weights = class_weights(y) if config.weighted else None
    if config.gradient == "ascent":
        y = -y  # at outputs near zero the hinge gradient is odd in the label: this turns its sign
    start = problem.start
    first = feature_step(start.net, x, y, lr=config.lr_first, weights=weights)
    # The decay of both steps is 1/(2 lr): nothing is kept of the weights before them, also outside the span.
    one = start.moved(first, 0.0)
    spread, closed = float("inf"), False
    if config.second_step == "skipped":
        return Stages(start, one, one, spread, closed)
    if config.second_step != "full" and config.noise > 0:
        rank_one = rank_one_step(first, x, y, lr=config.lr_second, weights=weights)
        spread = rank_one.spread
        closed = rank_one.valid or config.second_step == "closed"
        if closed:
            return Stages(start, one, one.moved(rank_one.net, 0.0), spread, closed)
    decay = 1 / (2 * config.lr_second)
    second = feature_step(first, x, y, lr=config.lr_second, decay_a=decay, weights=weights)
    return Stages(start, one, one.moved(second, 0.0), spread, closed)


def rescaled_one_step(stages: Stages) -> PatternNet:
    """Return the directions after step one with the lengths, biases and output weights of step two.

    What is left between this and step two is the direction of the weights, which is what "the second step
    improves the features" speaks of.
    """
    one, two = stages.one.net, stages.two.net
    length = torch.linalg.vector_norm(one.W.double(), dim=1, keepdim=True).clamp_min(1e-300)
    length_two = torch.linalg.vector_norm(two.W.double(), dim=1, keepdim=True)
    return stages.two.moved(two.replace(W=(one.W.double() / length * length_two).to(one.W.dtype)))
