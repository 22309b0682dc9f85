"""Training against one perturbation function, and the losses that all others see along the way."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Count, Pairs, Positive, settings
from karat.nets import TwoLayer
from karat.papers.convergence.experiments.perturbations import AttackName, perturbation
from karat.papers.convergence.experiments.sets import CapRadius, PseudoHuber, draw_sets
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig, draw_net
from karat.study.experiment import Experiment, Preset
from karat.training.surrogate import Pick, Sets, SurrogateDescent

OTHERS: tuple[AttackName, ...] = ("one_step", "identity", "random", "hashed")
"""Perturbation functions besides the strongest one."""


@dataclass(frozen=True, kw_only=True)
@settings
class TransferConfig:
    """Settings of one run.

    Args:
        attack: the perturbation function of training.
        m: width, both halves counted.
        n: samples.
        d: input dimension.
        tau: radius of the caps, as a chord; large, so that perturbation functions differ.
        K: allowed points per sample, itself counted.
        lr: step size of unprojected gradient descent.
        steps: of it.
        strongest: the function that is taken for the strongest one.
    """

    attack: AttackName = "worst"
    m: Pairs
    n: Annotated[int, Ge(2)] = 12
    d: Annotated[int, Ge(2)] = 10
    tau: CapRadius = 0.5
    K: Count = 12
    lr: Positive = 0.2
    steps: Count = 400
    strongest: Literal["worst", "identity"] = "worst"

    @property
    def training(self) -> TwoLayerConfig:
        """The same run without the other perturbation functions."""
        return TwoLayerConfig(
            m=self.m,
            R=1.0,
            attack=self.attack,
            n=self.n,
            d=self.d,
            tau=self.tau,
            K=self.K,
            activation="smooth_leaky_relu",
        )


@dataclass(frozen=True, kw_only=True)
class TransferResult:
    r"""Losses of one run, at the step whose surrogate loss is smallest.

    Args:
        own: :math:`\min_t L_A(W_t)`, with the perturbation function A of training.
        robust: :math:`L_*(W_t)` there.
        one_step: the surrogate loss under one step of a heuristic attack there.
        identity: without a perturbation.
        random: under a random choice.
        hashed: under a discontinuous choice.
        excess: largest :math:`L_{A'}(W_t) - L_*(W_t)` over all steps and perturbation functions A'.
    """

    own: float
    robust: float
    one_step: float
    identity: float
    random: float
    hashed: float
    excess: float


def run(config: TransferConfig, generator: torch.Generator) -> TransferResult:
    """Train against one perturbation function and let all others look at every step.

    Ref: convergence, Def 3.4
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator)
    start = draw_net(config.training, generator)
    # Looking on must not change the random choices of training.
    looking = torch.Generator().manual_seed(int(torch.randint(2**31, (1,), generator=generator)))
    watch = _Watch(sets, [_function(config, name, sets, looking) for name in (config.strongest, *OTHERS)])
    descent = SurrogateDescent(lr=config.lr, loss=PseudoHuber())
    pick = perturbation(config.training, sets, generator)
    _, losses = descent.run(start, sets, pick, steps=config.steps, observe=watch)
    seen = watch.losses[min(range(config.steps), key=losses.__getitem__)]
    return TransferResult(
        own=min(losses),
        robust=seen[0],
        **dict(zip(OTHERS, seen[1:], strict=True)),
        excess=max(max(row[1:]) - row[0] for row in watch.losses),
    )


def _function(config: TransferConfig, name: AttackName, sets: Sets, generator: torch.Generator) -> Pick:
    return perturbation(replace(config.training, attack=name), sets, generator)


class _Watch:
    """Notes the surrogate loss under every perturbation function before every update.

    Args:
        sets: the allowed points of every sample.
        functions: the strongest one first.
    """

    def __init__(self, sets: Sets, functions: Sequence[Pick]) -> None:
        self.sets, self.functions = sets, functions
        self.losses: list[list[float]] = []

    def __call__(self, step: int, net: TwoLayer, loss: float, gradient: float) -> None:
        margins = self.sets.margins(net)
        every = PseudoHuber()(margins)
        rows = torch.arange(len(margins))

        def mean_loss(pick: Pick) -> float:
            chosen: Tensor = pick(net, margins, step)
            return float(every[rows, chosen].mean())

        self.losses.append([mean_loss(pick) for pick in self.functions])


_ALL: dict[str, tuple[AttackName, ...]] = {"attack": ("worst", *OTHERS)}

TRANSFER = Experiment(
    name="convergence.other-attacks",
    title="What do other perturbation functions see of a net that was trained against one?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=TransferConfig(m=64, n=4, d=6, K=5, steps=60), grid=_ALL, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(config=TransferConfig(m=256), grid=_ALL, seeds=5, cell_seconds=0.35),
        "full": Preset(config=TransferConfig(m=4096, K=40, steps=2000), grid=_ALL, seeds=12, cell_seconds=60),
    },
    run=run,
)
