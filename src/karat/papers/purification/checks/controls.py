"""Controls that several checks of purification share: small nets of which one ingredient is taken away."""

from karat.study.control import Control

CHEAP = {"batch": 512, "n_test": 3000, "n_attack": 40, "pgd_steps": 3, "n_certify": 0}
"""Settings under which a net is trained and measured in a second or two; sizes stay those of the claim."""

SMALL_NET = {**CHEAP, "d": 50, "k": 7}
"""The same at one small size, for claims that look at one size only."""

NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0, "robust_steps": 0},
    cheap=CHEAP,
    why="Before training neurons are random: they hold no feature and no mixture.",
)

NO_ADVERSARIAL_TRAINING = Control(
    name="no adversarial training",
    removes="training",
    settings={"robust_steps": 0},
    cheap=CHEAP,
    why="The net of clean training itself is neither purer nor more robust.",
)
