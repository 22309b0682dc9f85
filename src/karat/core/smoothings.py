"""Activations averaged over neuron noise, in closed form: E phi(z + rho) with rho ~ N(0, sigma^2)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from karat.core.ranges import Positive, checked


def _normal_cdf(u: Tensor) -> Tensor:
    """Phi(u); `torch.special.ndtr` is 0 below -6 in float32, for it cancels in the left tail."""
    return torch.special.erfc(u * -math.sqrt(0.5)) / 2


def _smoothed_relu(z: Tensor, sigma: float) -> Tensor:
    """E max(z + rho, 0) as max(z, 0) + sigma h(|z|/sigma), h the Gaussian mean excess.

    The two summands have one sign, so nothing cancels in the far tail.
    """
    # h is 0 in float64 beyond 40, and `where` gives |z| the slope at 0 that makes autograd return Phi(0).
    u = (torch.where(z > 0, z, -z) / sigma).clamp_max(40)
    mills = math.sqrt(math.pi / 2) * torch.special.erfcx(u / math.sqrt(2))
    density = torch.exp(-u.square() / 2) / math.sqrt(2 * math.pi)
    return torch.relu(z) + sigma * density * (1 - u * mills)


@dataclass(frozen=True)
@checked
class SmoothedRelu:
    r"""The ReLU averaged over Gaussian noise, with the normal law :math:`\Phi` and density :math:`\varphi`.

    .. math:: \mathbb{E} \max(z + \rho, 0) = z\, \Phi(z/\sigma) + \sigma\, \varphi(z/\sigma), \qquad
        \rho \sim N(0, \sigma^2)

    Args:
        sigma: standard deviation of the noise.

    Ref: purification, Sec 4
    """

    sigma: Positive
    kinks: ClassVar[tuple[float, ...]] = ()
    piecewise_linear: ClassVar[bool] = False

    def __call__(self, z: Tensor) -> Tensor:
        """The mean over the noise, exact in the far tail."""
        return _smoothed_relu(z, self.sigma)

    def derivative(self, z: Tensor) -> Tensor:
        """Phi(z / sigma)."""
        return _normal_cdf(z / self.sigma)


@dataclass(frozen=True)
@checked
class SmoothedTruncatedRelu:
    r"""The truncated ReLU averaged over Gaussian noise, with S the smoothed ReLU.

    .. math:: \mathbb{E} \min(1, \max(z + \xi, 0)) = S(z) - S(z - 1), \qquad \xi \sim N(0, \sigma^2)

    Args:
        sigma: standard deviation of the noise.

    Ref: features, Eq 3
    """

    sigma: Positive
    kinks: ClassVar[tuple[float, ...]] = ()
    piecewise_linear: ClassVar[bool] = False

    def __call__(self, z: Tensor) -> Tensor:
        """Evaluated on the small side of z = 1/2, by the symmetry phi(1 - z) = 1 - phi(z)."""
        left = torch.where(z <= 0.5, z, 1 - z)
        value = _smoothed_relu(left, self.sigma) - _smoothed_relu(left - 1, self.sigma)
        return torch.where(z <= 0.5, value, 1 - value)

    def derivative(self, z: Tensor) -> Tensor:
        """Phi(z/sigma) - Phi((z-1)/sigma), again on the small side."""
        left = torch.minimum(z, 1 - z)
        return _normal_cdf(left / self.sigma) - _normal_cdf((left - 1) / self.sigma)
