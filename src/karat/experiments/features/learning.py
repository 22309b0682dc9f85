"""Learning from patterns: the settings of a run, its data and start, and the two feature-learning steps."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from karat.core.activations import SmoothedTruncatedRelu, TruncatedRelu
from karat.core.checks import require_choice, require_integer, require_number
from karat.data import (
    Normaliser,
    PatternDictionary,
    PatternLaw,
    Samples,
    hidden_representation_law,
    interval_law,
    majority_law,
    parity_law,
)
from karat.training.feature_steps import class_weights, feature_step, rank_one_step
from karat.training.reduction.pattern_space import PatternNet, start_in_pattern_space

METHODS = (
    "network",
    "ntk",
    "rf",
    "one_step",
    "one_step_rescaled",
    "two_step",
    "network_unstructured",
    "ntk_unstructured",
    "rf_unstructured",
)
POSITIVE = ("lr_first", "lr_second", "lr_hidden", "p_relevant")
COUNTS = ("d", "D", "k", "n", "pairs", "n_test", "n_validation", "batch_size", "codes_per_label")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run.

    Args:
        task: labels of the patterns; d, D, k: input dimension, patterns, relevant patterns;
        n: training samples; pairs: pairs of neurons, the paper's m (2 m neurons); steps: T, with both
            feature-learning steps; p_o: share of coins in the mixture of Theorem 2; negative_rate: P(y = -1);
        low, high, p_relevant: of interval labels; codes_per_label: of hidden representations;
        dictionary, sigma_zeta: patterns in R^d and input noise (the general setting of App F);
        engine: "reduced" to pattern space (exact for orthonormal patterns), "input" space, or "auto";
        methods: what is trained; n_validation: samples on which every learning rate is chosen, first best of
            the candidates; n_kernel: samples of the closed-form NTK, 0 for none;
        lr_first, lr_second: of the feature steps; sigma_xi: their neuron noise, None for k^(-3/2);
        second_step: "closed" form, "full" gradient, or "auto" (closed where it is valid);
        weighted: class weights in the feature steps; sd_W: of the start, None for 1/k;
        lr_a: candidate rates of the output weights, for the network and (lr_top) on learned features;
        lr_hidden: rate of the other weights; lr_ntk, lr_rf: candidates of the fixed features;
        sampling, optimiser: of classifier learning; pictures: whether neuron directions are kept.
    """

    task: Literal["parity", "majority", "interval", "hidden"] = "parity"
    d: int
    D: int
    k: int
    n: int
    pairs: int
    steps: int
    p_o: float = 0.5
    negative_rate: float | None = None
    low: int = 20
    high: int = 30
    p_relevant: float = 2 / 3
    codes_per_label: int = 50
    dictionary: Literal["orthonormal", "incoherent"] = "orthonormal"
    sigma_zeta: float = 0.0
    engine: Literal["auto", "reduced", "input"] = "auto"
    methods: tuple[str, ...] = METHODS
    n_test: int = 5000
    n_validation: int = 5000
    n_kernel: int = 0
    lr_first: float = 1e-8
    lr_second: float = 1.0
    sigma_xi: float | None = None
    second_step: Literal["auto", "closed", "full"] = "auto"
    weighted: bool = False
    sd_W: float | None = None
    lr_a: tuple[float, ...] = (10.0,)
    lr_top: tuple[float, ...] = (3.0, 10.0, 30.0)
    lr_hidden: float = 1e-3
    lr_ntk: tuple[float, ...] = (3e-5,)
    lr_rf: tuple[float, ...] = (0.004, 0.02, 0.1)
    momentum: float = 0.95
    batch_size: int = 1000
    sampling: Literal["plain", "balanced"] = "plain"
    optimiser: Literal["sgd", "adam"] = "sgd"
    evaluations: int = 12
    pictures: bool = False

    def __post_init__(self) -> None:
        for name in COUNTS:
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_integer(self.steps, "steps", "Config", minimum=3)
        require_integer(self.evaluations, "evaluations", "Config", minimum=2)
        require_integer(self.n_kernel, "n_kernel", "Config", minimum=0)
        for name in POSITIVE:
            require_number(getattr(self, name), name, "Config", positive=True)
        require_number(self.sigma_zeta, "sigma_zeta", "Config", minimum=0)
        require_number(self.p_o, "p_o", "Config", minimum=0, maximum=0.5)
        if self.sigma_xi is not None:
            require_number(self.sigma_xi, "sigma_xi", "Config", minimum=0)
        for method in self.methods:
            require_choice(method, "methods", "Config", METHODS)
        for name in ("lr_a", "lr_top", "lr_ntk", "lr_rf"):
            if not getattr(self, name):
                raise ValueError(f"`{name}` of `Config` must name at least one rate.")
        if self.task == "hidden" and any(name.endswith("_unstructured") for name in self.methods):
            raise ValueError("`methods` of `Config` cannot remove the structure of the hidden task.")
        self._check_engine()

    def _check_engine(self) -> None:
        if self.dictionary == "orthonormal" and self.d < self.D:
            raise ValueError(f"`D` of `Config` must be at most `d` = {self.d}, got {self.D}.")
        if self.engine == "reduced" and (obstacle := self.obstacle):
            raise ValueError(f"`engine` of `Config` cannot be reduced: {obstacle}; use engine=input.")
        if self.second_step == "closed" and self.sigma_xi == 0:
            raise ValueError("`second_step` of `Config` can be closed only with sigma_xi > 0.")

    @property
    def obstacle(self) -> str | None:
        """Why the run does not reduce to pattern space, or None."""
        if self.dictionary != "orthonormal":
            return "the patterns are not orthonormal"
        if self.sigma_zeta > 0:
            return "input noise leaves the span of the patterns"
        if self.optimiser != "sgd":
            return f"the optimiser {self.optimiser} treats coordinates one by one"
        return None

    @property
    def reduced(self) -> bool:
        """Whether the run goes through pattern space."""
        return self.engine != "input" and self.obstacle is None

    @property
    def noise(self) -> float:
        """sigma_xi of the feature steps."""
        return self.k**-1.5 if self.sigma_xi is None else self.sigma_xi

    @property
    def theory_lr(self) -> float:
        """gamma^2 sigma~ / (k m^3), the paper's first rate, for parity at p_o = 1/2 (sigma~ = sqrt(D)/2)."""
        return 0.25**2 * (self.D**0.5 / 2) / (self.k * self.pairs**3)

    def law(self, generator: torch.Generator, *, structured: bool = True) -> PatternLaw:
        """Law of patterns and label; without structure every pattern is a fair coin."""
        if self.task == "interval":
            return interval_law(
                self.k, low=self.low, high=self.high, p_relevant=self.p_relevant, structured=structured
            )
        if self.task == "hidden":
            return hidden_representation_law(
                self.k, codes_per_label=self.codes_per_label, generator=generator, p_background=self.p_o
            )
        make = parity_law if self.task == "parity" else majority_law
        return make(self.k, p_o=self.p_o, structured=structured)

    def activation(self) -> SmoothedTruncatedRelu | TruncatedRelu:
        """Activation of the feature steps."""
        return SmoothedTruncatedRelu(self.noise) if self.noise > 0 else TruncatedRelu()


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything drawn for a run: normalised samples, the start, and the direction that should be found.

    Args:
        train, validation, test: x in pattern or input coordinates, normalised by training statistics;
        start: net before training; direction: ground truth in the same coordinates;
        scale, label_corr: sigma~ of the training sample and gamma of the law.
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


