"""Settings of a run that learns from patterns."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import torch
from annotated_types import Ge, Interval, Le, MinLen

from karat.core.activations import SmoothedTruncatedRelu, TruncatedRelu
from karat.core.ranges import Count, Inside, NonNegative, Positive, Share, Steps, settings
from karat.data import (
    PatternLaw,
    hidden_representation_law,
    interval_law,
    majority_law,
    parity_law,
)

Method = Literal[
    "network",
    "ntk",
    "rf",
    "one_step",
    "one_step_rescaled",
    "two_step",
    "network_unstructured",
    "ntk_unstructured",
    "rf_unstructured",
]
"""What can be trained; `_unstructured` is the same method on inputs whose patterns are fair coins."""

METHODS: tuple[Method, ...] = get_args(Method)

Rates = Annotated[tuple[NonNegative, ...], MinLen(1)]
"""Candidate learning rates, of which the validation sample chooses."""


@dataclass(frozen=True, kw_only=True)
@settings
class LearningConfig:
    r"""Settings of one run of two feature-learning steps and classifier learning on patterns.

    Args:
        task: labels of the patterns.
        d: input dimension.
        D: patterns.
        k: relevant patterns.
        n: training samples.
        pairs: pairs of neurons, the paper's :math:`m` (:math:`2m` neurons).
        steps: :math:`T`, with both feature-learning steps.
        p_o: share of coins in the mixture of Theorem 2.
        negative_rate: :math:`P(y = -1)`, None for that of the law.
        low: smallest number of relevant patterns with label +1, of interval labels.
        high: largest such number.
        p_relevant: probability of a relevant pattern, of interval labels.
        codes_per_label: of hidden representations.
        dictionary: patterns in :math:`R^d` (the general setting of App F has incoherent ones).
        sigma_zeta: standard deviation of the input noise. Inputs are normalised by their mean square, which
            single precision must hold.
        engine: "reduced" to pattern space (exact for orthonormal patterns), "input" space, or "auto".
        methods: what is trained.
        n_test: samples on which everything is measured.
        n_validation: samples on which every learning rate is chosen, first best of the candidates.
        n_kernel: samples of the closed-form NTK, 0 for none.
        lr_first: rate of the first feature step.
        lr_second: rate of the second.
        sigma_xi: neuron noise of both, None for :math:`k^{-3/2}`.
        second_step: "closed" form, "full" gradient, "auto" (closed where it is valid), or "skipped".
        gradient: "ascent" takes both feature steps up the loss instead of down.
        weighted: class weights in the feature steps.
        sd_W: standard deviation of the first hidden weights, None for :math:`1/k`.
        lr_a: candidate rates of the output weights of the network.
        lr_top: candidate rates of the output weights on learned features.
        lr_hidden: rate of the network's other weights.
        lr_ntk: candidate rates of the NTK.
        lr_rf: candidate rates of random features.
        momentum: of classifier learning.
        batch_size: of classifier learning.
        sampling: "plain" or class-"balanced" batches of classifier learning.
        optimiser: of classifier learning.
        evaluations: points of the accuracy curves.
        pictures: whether neuron directions are kept.
        labels: "permuted" ones of the training sample no longer depend on its inputs.
        fixed_features: whose output weights the method "rf" trains: "random" neurons of the start, or
            steps of the number of relevant patterns, which only who is "told" them can know.
    """

    task: Literal["parity", "majority", "interval", "hidden"] = "parity"
    d: Count
    D: Count
    k: Count
    n: Annotated[int, Ge(2)]
    pairs: Count
    steps: Annotated[int, Ge(3)]
    p_o: Annotated[float, Interval(ge=0, le=0.5)] = 0.5
    negative_rate: Inside | None = None
    low: int = 20
    high: int = 30
    p_relevant: Annotated[float, Ge(1e-6), Le(1)] = 2 / 3
    codes_per_label: Count = 50
    dictionary: Literal["orthonormal", "incoherent"] = "orthonormal"
    sigma_zeta: Annotated[float, Interval(ge=0, le=1e15)] = 0.0
    engine: Literal["auto", "reduced", "input"] = "auto"
    methods: tuple[Method, ...] = METHODS
    n_test: Count = 5000
    n_validation: Count = 5000
    n_kernel: Steps = 0
    lr_first: Positive = 1e-8
    lr_second: Positive = 1.0
    sigma_xi: NonNegative | None = None
    second_step: Literal["auto", "closed", "full", "skipped"] = "auto"
    gradient: Literal["descent", "ascent"] = "descent"
    weighted: bool = False
    sd_W: Positive | None = None
    lr_a: Rates = (10.0,)
    lr_top: Rates = (3.0, 10.0, 30.0)
    lr_hidden: Positive = 1e-3
    lr_ntk: Rates = (3e-5,)
    lr_rf: Rates = (0.004, 0.02, 0.1)
    momentum: Share = 0.95
    batch_size: Count = 1000
    sampling: Literal["plain", "balanced"] = "plain"
    optimiser: Literal["sgd", "adam"] = "sgd"
    evaluations: Annotated[int, Ge(2)] = 12
    pictures: bool = False
    labels: Literal["true", "permuted"] = "true"
    fixed_features: Literal["random", "told"] = "random"

    def __post_init__(self) -> None:
        self._check_engine()
        self._check_law()

    def _check_engine(self) -> None:
        owner = type(self).__name__
        if self.task == "hidden" and any(name.endswith("_unstructured") for name in self.methods):
            raise ValueError(f"`methods` of `{owner}` cannot remove the structure of the hidden task.")
        if self.dictionary == "orthonormal" and self.d < self.D:
            raise ValueError(f"`D` of `{owner}` must be at most `d` = {self.d}, got {self.D}.")
        if self.engine == "reduced" and (obstacle := self.obstacle):
            raise ValueError(f"`engine` of `{owner}` cannot be reduced: {obstacle}; use engine=input.")
        if self.second_step == "closed" and self.sigma_xi == 0:
            raise ValueError(f"`second_step` of `{owner}` can be closed only with sigma_xi > 0.")

    def _check_law(self) -> None:
        owner = type(self).__name__
        if self.k > self.D:
            raise ValueError(f"`k` of `{owner}` must be at most `D` = {self.D}, got {self.k}.")
        if self.k > 1000:  # beyond, binomial coefficients are too large for double precision
            raise ValueError(f"`k` of `{owner}` must be at most 1000, got {self.k}.")
        if self.task != "hidden":
            self.law(torch.Generator())  # its own checks: of k, low, high and the probabilities
        elif 2 * self.codes_per_label > 2**self.k:
            raise ValueError(
                f"`codes_per_label` of `{owner}` must be at most 2^k / 2 = {2**self.k // 2}, "
                f"got {self.codes_per_label}."
            )

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
        r""":math:`\sigma_\xi` of the feature steps."""
        return self.k**-1.5 if self.sigma_xi is None else self.sigma_xi

    @property
    def start_sd(self) -> float:
        """Standard deviation of the first hidden weights."""
        return 1 / self.k if self.sd_W is None else self.sd_W

    @property
    def theory_lr(self) -> float:
        r"""The paper's first rate :math:`\gamma^2 \tilde\sigma / (k m^3)`, for parity at :math:`p_o = 1/2`.

        There :math:`\gamma = 1/4` and :math:`\tilde\sigma = \sqrt{D}/2`.
        """
        return 0.25**2 * (self.D**0.5 / 2) / (self.k * self.pairs**3)

    def law(self, generator: torch.Generator, *, structured: bool = True) -> PatternLaw:
        """Return the law of patterns and label.

        Args:
            generator: draws the code book of the hidden task.
            structured: whether the law has input structure; without it every pattern is a fair coin.
        """
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
