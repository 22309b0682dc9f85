"""What the checks of adversarial training share."""

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
    cheap={"m": 100, "n": 40, "n_test": 60},
    why="Untrained nets are right on half of the images and robust nowhere.",
)