def draw_model(config: Config, generator: torch.Generator, *, structured: bool = True) -> PatternDictionary:
    """The data model: in pattern space the dictionary is the identity of D dimensions."""
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


def draw(config: Config, generator: torch.Generator) -> Problem:
    """Draw data and start; equal seeds share them across d in pattern space."""
    model = draw_model(config, generator)
    start_seed = int(torch.randint(2**62, (), generator=generator))
    train, validation, test, scale = _samples(config, model, generator)
    corr = abs(model.law.label_corr_balanced)
    if config.task == "hidden":  # relevant patterns differ: gamma is read as their root mean square
        half = (model.law.given(1) - model.law.given(-1)) / 2 @ model.law.presence
        corr = float(half.square().mean().sqrt())
    start = start_in_pattern_space(
        config.d,
        model.d,
        config.pairs,
        sd_W=1 / config.k if config.sd_W is None else config.sd_W,
        sd_a=scale**2 / (corr * config.k**2),
        sd_b=1 / config.k**2,
        activation=config.activation(),
        generator=torch.Generator().manual_seed(start_seed),
        dtype=torch.float32,
    )
    direction = model.class_mean_difference if config.task == "hidden" else model.relevant_sum
    return Problem(train, validation, test, start, direction.double(), scale, corr, model)


