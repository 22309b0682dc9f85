"""Controls that several checks of purification share: small nets of which one ingredient is taken away."""

from karat.study.control import Control

SMALL_NET = {
    "d": 50,
    "k": 7,
    "batch": 512,
    "n_test": 500,
    "n_attack": 100,
    "pgd_steps": 5,
}
"""A net that trains in a second."""

NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={**SMALL_NET, "clean_steps": 0, "robust_steps": 0},
    why="Before training neurons are random: they hold no feature and no mixture.",
)

NO_ADVERSARIAL_TRAINING = Control(
    name="no adversarial training",
    removes="training",
    settings={**SMALL_NET, "clean_steps": 330, "robust_steps": 0},
    why="The net of clean training itself is neither purer nor more robust.",
)
