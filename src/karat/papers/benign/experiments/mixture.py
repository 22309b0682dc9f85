"""One adversarial training run on the noisy mixture: its settings, and what is drawn for them."""

import math
from dataclasses import dataclass
from typing import Literal

import torch

from karat.attacks import PGD
from karat.core.activations import Activation, LeakyRelu, Relu, SmoothLeakyRelu
from karat.core.ball import Ball
from karat.core.checks import require_integer, require_number, require_settings
from karat.core.norms import exponent
from karat.data import ClusterLaw, Gaussian, NoisyMixture, Quartic, TruncatedGaussian
from karat.data.cluster_law import admissible
from karat.nets import TwoLayer, init
from karat.papers.benign.bounds import Setting
from karat.training import Adversary, StepDecay, Trainer

Cluster = Literal["gaussian", "admissible_gaussian", "truncated", "quartic"]
SPAN_FROM = 20_000
"""Dimension beyond which PyTorch weights are drawn as Gaussian ones of the same variance, in their span."""

CLUSTERS: dict[str, ClusterLaw] = {
    "gaussian": Gaussian(),
    "admissible_gaussian": admissible(Gaussian()),
    "truncated": TruncatedGaussian(2.0),
    "quartic": Quartic(),
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run.

    Args:
        d, n, m: input dimension, training samples, hidden neurons.
        mu: length of the signal.
        ratio: attack radius over mu.
        flip_rate: label noise.
        start: "symmetric" (the theorem's: paired neurons, f = 0, fixed top layer, 1/sqrt m) or "pytorch" (the
            experiments': default initialisation, biases, every parameter trained).
        init_scale: standard deviation of symmetric weights; None takes lr / sqrt(m d), the largest allowed.
        attack_first: whether the first step already sees perturbed points (the theorem's does not).
        steps, lr, decay_every: gradient steps, their size, and the period after which it falls to a tenth.
        attack_steps, attack_step_ratio: PGD steps and their length over the radius.
        test_ratio: attack radius over mu on test points, that of training when None.
        p: norm of the attack.
        n_test: test points.
        evaluations: how often the test error is taken.
        engine: "exact" (inner products, l2 only), "plain" (input space) or whichever of them fits.
        draw: "input" draws weights and data in d dimensions; "span" draws them in coordinates of their span,
            equal in law for Gaussian weights and clusters, at a cost free of d; "auto" takes "span" where the
            law is the same (symmetric start) and where d is beyond SPAN_FROM.
        precision: of the arithmetic.
    """

    d: int
    n: int
    m: int
    mu: float
    ratio: float
    flip_rate: float
    start: Literal["symmetric", "pytorch"]
    init_scale: float | None = None
    attack_first: bool = True
    activation: Literal["relu", "leaky_relu", "smooth_leaky_relu"] = "relu"
    slope: float = 0.1
    smoothness: float = 1.0
    cluster: Cluster = "gaussian"
    flips: Literal["independent", "correlated", "boundary"] = "independent"
    steps: int
    lr: float = 0.1
    decay_every: int = 500
    attack_steps: int = 20
    attack_step_ratio: float = 0.2
    n_test: int = 2000
    evaluations: int = 12
    test_ratio: float | None = None
    p: float = 2.0
    engine: Literal["auto", "exact", "plain"] = "auto"
    draw: Literal["auto", "input", "span"] = "auto"
    precision: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        for name in ("d", "n", "m", "steps", "decay_every", "attack_steps", "n_test"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_integer(self.evaluations, "evaluations", "Config", minimum=1)
        for name in ("mu", "lr", "attack_step_ratio", "smoothness"):
            require_number(getattr(self, name), name, "Config", positive=True)
        require_number(self.ratio, "ratio", "Config", minimum=0)
        require_number(self.flip_rate, "flip_rate", "Config", minimum=0, maximum=0.499)
        require_number(self.slope, "slope", "Config", minimum=0, maximum=1)
        if self.test_ratio is not None:
            require_number(self.test_ratio, "test_ratio", "Config", minimum=0)
        if self.init_scale is not None:
            require_number(self.init_scale, "init_scale", "Config", minimum=0)
        exponent(self.p)
        require_settings(self, infinite=("p",))
        if self.engine == "exact" and self.p != 2:
            raise ValueError(
                f"`engine` of `Config` cannot be exact for p = {self.p:g}: only l2 attacks stay in the span "
                "of weights and data; use engine=plain."
            )
        if self.draw == "span" and (self.cluster != "gaussian" or not self.exact):
            raise ValueError(
                "`draw` of `Config` can be span only for the gaussian cluster on the exact engine."
            )
        if self.start == "symmetric" and self.m % 2:
            raise ValueError(f"`m` of `Config` must be even for the symmetric start, got {self.m}.")

    @property
    def tau(self) -> float:
        """Attack radius."""
        return self.ratio * self.mu

    @property
    def test_tau(self) -> float:
        """Attack radius on test points."""
        return self.tau if self.test_ratio is None else self.test_ratio * self.mu

    @property
    def exact(self) -> bool:
        """Whether the run goes through the exact engine."""
        return self.engine != "plain" and self.p == 2

    @property
    def in_span(self) -> bool:
        """Whether weights and data are drawn in coordinates of their span."""
        if self.draw != "auto" or self.cluster != "gaussian" or not self.exact:
            return self.draw == "span"
        return self.start == "symmetric" or self.d > SPAN_FROM

    @property
    def dtype(self) -> torch.dtype:
        """Floating type of the run."""
        return torch.float32 if self.precision == "float32" else torch.float64

    @property
    def symmetric_scale(self) -> float:
        """Standard deviation of the symmetric start."""
        return self.lr / math.sqrt(self.m * self.d) if self.init_scale is None else self.init_scale

    @property
    def trainable(self) -> tuple[str, ...]:
        """Parameters that move: the hidden weights in the theorem, everything in the experiments."""
        return ("W",) if self.start == "symmetric" else ("W", "a", "b", "c")

    @property
    def elapsed(self) -> float:
        """Sum of the step sizes, the time variable of the proofs."""
        schedule = StepDecay(self.lr, 0.1, self.decay_every)
        return math.fsum(schedule(step) for step in range(self.steps))

    @property
    def law(self) -> ClusterLaw:
        """Law of one noise coordinate."""
        return CLUSTERS[self.cluster]

    def phi(self) -> Activation:
        """The activation."""
        if self.activation == "relu":
            return Relu()
        if self.activation == "leaky_relu":
            return LeakyRelu(self.slope)
        return SmoothLeakyRelu(self.slope, self.smoothness)

    def attack(self) -> PGD:
        """The PGD of the experiments: normalised steps from a zero start, the last point kept.

        Reading: strength alpha/|mu| and step alpha/(5 |mu|) are in units of |mu|.

        Ref: benign, Sec 5
        """
        gradient: Literal["normalised", "sign"] = "normalised" if self.p == 2 else "sign"
        return PGD(steps=self.attack_steps, step_ratio=self.attack_step_ratio, gradient=gradient, keep="last")

    def trainer(self) -> Trainer:
        """Gradient descent on the attacked points."""
        adversary = Adversary(self.attack(), Ball(self.p, self.tau), first_step=0 if self.attack_first else 1)
        schedule = StepDecay(self.lr, 0.1, self.decay_every)
        return Trainer(lr=schedule, trainable=self.trainable, adversary=adversary)

    def mixture(self) -> NoisyMixture:
        """The data model."""
        return NoisyMixture(
            d=self.d, signal_norm=self.mu, flip_rate=self.flip_rate, cluster=self.law, flips=self.flips
        )

    def setting(self) -> Setting:
        """What Theorem 3.1 asks about this run.

        Reading: for the PyTorch start the hypothesis on the initial scale reads the standard deviation
        1/sqrt(3 d) of its uniform weights.
        """
        symmetric = self.start == "symmetric"
        return Setting(
            n=self.n,
            d=self.d,
            m=self.m,
            mu=self.mu,
            tau=self.tau,
            flip_rate=self.flip_rate,
            lr=self.lr,
            init_scale=self.symmetric_scale if symmetric else 1 / math.sqrt(3 * self.d),
            smooth=self.activation == "smooth_leaky_relu",
            # A ReLU's derivative is 1 wherever the theorem's gamma bounds it, on z > 0.
            slope=self.slope if self.activation == "smooth_leaky_relu" else 1.0,
            smoothness=self.smoothness,
            log_concavity=self.law.log_concavity,
            psi2=self.law.psi2,
            theorem_algorithm=(
                symmetric and not self.attack_first and self.p == 2 and self.steps <= self.decay_every
            ),
        )


def draw_net(config: Config, generator: torch.Generator) -> TwoLayer:
    """The net before training."""
    if config.start == "symmetric":
        return init.symmetric(
            config.d,
            config.m,
            config.symmetric_scale,
            generator=generator,
            activation=config.phi(),
            dtype=config.dtype,
        )
    return init.pytorch_default(
        config.d, config.m, generator=generator, activation=config.phi(), dtype=config.dtype
    )


def evaluation_steps(steps: int, evaluations: int) -> list[int]:
    """Steps at which a run is measured: 0, 1, then geometrically up to the last; the last only for one.

    >>> evaluation_steps(100, 5), evaluation_steps(100, 1)
    ([0, 1, 5, 22, 100], [100])
    """
    if evaluations == 1:
        return [steps]
    inner = max(evaluations - 2, 1)
    grid = {round(steps ** (i / inner)) for i in range(inner + 1)}
    return sorted({0, 1, steps} | {step for step in grid if 0 < step < steps})
