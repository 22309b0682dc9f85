"""Settings shared by the experiments on the odd net, and what they build: data, start, trainers."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge

from karat.attacks import Method
from karat.core.ball import Ball
from karat.core.checks import require_number
from karat.core.ranges import Count, NonNegative, Positive, Share, Steps, Unbounded, settings
from karat.data import MULTI_SCALE, SparseCode, SparseCoding
from karat.data.dictionaries import require_size
from karat.nets import OddTwoLayer, init
from karat.papers.purification.bounds import GAMMA, Times, regularisation, times
from karat.papers.purification.bounds_hypotheses import TheoremSetting
from karat.papers.purification.experiments.attackers import FGM
from karat.probes.lottery import TicketRule
from karat.probes.oracle import soft_threshold
from karat.training import Adversary, Ramp
from karat.training.odd import (
    BiasSchedule,
    FreshBatches,
    FrozenBias,
    GrowingBias,
    NoiseSchedule,
    OddTrainer,
    ProportionalNoise,
    RelativeStep,
    ShrinkingNoise,
    TwoStageBias,
)
from karat.training.odd.bias import time_of
from karat.training.odd.trainer import Measured, Observer


@dataclass(frozen=True, kw_only=True)
@settings
class OddNetConfig:
    r"""Data, start and training of one run; the defaults suit random starts at finite size.

    Args:
        d: dimension of the inputs and number of features.
        k: sparsity of the code.
        width: pairs of neurons over d, for random starts.
        large_rate: expected number of codes :math:`|z_i| = 1`.
        small_rate: expected number of small codes over k.
        small_spread: largest small code in units of :math:`1/\sqrt k`.
        multi_scale: whether the code also takes the paper's sizes in between.
        scale_rate: factor of their probabilities.
        sigma_x: standard deviation of the Gaussian input noise.
        sigma_spike: that of the spike noise in the dictionary.
        dictionary: kind of the features M.
        w_star: kind of the label vector.
        start: "random" (small Gaussian rows) or "pure" (m = d rows :math:`\mathrm{sign}(w^*_i) M_i`).
        init_scale: standard deviation of random rows.
        ticket: first threshold over :math:`\sigma_0 \sqrt{2 \log d}`.
        schedule: "finite" (two-stage bias, noise in proportion to b) or "paper" (linear bias, less and less
            noise).
        fast: growth of the threshold per unit of time at first; "paper" uses only this one.
        turn: threshold at which the growth becomes slow, in units of :math:`1/\sqrt k`.
        slow: growth of the threshold per unit of time after that.
        stop: last threshold, in units of :math:`1/\sqrt k`.
        noise_ratio: :math:`\sigma_\rho / b` of the finite schedule.
        decay: :math:`\lambda d`, None for the paper's :math:`\log\log\log d`.
        step: size h of a step of clean training, in rescaled time.
        step_share: largest h over the threshold b.
        batch: fresh points per step.
        clean_steps: of clean training.
        robust_steps: of adversarial training.
        p: norm of the attacks, 2 or inf.
        tau_factor: radius over :math:`1/\sqrt k` in l2, over :math:`\sqrt V / N` in l_inf; see `tau`.
        robust_step: size h of a step of adversarial training.
        ramp: share of adversarial training over which the radius grows.
        sampled_noise: whether rho is drawn inside the loss, see `OddTrainer`.
        bias_rate: gradient descent on the bias, see `OddTrainer`.
        n_test: test points.
        n_attack: how many of them at most meet the strongest attack.
        pgd_steps: of each of its runs.
        n_certify: test points that are certified.
        certify_domains: how far each of them is branched, 0 for not at all.
    """

    d: Annotated[int, Ge(2)]
    k: Count
    width: Positive = 6.0
    large_rate: float = 0.2
    small_rate: float = 0.15
    small_spread: float = 1.5
    multi_scale: bool = False
    scale_rate: float = 1.0
    sigma_x: NonNegative = 0.1
    sigma_spike: NonNegative = 0.0
    dictionary: Literal["identity", "unitary", "hadamard"] = "identity"
    w_star: Literal["signs", "ones", "spread"] = "signs"
    start: Literal["random", "pure"] = "random"
    init_scale: Positive = 1e-3
    ticket: Positive = 0.97
    schedule: Literal["finite", "paper"] = "finite"
    fast: Positive = 0.022
    turn: Positive = 0.25
    slow: Positive = 0.003
    stop: Positive = 0.5
    noise_ratio: NonNegative = 0.1
    decay: NonNegative | None = 0.01
    step: Positive = 0.06
    step_share: Positive = 0.8
    batch: Count = 2048
    clean_steps: Steps = 330
    robust_steps: Steps = 40
    p: Annotated[float, Unbounded()] = 2.0
    tau_factor: NonNegative = 0.4
    robust_step: Positive = 0.06
    ramp: Share = 0.0
    sampled_noise: bool = False
    bias_rate: NonNegative = 0.0
    n_test: Count = 2000
    n_attack: Count = 1000
    pgd_steps: Count = 40
    n_certify: Steps = 0
    certify_domains: Steps = 0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if self.k > self.d:
            raise ValueError(f"`k` of `{owner}` must be at most `d` = {self.d}, got {self.k}.")
        require_size(self.dictionary, self.d, owner)
        if self.p not in (2.0, math.inf):
            raise ValueError(f"`p` of `{owner}` must be 2 or inf, got {self.p:g}.")
        if self.start == "random":
            require_number(self.width, "width", owner, minimum=1, maximum=1e6)
        SparseCode(k=self.k, D=self.d, **self.code_rates())  # its own checks
        # Spikes of the size k^-0.501 have a probability of at most one.
        most = math.sqrt(self.d) * self.k**-0.501
        require_number(self.sigma_spike, "sigma_spike", owner, minimum=0, maximum=most)

    @property
    def m(self) -> int:
        """Number of pairs of neurons, as `OddTwoLayer.m`; the glossary's m counts both halves of a pair."""
        return self.d if self.start == "pure" else round(self.width * self.d)

    @property
    def c0(self) -> float:
        """The exponent of the width, from m = d^(1 + c0)."""
        return math.log(self.m) / math.log(self.d) - 1

    @property
    def scaled_decay(self) -> float:
        r"""The weight of the regulariser in rescaled time, :math:`\lambda d`."""
        return regularisation(self.d) * self.d if self.decay is None else self.decay

    @property
    def small_code_size(self) -> float:
        r"""The size :math:`1/\sqrt k` of the small codes."""
        return 1 / math.sqrt(self.k)

    @property
    def first_threshold(self) -> float:
        """The paper's b at the start: of the random rows' size, or at its final value for pure ones."""
        if self.start == "pure":
            return self.stop * self.small_code_size
        return self.ticket * self.init_scale * math.sqrt(2 * math.log(self.d))

    def tau(self, model: SparseCoding) -> float:
        r"""Attack radius.

        .. math:: \tau_2 = \frac{\mathtt{tau\_factor}}{\sqrt k}, \qquad
            \tau_\infty = \mathtt{tau\_factor} \, \frac{\sqrt V}{N}, \quad
            V = E \langle w^*, z \rangle^2, \quad N = E \|z\|_0

        Args:
            model: gives V and N.

        Reading: l_inf perturbations act on every feature at once, a pure net tolerates about
            :math:`\sqrt V / N`.
        """
        if self.p == 2:
            return self.tau_factor * self.small_code_size
        return self.tau_factor * math.sqrt(model.score_variance) / model.code.expected_support

    def ball(self, model: SparseCoding, factor: float = 1.0) -> Ball:
        """The ball of the attacks, its radius times a factor."""
        return Ball(self.p, factor * self.tau(model))

    def code_rates(self) -> dict[str, Any]:
        """How often the code z takes which sizes, as `SparseCode` names it."""
        return {
            "large_rate": self.large_rate,
            "small_rate": self.small_rate,
            "small_spread": self.small_spread,
            "scales": MULTI_SCALE if self.multi_scale else (),
            "scale_rate": self.scale_rate,
        }

    def draw_model(self, generator: torch.Generator) -> SparseCoding:
        """Dictionary and label vector."""
        return SparseCoding.draw(
            d=self.d,
            k=self.k,
            generator=generator,
            dictionary=self.dictionary,
            w_star=self.w_star,
            sigma_x=self.sigma_x,
            sigma_spike=self.sigma_spike,
            **self.code_rates(),
        )

    def draw_net(self, model: SparseCoding, generator: torch.Generator) -> OddTwoLayer:
        """The net before training."""
        if self.start == "pure":
            M, signs = model.M.float(), model.w_star.sign().float()
            return soft_threshold(
                M, signs, 1.0, self.first_threshold, self.noise_ratio * self.first_threshold
            )
        return init.small_odd(
            self.d, self.m, self.init_scale, self.first_threshold, generator=generator, dtype=torch.float32
        )

    def batches(self, model: SparseCoding, generator: torch.Generator) -> FreshBatches:
        """Fresh points at every step."""
        return FreshBatches(model, self.batch, generator)

    def bias(self) -> BiasSchedule:
        """How the threshold grows in clean training."""
        if self.start == "pure":
            return FrozenBias()
        if self.schedule == "paper":
            return GrowingBias(speed=self.fast, stop=self.k**-0.5001)
        unit = self.small_code_size
        return TwoStageBias(fast=self.fast, turn=self.turn * unit, slow=self.slow, stop=self.stop * unit)

    def phases(self) -> Times:
        """The paper's times T_a, T_b, T_e, ... in rescaled time, the sum of h = lr / d; constants are 1."""
        return times(self.d, self.k, self.d, self.init_scale, c0=self.c0, gamma=GAMMA)

    def step_at(self, time: float) -> int:
        """The last step of clean training that begins by a rescaled time, if only the schedule moves b."""
        trainer, threshold, passed = self.clean_trainer(), self.first_threshold, 0.0
        for step in range(self.clean_steps):
            h = trainer.step(threshold)
            passed, threshold = passed + h, trainer.bias(threshold, h)
            if passed > time:
                return step
        return self.clean_steps

    def clean_time(self) -> float:
        """The rescaled time of clean training, the sum of its steps, if only the schedule moves b."""
        trainer = self.clean_trainer()
        return time_of(trainer.step, trainer.bias, self.first_threshold, self.clean_steps)

    def observed_steps(self, shares: Sequence[float]) -> list[int]:
        """Steps at which to look: all of the first phase, the first ones after T_a and T_e, and shares."""
        phases = self.phases()
        early = range(self.step_at(phases.T_b) + 1)
        after = {min(self.step_at(time) + 1, self.clean_steps) for time in (phases.T_a, phases.T_e)}
        return sorted({*early, *after, *(round(self.clean_steps * share) for share in shares)})

    def ticket_rule(self) -> TicketRule:
        """The levels of the lottery's sets."""
        return TicketRule(c0=max(self.c0, 1e-12), d=self.d, k=self.k, gamma=GAMMA)

    def noise(self, *, late: bool = False) -> NoiseSchedule:
        """Neuron noise as a function of the threshold.

        Args:
            late: for training that starts after T_a.

        Reading: pure features are where the lottery ends, so their noise is that of the second phase.
        """
        if self.schedule == "paper":
            late = late or self.start == "pure"
            return ShrinkingNoise(d=self.d, first_phase=0.0 if late else self.phases().T_a)
        return ProportionalNoise(ratio=self.noise_ratio)

    def clean_trainer(self) -> OddTrainer:
        """Algorithm 1."""
        # The limit keeps the first steps of tiny random rows small; pure rows have their size already.
        share = math.inf if self.start == "pure" else self.step_share
        return OddTrainer(
            step=RelativeStep(size=self.step, share=share),
            decay=self.scaled_decay,
            bias=self.bias(),
            noise=self.noise(),
            sampled_noise=self.sampled_noise,
            bias_rate=self.bias_rate,
        )

    def robust_trainer(self, model: SparseCoding, method: Method = FGM) -> OddTrainer:
        """Algorithm 2.

        Args:
            model: gives the radius.
            method: the attacker.
        """
        ball = self.ball(model)
        ramp = round(self.ramp * self.robust_steps)
        radius = Ramp(float(ball.tau), ramp) if ramp else None
        return OddTrainer(
            step=RelativeStep(size=self.robust_step),
            decay=self.scaled_decay,
            noise=self.noise(late=True),
            adversary=Adversary(method, ball, radius=radius),
            sampled_noise=self.sampled_noise,
        )

    def train_clean(
        self,
        net: OddTwoLayer,
        model: SparseCoding,
        generator: torch.Generator,
        *,
        observe: Observer | None = None,
        observe_at: Collection[int] = (),
    ) -> tuple[OddTwoLayer, Measured]:
        """Run Algorithm 1 on fresh batches; return the last net and what was observed.

        Args:
            net: before training.
            model: of the batches.
            generator: of batches and noise.
            observe: what to measure of a net.
            observe_at: at which steps.
        """
        return self.clean_trainer().run(
            net,
            self.batches(model, generator),
            steps=self.clean_steps,
            generator=generator,
            observe=observe,
            observe_at=observe_at,
        )

    def train_robust(
        self,
        net: OddTwoLayer,
        model: SparseCoding,
        generator: torch.Generator,
        *,
        observe: Observer | None = None,
        observe_at: Collection[int] = (),
    ) -> tuple[OddTwoLayer, Measured]:
        """Run Algorithm 2 against the fast gradient method; return the last net and what was observed.

        Args:
            net: after clean training.
            model: of the batches.
            generator: of batches, noise and attacks.
            observe: what to measure of a net.
            observe_at: at which steps.
        """
        return self.robust_trainer(model).run(
            net,
            self.batches(model, generator),
            steps=self.robust_steps,
            generator=generator,
            observe=observe,
            observe_at=observe_at,
        )

    def theorem_setting(self) -> TheoremSetting:
        """What the theorems ask about this run."""
        return TheoremSetting(
            d=self.d,
            k=self.k,
            m=self.m,
            sigma_x=self.sigma_x,
            p=self.p,
            tau=self._expected_tau(),
            lam=self.scaled_decay / self.d,
            random_start=self.start == "random",
            ticket=self.ticket,
            sampled_noise=self.sampled_noise,
            paper_schedule=self.schedule == "paper",
            axis_dictionary=self.dictionary == "identity",
            clean_time=self.clean_time(),
            robust_time=self.robust_steps * self.robust_step,
        )

    def _expected_tau(self) -> float:
        """The attack radius without a drawn model: of `w_star` only its size counts, and it is about one."""
        if self.p == 2:
            return self.tau_factor * self.small_code_size
        code = SparseCode(k=self.k, D=self.d, **self.code_rates())
        return self.tau_factor * math.sqrt(code.second_moment * self.d) / code.expected_support


RANDOM_START = OddNetConfig(d=200, k=14)
"""The finite-size setting of random starts, with the largest k <= d^0.499; k and the batch grow with d."""