def without_structure(config: Config, problem: Problem, generator: torch.Generator) -> Problem:
    """The same start and relevant patterns on inputs whose patterns are all fair coins."""
    law = config.law(generator, structured=False)
    if config.negative_rate is not None:
        law = law.with_negative_rate(config.negative_rate)
    model = replace(problem.model, law=law)
    train, validation, test, scale = _samples(config, model, generator)
    return replace(problem, train=train, validation=validation, test=test, scale=scale, model=model)


def _samples(
    config: Config, model: PatternDictionary, generator: torch.Generator
) -> tuple[Samples, Samples, Samples, float]:
    sizes = (config.n, config.n_validation, config.n_test)
    raw = [model.sample(size, generator=generator, dtype=torch.float32) for size in sizes]
    normaliser = Normaliser.fit(raw[0].x)
    train, validation, test = (normaliser.apply(part) for part in raw)
    return train, validation, test, normaliser.scale


@dataclass(frozen=True, eq=False)
class Stages:
    """The net before training and after each feature step; spread: of the closed form (see RankOneStep)."""

    start: PatternNet
    one: PatternNet
    two: PatternNet
    spread: float
    closed: bool


def learn_features(config: Config, problem: Problem) -> Stages:
    """The two full-batch steps with exact forgetting; step two in closed form where that is valid."""
    x, y = problem.train.x, problem.train.y
    weights = class_weights(y) if config.weighted else None
    start = problem.start
    first = feature_step(start.net, x, y, lr=config.lr_first, weights=weights)
    one = start.moved(first, 0.0)
    spread, closed = float("inf"), False
    if config.second_step != "full" and config.noise > 0:
        short = rank_one_step(first, x, y, lr=config.lr_second, weights=weights)
        spread = short.spread
        closed = short.valid or config.second_step == "closed"
        if closed:
            return Stages(start, one, one.moved(short.net, 0.0), spread, closed)
    decay = 1 / (2 * config.lr_second)
    second = feature_step(first, x, y, lr=config.lr_second, decay_a=decay, weights=weights)
    return Stages(start, one, one.moved(second, 0.0), spread, closed)


def rescaled_one_step(stages: Stages) -> PatternNet:
    """Directions after step one with the lengths, biases and output weights of step two.

    What is left between this and step two is the direction of the weights, which is what "the second step
    improves the features" speaks of.
    """
    one, two = stages.one.net, stages.two.net
    length = torch.linalg.vector_norm(one.W.double(), dim=1, keepdim=True).clamp_min(1e-300)
    wanted = torch.linalg.vector_norm(two.W.double(), dim=1, keepdim=True)
    return stages.two.moved(two.replace(W=(one.W.double() / length * wanted).to(one.W.dtype)))
