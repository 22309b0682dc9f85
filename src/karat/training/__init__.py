"""Training: gradient descent in closed form, adversaries, projections, schedules, trajectories."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.training.adversary import Adversary
    from karat.training.images.attackers import ImageAttacker, named_attacker
    from karat.training.images.training import ImageTraining
    from karat.training.projections import FrobeniusBall, TwoInfBall, frobenius_ball
    from karat.training.regularisers import CubicNorms, SquaredNorms
    from karat.training.schedules import Constant, Ramp, Schedule, StepDecay
    from karat.training.trainer import Trainer
    from karat.training.trajectory import Snapshot, Trajectory
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "Adversary",
    "Constant",
    "CubicNorms",
    "FrobeniusBall",
    "ImageAttacker",
    "ImageTraining",
    "Ramp",
    "Schedule",
    "Snapshot",
    "SquaredNorms",
    "StepDecay",
    "Trainer",
    "Trajectory",
    "TwoInfBall",
    "frobenius_ball",
    "named_attacker",
]
