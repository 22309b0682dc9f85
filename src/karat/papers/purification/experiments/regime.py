"""Settings shared by the purification experiments, and what they build: data, start, trainers, attacks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from karat.attacks import PGD, FixedDirection, Method, Steepest
from karat.core.ball import Ball
from karat.core.checks import require_integer, require_number, require_settings
from karat.data import MULTI_SCALE, SparseCode, SparseCoding
from karat.nets import OddTwoLayer, init
from karat.papers.purification.bounds import GAMMA, Setting, regularisation, times
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

Dictionary = Literal["identity", "unitary", "hadamard"]
ZERO_GRADIENT = 1e-8
"""Below this dual norm the fast gradient method returns zero, the paper's 1/poly(d)."""


@dataclass(frozen=True, kw_only=True)
class Regime:
    """Data, start and training of one run; the defaults are the finite-size regime of random starts.

    Args:
        d, k: dimension and sparsity.
        width: neurons over d.
        large_rate, small_rate, small_spread, multi_scale, scale_rate: law of the code z, see `SparseCode`.
        sigma_x, sigma_spike: input noise.
        dictionary, w_star: features and label vector.
        start: "random" (small Gaussian rows) or "pure" (m = d rows sign(w*_i) M_i).
        init_scale: standard deviation of random rows.
        ticket: b0 over init_scale sqrt(2 log d).
        schedule: "finite" (two-stage bias, noise 0.1 b) or "paper" (linear bias, shrinking noise).
        fast, turn, slow, stop: the bias schedule, turn and stop in units of 1/sqrt(k); "paper" uses `fast`.
        noise_ratio: sigma_rho / b of the finite schedule.
        decay: lambda d, None for the paper's log log log d.
        step, step_share: h and its limit over b.
        batch: fresh points per step.
        clean_steps, robust_steps: length of the two trainings.
        p: norm of the attacks.
        tau_factor: radius over 1/sqrt(k) for l2, over sqrt(V)/N for l_inf (see tau).
        robust_step: h of adversarial training.
        ramp: share of it over which the radius grows.
        sampled_noise, bias_rate: see `OddTrainer`.
        n_test, n_attack: test points, and how many of them at most meet the strongest attack.
        pgd_steps: of each of its runs.
        n_certify, certify_domains: test points that are certified, and how far each is branched, if at all.
    """

    d: int
    k: int
    width: float = 6.0
    large_rate: float = 0.2
    small_rate: float = 0.15
    small_spread: float = 1.5
    multi_scale: bool = False
    scale_rate: float = 1.0
    sigma_x: float = 0.1
    sigma_spike: float = 0.0
    dictionary: Dictionary = "identity"
    w_star: Literal["signs", "ones", "spread"] = "signs"
    start: Literal["random", "pure"] = "random"
    init_scale: float = 1e-3
    ticket: float = 0.97
    schedule: Literal["finite", "paper"] = "finite"
    fast: float = 0.022
    turn: float = 0.25
    slow: float = 0.003
    stop: float = 0.5
    noise_ratio: float = 0.1
    decay: float | None = 0.01
    step: float = 0.06
    step_share: float = 0.8
    batch: int = 2048
    clean_steps: int = 330
    robust_steps: int = 40
    p: float = 2.0
    tau_factor: float = 0.4
    robust_step: float = 0.06
    ramp: float = 0.0
    sampled_noise: bool = False
    bias_rate: float = 0.0
    n_test: int = 2000
    n_attack: int = 1000
    pgd_steps: int = 40
    n_certify: int = 0
    certify_domains: int = 0

    def __post_init__(self) -> None:
        for name in ("d", "k", "batch", "n_test", "n_attack", "pgd_steps"):
            require_integer(getattr(self, name), name, "Regime", minimum=1)
        for name in ("clean_steps", "robust_steps"):
            require_integer(getattr(self, name), name, "Regime", minimum=0)
        for name in ("width", "init_scale", "ticket", "fast", "turn", "slow", "stop", "step", "robust_step"):
            require_number(getattr(self, name), name, "Regime", positive=True)
        for name in ("n_certify", "certify_domains"):
            require_integer(getattr(self, name), name, "Regime", minimum=0)
        for name in ("tau_factor", "sigma_x", "noise_ratio", "bias_rate"):
            require_number(getattr(self, name), name, "Regime", minimum=0)
        require_number(self.step_share, "step_share", "Regime", positive=True)
        if self.decay is not None:
            require_number(self.decay, "decay", "Regime", minimum=0)
        require_number(self.ramp, "ramp", "Regime", minimum=0, maximum=1)
        if self.k > self.d:
            raise ValueError(f"`k` of `Regime` must be at most `d` = {self.d}, got {self.k}.")
        if self.p not in (2.0, math.inf):
            raise ValueError(f"`p` of `Regime` must be 2 or inf, got {self.p:g}.")
        require_settings(self, infinite=("p",))
        if self.start == "random":
            require_number(self.width, "width", "Regime", minimum=1 / self.d, maximum=1e6)
        SparseCode(k=self.k, D=self.d, **self.rates())  # its own checks
        # Spikes of the size k^-0.501 have a probability of at most one.
        most = math.sqrt(self.d) * self.k**-0.501
        require_number(self.sigma_spike, "sigma_spike", "Regime", minimum=0, maximum=most)

    @property
    def m(self) -> int:
        """Number of pairs of neurons."""
        return self.d if self.start == "pure" else round(self.width * self.d)

    @property
    def lam(self) -> float:
        """lambda times d."""
        return regularisation(self.d) * self.d if self.decay is None else self.decay

    @property
    def scale(self) -> float:
        """1/sqrt(k), the size of the small codes."""
        return 1 / math.sqrt(self.k)

    @property
    def first_threshold(self) -> float:
        """The paper's b at the start: of the random rows' size, or at its final value for pure ones."""
        if self.start == "pure":
            return self.stop * self.scale
        return self.ticket * self.init_scale * math.sqrt(2 * math.log(self.d))

    def tau(self, model: SparseCoding) -> float:
        """Attack radius: tau_factor / sqrt(k) in l2, tau_factor sqrt(E<w*,z>^2) / E|z|_0 in l_inf.

        Reading: l_inf perturbations act on every feature at once, a pure net tolerates about sqrt(V)/N.
        """
        if self.p == 2:
            return self.tau_factor * self.scale
        return self.tau_factor * math.sqrt(model.score_variance) / model.code.expected_support

    def ball(self, model: SparseCoding, factor: float = 1.0) -> Ball:
        """The ball of the attacks, its radius times a factor."""
        return Ball(self.p, factor * self.tau(model))

    def rates(self) -> dict[str, Any]:
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
            **self.rates(),
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
        return TwoStageBias(
            fast=self.fast, turn=self.turn * self.scale, slow=self.slow, stop=self.stop * self.scale
        )

    def phases(self) -> dict[str, float]:
        """The paper's times T_a, T_b, T_e, ... in rescaled time, the sum of h = lr / d; constants are 1."""
        return times(self.d, self.k, self.d, self.init_scale, c0=self.setting().c0, gamma=GAMMA)

    def step_at(self, time: float) -> int:
        """The last step of clean training that begins by a rescaled time, if only the schedule moves b."""
        trainer, threshold, passed = self.clean_trainer(), self.first_threshold, 0.0
        for step in range(self.clean_steps):
            h = trainer.step(threshold)
            passed, threshold = passed + h, trainer.bias(threshold, h)
            if passed > time:
                return step
        return self.clean_steps

    def stops(self, shares: Sequence[float]) -> list[int]:
        """Steps at which to look: all of the first phase, the first ones after T_a and T_e, and shares."""
        phases = self.phases()
        early = range(self.step_at(phases["T_b"]) + 1)
        after = {min(self.step_at(phases[name]) + 1, self.clean_steps) for name in ("T_a", "T_e")}
        return sorted({*early, *after, *(round(self.clean_steps * share) for share in shares)})

    def rule(self) -> TicketRule:
        """The levels of the lottery's sets."""
        return TicketRule(c0=self.setting().c0, d=self.d, k=self.k, gamma=GAMMA)

    def noise(self, *, late: bool = False) -> NoiseSchedule:
        """Neuron noise as a function of the threshold; `late` for training that starts after T_a.

        Reading: pure features are where the lottery ends, so their noise is that of the second phase.
        """
        if self.schedule == "paper":
            late = late or self.start == "pure"
            return ShrinkingNoise(d=self.d, first_phase=0.0 if late else self.phases()["T_a"])
        return ProportionalNoise(ratio=self.noise_ratio)

    def clean_trainer(self) -> OddTrainer:
        """Algorithm 1."""
        share = math.inf if self.start == "pure" else self.step_share
        return OddTrainer(
            step=RelativeStep(size=self.step, share=share),
            decay=self.lam,
            bias=self.bias(),
            noise=self.noise(),
            sampled_noise=self.sampled_noise,
            bias_rate=self.bias_rate,
        )

    def robust_trainer(
        self, model: SparseCoding, method: Method | None = None, factor: float = 1.0
    ) -> OddTrainer:
        """Algorithm 2 against an attacker, the fast gradient method unless another is given."""
        ball = self.ball(model, factor)
        ramp = round(self.ramp * self.robust_steps)
        radius = Ramp(float(ball.tau), ramp) if ramp else None
        attacker = method or Steepest(zero_below=ZERO_GRADIENT)
        return OddTrainer(
            step=RelativeStep(size=self.robust_step),
            decay=self.lam,
            noise=self.noise(late=True),
            adversary=Adversary(attacker, ball, radius=radius),
            sampled_noise=self.sampled_noise,
        )

    def setting(self) -> Setting:
        """What the theorems ask about this run."""
        return Setting(
            d=self.d,
            k=self.k,
            m=self.m,
            sigma_x=self.sigma_x,
            p=self.p,
            tau=self.tau_factor * self.scale if self.p == 2 else None,
            decay=self.lam / self.d,
            random_start=self.start == "random",
            ticket=self.ticket,
            sampled_noise=self.sampled_noise,
            paper_schedule=self.schedule == "paper",
            axis_dictionary=self.dictionary == "identity",
        )


def universal(model: SparseCoding, p: float) -> FixedDirection:
    """The attack that looks at no net: against y along M w*, in l_inf along its signs."""
    return FixedDirection(model.dense_direction, steepest=p == math.inf)


def strong_attacks(model: SparseCoding, p: float, steps: int) -> tuple[Method, ...]:
    """Universal direction, fast gradient method, and PGD from zero, from both of them, and at random."""
    fixed, fast = universal(model, p), Steepest()
    runs = (PGD(steps=steps), PGD(steps=steps, start=fixed), PGD(steps=steps, start=fast))
    return (fixed, fast, *runs, PGD(steps=steps, random_start=True))


def split(generator: torch.Generator, count: int) -> list[torch.Generator]:
    """Independent generators, so that what one purpose draws does not shift the draws of another."""
    seeds = torch.randint(2**62, (count,), generator=generator).tolist()
    return [torch.Generator().manual_seed(seed) for seed in seeds]
