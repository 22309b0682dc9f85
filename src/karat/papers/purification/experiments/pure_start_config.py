"""Settings of training from pure features at any dimension, and the problem they state."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge, Le

from karat.core.ball import Ball
from karat.core.ranges import Count, NonNegative, Positive, Steps, Unbounded, settings
from karat.data.dictionaries import require_size
from karat.data.sparse_code import SparseCode
from karat.papers.purification.bounds import regularisation
from karat.papers.purification.bounds_hypotheses import TheoremSetting
from karat.papers.purification.experiments.attackers import FGM
from karat.reductions.symmetric import Problem, SymmetricNet, obstacle
from karat.training import Adversary
from karat.training.odd import OddTrainer, RelativeStep, ShrinkingNoise

MOST_STEPS = 100_000
"""Steps of adversarial training beyond which a run would take days."""


@dataclass(frozen=True, kw_only=True)
@settings
class PureStartConfig:
    r"""Data, net and training from :math:`w_i = M_i`; every power of the theorems is a setting.

    Args:
        d: dimension of the inputs and number of features; beyond 1e15 lengths lose too many digits.
        k: sparsity of the code, None for the largest with :math:`k^{2.5} \le d^{1 - 2 c_0} / \log d`.
        c0: exponent of the width, :math:`m = d^{1 + c_0}`; neurons beyond the d pure ones hold no feature.
        large_rate: expected number of codes :math:`|z_i| = 1`.
        small_rate: expected number of small codes over k.
        small_spread: largest small code in units of :math:`1/\sqrt k`.
        sigma_x: standard deviation of the Gaussian input noise.
        sigma_spike: that of the spike noise.
        dictionary: kind of the features M.
        w_star: kind of the label vector.
        bias_power: the threshold is :math:`b = k^{-\mathtt{bias\_power}}`.
        decay_power: the regulariser's weight is :math:`\lambda = d^{-(1 + \mathtt{decay\_power})}`, None
            for the printed :math:`\log\log\log(d)/d`.
        p: norm of the attacks, 2 or inf.
        radius_power: the radius of the attacks is :math:`\tau = k^{-\mathtt{radius\_power}}`.
        fall_power: the clean net is also moved along the universal direction by
            :math:`k^{-\mathtt{fall\_power}}`.
        step: size h of a step of clean training, in rescaled time.
        clean_steps: of clean training.
        robust_share: a step of adversarial training over the longest stable one, see `robust_step`.
        robust_time: sum of the steps of adversarial training over :math:`k^2 \log d`, Theorem F.1's length.
        batch: fresh points per step, each averaged over all permutations of the features.
        n_test: test points.
        n_moved: test points under the fast gradient method and along the universal direction.
        n_attack: test points under the strongest attack, certified where it fails.
        n_linear: test points at which the robust net is compared with its tangent.
        pgd_steps: of each run of the strongest attack.
        cells: into how many intervals a certificate cuts the sum of the perturbations at most.
    """

    d: Annotated[Count, Le(10**15)]
    k: Count | None = None
    c0: Annotated[float, Ge(0), Le(1)] = 1e-4
    large_rate: Positive = 0.2
    small_rate: Positive = 4.0
    small_spread: float = 1.5
    sigma_x: NonNegative = 0.0
    sigma_spike: NonNegative = 0.0
    dictionary: Literal["identity", "unitary", "hadamard", "incoherent"] = "identity"
    w_star: Literal["signs", "ones", "spread"] = "signs"
    bias_power: Positive = 0.6
    decay_power: NonNegative | None = 0.15
    p: Annotated[float, Unbounded()] = 2.0
    radius_power: Positive = 0.7
    fall_power: Positive = 0.51
    step: Positive = 0.4
    clean_steps: Steps = 120
    robust_share: Positive = 1.0
    robust_time: NonNegative = 3.0
    batch: Count = 64
    n_test: Count = 5000
    n_moved: Count = 600
    n_attack: Count = 700
    n_linear: Count = 8
    pgd_steps: Count = 5
    cells: Count = 64

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.d < 2:
            raise ValueError(f"`d` of `{owner}` must be at least 2, got {self.d}.")
        if self.k is not None and self.k > self.d:
            raise ValueError(f"`k` of `{owner}` must be at most `d` = {self.d}, got {self.k}.")
        if self.p not in (2.0, math.inf):
            raise ValueError(f"`p` of `{owner}` must be 2 or inf, got {self.p:g}.")
        sizes = {"bias_power": self.threshold, "radius_power": self.tau, "fall_power": self.fall}
        for name, size in sizes.items():
            if size < 1e-100:
                power = getattr(self, name)
                raise ValueError(f"`{name}` of `{owner}` leaves nothing of k^-{power:g}, got {power:g}.")
        reason = obstacle(replace(self.problem(seed=0), trainer=self.robust_trainer()))
        if reason is not None:
            raise ValueError(f"the reduction `symmetric` behind `{owner}` is not exact here: {reason}.")
        require_size(self.dictionary, self.d, owner)
        steps = self.robust_time * self.sparsity**2 * math.log(self.d) / (self.d * self.robust_step)
        if not steps <= MOST_STEPS:
            raise ValueError(
                f"`robust_time` of `{owner}` asks for {steps:.3g} steps, the most are {MOST_STEPS:,}: "
                "lower it, or raise `robust_share`."
            )

    @property
    def sparsity(self) -> int:
        """The k of this run."""
        if self.k is not None:
            return self.k
        return max(1, math.floor((self.d ** (1 - 2 * self.c0) / math.log(self.d)) ** 0.4))

    @property
    def has_window(self) -> bool:
        r"""Whether some k fits: :math:`d^{(1-c_0)/3} \le k \le (d^{1-2c_0}/\log d)^{0.4}`."""
        return self.d ** ((1 - self.c0) / 3) <= (self.d ** (1 - 2 * self.c0) / math.log(self.d)) ** 0.4

    @property
    def m(self) -> int:
        """Number of pairs of neurons: d that hold one feature each, and the rest."""
        return max(self.d, round(self.d ** (1 + self.c0)))

    @property
    def code(self) -> SparseCode:
        """The law of the codes."""
        return SparseCode(
            k=self.sparsity,
            D=self.d,
            large_rate=self.large_rate,
            small_rate=self.small_rate,
            small_spread=self.small_spread,
        )

    @property
    def threshold(self) -> float:
        """The paper's b, which stays."""
        return float(self.sparsity**-self.bias_power)

    @property
    def tau(self) -> float:
        """Radius of the attacks."""
        return float(self.sparsity**-self.radius_power)

    @property
    def fall(self) -> float:
        """Length of the move along the universal direction under which the clean net is said to fall."""
        return float(self.sparsity**-self.fall_power)

    @property
    def scaled_decay(self) -> float:
        r"""The weight of the regulariser in rescaled time, :math:`\lambda d`."""
        return regularisation(self.d) * self.d if self.decay_power is None else self.d**-self.decay_power

    @property
    def robust_step(self) -> float:
        r"""A step of adversarial training, at most one of clean training.

        .. math:: h = \mathtt{robust\_share} \cdot \frac{d}{(N \tau d^{1 - 1/p})^2}, \qquad N = E \|z\|_0

        An attack moves the score by up to :math:`\tau d^{1 - 1/p}`, and N neurons answer by their mixture:
        the output changes by N times this per unit of beta. Much longer steps overshoot.
        """
        shift = self.tau * self.d ** (1 - 1 / self.p)
        stable = self.d / (self.code.expected_support * shift) ** 2
        return min(self.robust_share * stable, self.step)

    @property
    def robust_steps(self) -> int:
        """Steps of adversarial training."""
        return math.ceil(self.robust_time * self.sparsity**2 * math.log(self.d) / (self.d * self.robust_step))

    def clean_trainer(self) -> OddTrainer:
        """Algorithm 1 at its last threshold, with the noise of its second phase."""
        return OddTrainer(
            step=RelativeStep(size=self.step),
            decay=self.scaled_decay,
            noise=ShrinkingNoise(d=self.d, first_phase=0.0),
        )

    def robust_trainer(self) -> OddTrainer:
        """Algorithm 2 against the fast gradient method."""
        return OddTrainer(
            step=RelativeStep(size=self.robust_step),
            decay=self.scaled_decay,
            noise=ShrinkingNoise(d=self.d, first_phase=0.0),
            adversary=Adversary(FGM, Ball(self.p, self.tau)),
        )

    def problem(self, seed: int) -> Problem:
        """Clean training from pure features.

        Args:
            seed: of its batches.
        """
        return Problem(
            trainer=self.clean_trainer(),
            start=SymmetricNet(d=self.d, threshold=self.threshold, hubs=self.m - self.d),
            code=self.code,
            batch=self.batch,
            seed=seed,
            dictionary=self.dictionary,
            w_star=self.w_star,
            sigma_x=self.sigma_x,
            sigma_spike=self.sigma_spike,
        )

    def theorem_setting(self) -> TheoremSetting:
        """What the theorems ask about this run."""
        return TheoremSetting(
            d=self.d,
            k=self.sparsity,
            m=self.m,
            sigma_x=self.sigma_x,
            p=self.p,
            tau=self.tau,
            lam=self.scaled_decay / self.d,
            random_start=False,
            ticket=math.nan,
            sampled_noise=False,
            paper_schedule=False,
            bias_power=self.bias_power,
            axis_dictionary=self.dictionary == "identity",
            clean_time=self.clean_steps * self.step,
            robust_time=self.robust_steps * self.robust_step,
        )
