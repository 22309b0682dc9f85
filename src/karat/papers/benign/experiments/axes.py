"""What runs on the mixture and on digits have in common: the settings that the paper's figures vary."""

from typing import Any, Literal

from karat.papers.benign.experiments.digits import DigitsConfig
from karat.papers.benign.experiments.mixture import MixtureConfig

TrainingConfig = MixtureConfig | DigitsConfig
Axis = Literal["mu", "d", "ratio"]
"""Length of the signal, input dimension, attack radius over the signal."""

FIELDS: dict[Axis, set[str]] = {"mu": {"mu"}, "d": {"d", "side"}, "ratio": {"ratio"}}
"""Axis -> the setting that moves along it; the dimension of images is that of their side."""


def axis_value(config: TrainingConfig, axis: Axis) -> float:
    """Return where a run lies on an axis.

    Args:
        config: of the run.
        axis: which.
    """
    return float(getattr(config, axis))


def other_settings(config: TrainingConfig, axis: Axis) -> tuple[Any, ...]:
    """Return the settings that do not move along an axis; runs of one line over it have equal ones.

    Args:
        config: of the run.
        axis: which.
    """
    return tuple(value for name, value in vars(config).items() if name not in FIELDS[axis])
