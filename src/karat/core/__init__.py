"""Pure maths on tensors: norms, balls, activations, losses, statistics and argument checks."""

from typing import TYPE_CHECKING

from karat.lazy import attach

if TYPE_CHECKING:
    from karat.core.activations import (
        ACTIVATIONS,
        Activation,
        LeakyRelu,
        Quadratic,
        QuadraticRelu,
        Relu,
        SmoothedRelu,
        SmoothedTruncatedRelu,
        SmoothLeakyRelu,
        Softplus,
        TruncatedRelu,
    )
    from karat.core.ball import Ball
    from karat.core.checks import ShapeError
    from karat.core.classifier import Classifier
    from karat.core.divergence import Diverged
    from karat.core.hinges import HasHinges, Hinges
    from karat.core.line import HasLine, Line
    from karat.core.losses import LOSSES, Hinge, Logistic, Loss, Squared, ZeroOne
    from karat.core.norms import dual_exponent, norm, two_inf_norm
    from karat.core.region import Region
    from karat.core.statistics import (
        Estimate,
        Interval,
        PowerLaw,
        clopper_pearson,
        crossing_point,
        fit_power_law,
        t_interval,
    )
else:
    __getattr__, __dir__ = attach(__name__)

__all__ = [
    "ACTIVATIONS",
    "LOSSES",
    "Activation",
    "Ball",
    "Classifier",
    "Diverged",
    "Estimate",
    "HasHinges",
    "HasLine",
    "Hinge",
    "Hinges",
    "Interval",
    "LeakyRelu",
    "Line",
    "Logistic",
    "Loss",
    "PowerLaw",
    "Quadratic",
    "QuadraticRelu",
    "Region",
    "Relu",
    "ShapeError",
    "SmoothLeakyRelu",
    "SmoothedRelu",
    "SmoothedTruncatedRelu",
    "Softplus",
    "Squared",
    "TruncatedRelu",
    "ZeroOne",
    "clopper_pearson",
    "crossing_point",
    "dual_exponent",
    "fit_power_law",
    "norm",
    "t_interval",
    "two_inf_norm",
]
