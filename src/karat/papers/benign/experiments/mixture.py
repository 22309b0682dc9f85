"""One adversarial training run on the noisy mixture: its settings, and what is drawn for them."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le

from karat.attacks import PGD
from karat.core.activations import Activation, LeakyRelu, Relu, SmoothLeakyRelu
from karat.core.ball import Ball
from karat.core.norms import exponent
from karat.core.ranges import Count, NonNegative, Positive, Share, Unbounded, settings
from karat.data import ClusterLaw, Gaussian, NoisyMixture, Quartic, TruncatedGaussian
from karat.data.cluster_law import admissible
from karat.nets import TwoLayer, init
from karat.papers.benign.bounds import TheoremSetting
from karat.training import Adversary, StepDecay, Trainer

Start = Literal["symmetric", "pytorch"]
Cluster = Literal["gaussian", "admissible_gaussian", "truncated", "quartic"]
GAUSSIAN: tuple[Cluster, ...] = ("gaussian", "admissible_gaussian")
"""Clusters whose points can be drawn in coordinates of a span."""

SPAN_FROM = 20_000
"""Dimension beyond which PyTorch weights are drawn as Gaussian ones of the same variance, in their span."""

CLUSTERS: dict[str, ClusterLaw] = {
    "gaussian": Gaussian(),
    "admissible_gaussian": admissible(Gaussian()),
    "truncated": TruncatedGaussian(2.0),
    "quartic": Quartic(),
}


@dataclass(frozen=True, kw_only=True)
@settings
class MixtureConfig:
    r"""Settings of one run on the noisy mixture.

    Samples are :math:`x = y \mu + \xi`; a net with m neurons is trained for some steps of gradient descent on
    points attacked within radius :math:`\tau`, which is `ratio` times :math:`\|\mu\|`.

    Args:
        d: input dimension.
        n: training samples.
        m: hidden neurons.
        mu: length of the signal.
        ratio: attack radius over mu.
        flip_rate: label noise.
        start: "symmetric" (the theorem's: paired neurons, f = 0, fixed top layer, 1/sqrt m) or "pytorch" (the
            experiments': default initialisation, biases, every parameter trained).
        init_scale: standard deviation of symmetric weights; None takes lr / sqrt(m d), the largest allowed.
        attack_first: whether the first step already sees perturbed points (the theorem's does not).
        activation: of the hidden neurons.
        slope: of the leaky activations on the negative side.
        smoothness: H of the smooth leaky ReLU, whose parabola joins the slopes on |z| <= 1/H.
        cluster: law of one noise coordinate.
        flips: which labels are flipped: independently, in blocks, or those nearest to the other cluster.
        steps: gradient steps.
        lr: their size.
        decay_every: steps after which the size falls to a tenth.
        attack_steps: PGD steps.
        attack_step_ratio: their length over the radius.
        n_test: test points.
        evaluations: how often the test error is taken.
        test_ratio: attack radius over mu on test points, that of training when None.
        p: norm of the attack: 1, 2 or inf.
        engine: "exact" (inner products, l2 only), "plain" (input space) or whichever of them fits.
        draw: "input" draws weights and data in d dimensions; "span" draws them in coordinates of their span,
            equal in law for Gaussian weights and clusters, at a cost free of d; "auto" takes "span" where the
            law is the same (symmetric start) and where d is beyond SPAN_FROM.
        precision: of the arithmetic.
        direction: of the gradient steps; "ascent" raises the loss, a world in which nothing is learned.
    """

    d: Count
    n: Count
    m: Count
    mu: Positive
    ratio: NonNegative
    flip_rate: Annotated[float, Ge(0), Le(0.499)]
    start: Start
    init_scale: NonNegative | None = None
    attack_first: bool = True
    activation: Literal["relu", "leaky_relu", "smooth_leaky_relu"] = "relu"
    slope: Share = 0.1
    smoothness: Positive = 1.0
    cluster: Cluster = "gaussian"
    flips: Literal["independent", "correlated", "boundary"] = "independent"
    steps: Count
    lr: Positive = 0.1
    decay_every: Count = 500
    attack_steps: Count = 20
    attack_step_ratio: Positive = 0.2
    n_test: Count = 2000
    evaluations: Count = 12
    test_ratio: NonNegative | None = None
    p: Annotated[float, Unbounded()] = 2.0
    engine: Literal["auto", "exact", "plain"] = "auto"
    draw: Literal["auto", "input", "span"] = "auto"
    precision: Literal["float32", "float64"] = "float32"
    direction: Literal["descent", "ascent"] = "descent"

    def __post_init__(self) -> None:
        owner = type(self).__name__
        exponent(self.p)
        if self.engine == "exact" and self.p != 2:
            raise ValueError(
                f"`engine` of `{owner}` cannot be exact for p = {self.p:g}: only l2 attacks stay in the span "
                "of weights and data; use engine=plain."
            )
        if self.draw == "span" and (self.cluster not in GAUSSIAN or not self.exact):
            raise ValueError(
                f"`draw` of `{owner}` can be span only for gaussian clusters on the exact engine."
            )
        if self.start == "symmetric" and self.m % 2:
            raise ValueError(f"`m` of `{owner}` must be even for the symmetric start, got {self.m}.")

    @property
    def tau(self) -> float:
        """Attack radius."""
        return self.ratio * self.mu

    @property
    def tested_ratio(self) -> float:
        """Attack radius over mu on test points."""
        return self.ratio if self.test_ratio is None else self.test_ratio

    @property
    def test_tau(self) -> float:
        """Attack radius on test points."""
        return self.tested_ratio * self.mu

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
    def schedule(self) -> StepDecay:
        """Size of every gradient step."""
        return StepDecay(self.lr, 0.1, self.decay_every)

    @property
    def elapsed(self) -> float:
        """Sum of the step sizes, the time variable of the proofs."""
        return self.time(self.steps)

    def time(self, step: int) -> float:
        """Return the sum of the step sizes before a step.

        Args:
            step: its number.
        """
        schedule = self.schedule
        return math.fsum(schedule(earlier) for earlier in range(step))

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
        r"""The PGD of the experiments: normalised steps from a zero start, the last point kept.

        Reading: strength :math:`\alpha/\|\mu\|` and step :math:`\alpha/(5 \|\mu\|)` are in units of
        :math:`\|\mu\|`.

        Ref: benign, Sec 5
        """
        gradient: Literal["normalised", "sign"] = "normalised" if self.p == 2 else "sign"
        return PGD(steps=self.attack_steps, step_ratio=self.attack_step_ratio, gradient=gradient, keep="last")

    def trainer(self) -> Trainer:
        """Gradient descent on the attacked points."""
        adversary = Adversary(self.attack(), Ball(self.p, self.tau), first_step=0 if self.attack_first else 1)
        lr = self.schedule if self.direction == "descent" else lambda step: -self.schedule(step)
        return Trainer(lr=lr, trainable=self.trainable, adversary=adversary)

    def mixture(self) -> NoisyMixture:
        """The data model."""
        return NoisyMixture(
            d=self.d, signal_norm=self.mu, flip_rate=self.flip_rate, cluster=self.law, flips=self.flips
        )

    def setting(self) -> TheoremSetting:
        r"""What Theorem 3.1 asks about this run.

        Reading: for the PyTorch start the hypothesis on the initial scale reads the standard deviation
        :math:`1/\sqrt{3 d}` of its uniform weights.
        """
        symmetric = self.start == "symmetric"
        return TheoremSetting(
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
                symmetric
                and not self.attack_first
                and self.p == 2
                and self.steps <= self.decay_every
                and self.direction == "descent"
            ),
        )


def work(config: MixtureConfig) -> float:
    """What a run has to compute: attacks on n samples through m neurons in every step, test points, draws.

    Measured: a step costs as much as 1000 products more, with the smooth activation 20,000.

    Args:
        config: its settings.
    """
    start = 20_000.0 if config.activation == "smooth_leaky_relu" else 1000.0
    training = float(config.attack_steps) * config.steps * (start + config.n * config.m)
    drawing = 0.0 if config.in_span else 2.0 * config.d * (config.n + config.m + config.n_test)
    return training + float(config.evaluations) * config.n_test * config.m + drawing


def draw_net(config: MixtureConfig, generator: torch.Generator) -> TwoLayer:
    """Return the net before training.

    Args:
        config: start, sizes and activation.
        generator: draws the weights.
    """
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
