"""Settings of a run that learns from patterns."""

from dataclasses import dataclass
from typing import Literal

import torch

from karat.core.activations import SmoothedTruncatedRelu, TruncatedRelu
from karat.core.checks import (
    require_choice,
    require_integer,
    require_number,
    require_settings,
    require_share,
)
from karat.data import (
    PatternLaw,
    hidden_representation_law,
    interval_law,
    majority_law,
    parity_law,
)

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
        task: labels of the patterns.
        d, D, k: input dimension, patterns, relevant patterns.
        n: training samples.
        pairs: pairs of neurons, the paper's m (2 m neurons).
        steps: T, with both feature-learning steps.
        p_o: share of coins in the mixture of Theorem 2.
        negative_rate: P(y = -1).
        low, high, p_relevant: of interval labels.
        codes_per_label: of hidden representations.
        dictionary, sigma_zeta: patterns in R^d and input noise (the general setting of App F).
        engine: "reduced" to pattern space (exact for orthonormal patterns), "input" space, or "auto".
        methods: what is trained.
        n_validation: samples on which every learning rate is chosen, first best of the candidates.
        n_kernel: samples of the closed-form NTK, 0 for none.
        lr_first, lr_second: of the feature steps.
        sigma_xi: their neuron noise, None for k^(-3/2).
        second_step: "closed" form, "full" gradient, or "auto" (closed where it is valid).
        weighted: class weights in the feature steps.
        sd_W: of the start, None for 1/k.
        lr_a: candidate rates of the output weights, for the network and (lr_top) on learned features.
        lr_hidden: rate of the other weights.
        lr_ntk, lr_rf: candidates of the fixed features.
        sampling, optimiser: of classifier learning.
        pictures: whether neuron directions are kept.
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
        require_integer(self.n, "n", "Config", minimum=2)
        require_integer(self.steps, "steps", "Config", minimum=3)
        require_integer(self.evaluations, "evaluations", "Config", minimum=2)
        require_integer(self.n_kernel, "n_kernel", "Config", minimum=0)
        for name in POSITIVE:
            require_number(getattr(self, name), name, "Config", positive=True)
        # Inputs are normalised by their mean square, which single precision must hold.
        require_number(self.sigma_zeta, "sigma_zeta", "Config", minimum=0, maximum=1e15)
        require_number(self.p_o, "p_o", "Config", minimum=0, maximum=0.5)
        if self.sigma_xi is not None:
            require_number(self.sigma_xi, "sigma_xi", "Config", minimum=0)
        if self.sd_W is not None:
            require_number(self.sd_W, "sd_W", "Config", positive=True)
        require_number(self.momentum, "momentum", "Config", minimum=0, maximum=1)
        for method in self.methods:
            require_choice(method, "methods", "Config", METHODS)
        for name in ("lr_a", "lr_top", "lr_ntk", "lr_rf"):
            if not getattr(self, name):
                raise ValueError(f"`{name}` of `Config` must name at least one rate.")
            for rate in getattr(self, name):
                require_number(rate, name, "Config", minimum=0)
        if self.task == "hidden" and any(name.endswith("_unstructured") for name in self.methods):
            raise ValueError("`methods` of `Config` cannot remove the structure of the hidden task.")
        require_settings(self)
        self._check_engine()
        self._check_law()

    def _check_engine(self) -> None:
        if self.dictionary == "orthonormal" and self.d < self.D:
            raise ValueError(f"`D` of `Config` must be at most `d` = {self.d}, got {self.D}.")
        if self.engine == "reduced" and (obstacle := self.obstacle):
            raise ValueError(f"`engine` of `Config` cannot be reduced: {obstacle}; use engine=input.")
        if self.second_step == "closed" and self.sigma_xi == 0:
            raise ValueError("`second_step` of `Config` can be closed only with sigma_xi > 0.")

    def _check_law(self) -> None:
        if self.k > self.D:
            raise ValueError(f"`k` of `Config` must be at most `D` = {self.D}, got {self.k}.")
        if self.negative_rate is not None:
            require_share(self.negative_rate, "negative_rate", "Config")
        if self.task != "hidden":
            self.law(torch.Generator())  # its own checks: of k, low, high and the probabilities
        elif 2 * self.codes_per_label > 2**self.k:
            raise ValueError(
                f"`codes_per_label` of `Config` must be at most 2^k / 2 = {2**self.k // 2}, "
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
