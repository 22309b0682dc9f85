r"""The activations of the convergence experiments by name, with the constant :math:`C` of the theorems."""

import math
from typing import Literal

from karat.core.activations import Activation, QuadraticRelu, Relu, SmoothLeakyRelu, Softplus
from karat.core.smoothings import SmoothedRelu

ActivationName = Literal[
    "relu", "smoothed_relu", "softplus", "smooth_leaky_relu", "quadratic_relu", "shifted_softplus"
]

CENTRED: tuple[ActivationName, ...] = ("relu", "smoothed_relu", "softplus", "smooth_leaky_relu")
"""The ReLU and its smoothings with the kink at the origin, which are linear plus even."""

SMOOTHING = 0.5
"""Standard deviation of the noise that smooths the ReLU; its derivative is then 0.8-Lipschitz."""


def activation_of(name: ActivationName) -> Activation:
    """Return the activation of a name.

    Args:
        name: as a config writes it.
    """
    activations: dict[ActivationName, Activation] = {
        "relu": Relu(),
        "smoothed_relu": SmoothedRelu(SMOOTHING),
        "softplus": Softplus(),
        "smooth_leaky_relu": SmoothLeakyRelu(0.1, 2.0),
        "quadratic_relu": QuadraticRelu(),
        "shifted_softplus": Softplus(shift=1.0),
    }
    return activations[name]


def smoothed_relu_lipschitz(noise: float) -> float:
    r"""Return the Lipschitz constant of the derivative of a ReLU smoothed by Gaussian noise.

    Its second derivative is the density of the noise, which is largest at 0:

    .. math:: C = \frac{1}{\sigma \sqrt{2 \pi}}

    Args:
        noise: standard deviation :math:`\sigma`.
    """
    return 1 / (noise * math.sqrt(2 * math.pi))


SLOPE_LIPSCHITZ: dict[ActivationName, float] = {
    "smoothed_relu": smoothed_relu_lipschitz(SMOOTHING),
    "softplus": 0.25,
    "shifted_softplus": 0.25,
    "smooth_leaky_relu": 0.9,
    "quadratic_relu": 2.0,
}
r"""Lipschitz constants of :math:`\varphi'`; the plain ReLU has none, for its derivative jumps."""
