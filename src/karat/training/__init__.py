"""Training: gradient descent in closed form, adversaries, projections, schedules, trajectories."""

from karat.training.adversary import Adversary
from karat.training.projections import FrobeniusBall, TwoInfBall, frobenius_ball
from karat.training.regularisers import CubicNorms, SquaredNorms
from karat.training.schedules import Constant, Ramp, Schedule, StepDecay
from karat.training.trainer import Trainer
from karat.training.trajectory import Snapshot, Trajectory

__all__ = [
    "Adversary",
    "Constant",
    "CubicNorms",
    "FrobeniusBall",
    "Ramp",
    "Schedule",
    "Snapshot",
    "SquaredNorms",
    "StepDecay",
    "Trainer",
    "Trajectory",
    "TwoInfBall",
    "frobenius_ball",
]
