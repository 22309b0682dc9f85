"""What the checks of adversarial training share."""

from dataclasses import replace

from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
)
from karat.study.control import Control
from karat.study.run import Run

TrainedRun = Run[AdversarialTrainingConfig, AdversarialTrainingResult]


def robust_accuracy(run: TrainedRun) -> float:
    """Return the accuracy that the attack leaves."""
    return run.result.robust_accuracy


# One epoch with a step of nothing.
NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"lr": 1e-9, "epochs": 1},
    cheap={"n_test": 60},
    why="Untrained nets are right on half of the images and robust nowhere.",
)

NO_THRESHOLD = replace(
    NO_TRAINING,
    why="Untrained nets are robust nowhere: there is no radius and no movement at which that changes.",
    unanswered=True,
)
