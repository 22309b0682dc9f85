"""The perturbation functions of the training experiments by name, and what they leave of the robust loss."""

from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from karat.papers.convergence.experiments.sets import PseudoHuber
from karat.training.surrogate import Pick, Sets, hashed, identity, one_step, random, worst

AttackName = Literal["worst", "one_step", "identity", "random", "hashed"]

Strongest = Literal["argmax", "sample"]
"""What "worst" stands for: the allowed point of largest loss or, as a control, the sample itself."""


class NamesAttack(Protocol):
    """A config that names a perturbation function."""

    @property
    def attack(self) -> AttackName:
        """The function."""
        ...

    @property
    def strongest(self) -> Strongest:
        """What "worst" stands for."""
        ...


def perturbation(config: NamesAttack, sets: Sets, generator: torch.Generator) -> Pick:
    """Return the perturbation function of a config.

    Args:
        config: names it.
        sets: the allowed points, among which the one-step attack chooses.
        generator: of the random one.

    Ref: convergence, Def 3.2
    """
    functions: dict[AttackName, Pick] = {
        "worst": worst(PseudoHuber()) if config.strongest == "argmax" else identity,
        "one_step": one_step(sets),
        "identity": identity,
        "random": random(generator),
        "hashed": hashed,
    }
    return functions[config.attack]


def robust_loss(margins: Tensor) -> float:
    """Return the mean over samples of the largest loss.

    Args:
        margins: (n, K) at all allowed points.

    Ref: convergence, Def 3.4
    """
    return float(PseudoHuber()(margins).amax(dim=1).mean())


class Watched:
    """A perturbation function that notes its last choice, and the robust loss wherever it is asked.

    Args:
        pick: the perturbation function.
    """

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self.robust: list[float] = []
        self.shortfall = 0.0
        self.chosen = torch.zeros(0, dtype=torch.long)

    def __call__(self, net: Any, margins: Tensor, step: int) -> Tensor:
        """The points that the perturbation function picks.

        Args:
            net: under attack.
            margins: (n, K) at all allowed points.
            step: of training.
        """
        self.chosen = self.pick(net, margins, step)
        reached = float(PseudoHuber()(margins.gather(1, self.chosen.unsqueeze(1))).mean())
        self.robust.append(robust_loss(margins))
        self.shortfall = max(self.shortfall, self.robust[-1] - reached)
        return self.chosen
