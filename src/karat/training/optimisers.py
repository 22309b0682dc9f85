r"""Updates that remember earlier gradients: heavy-ball momentum and Adam, on named tensors changed in place.

Torch's own optimisers import a compiler, which costs seconds in every process.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

Rates = float | Mapping[str, float]
"""One learning rate for all parameters, or one by name."""


class Momentum:
    r"""Heavy-ball descent.

    .. math:: v \leftarrow \text{momentum} \, v + g, \qquad \theta \leftarrow \theta - \text{rate} \, v

    Args:
        parameters: name -> tensor, changed in place.
        momentum: share of the velocity that is kept.
    """

    def __init__(self, parameters: Mapping[str, Tensor], momentum: float) -> None:
        self.parameters, self.momentum = parameters, momentum
        self.velocity = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Tensor], rates: Rates) -> None:
        """One update by the gradients of the parameters that are to move."""
        for name, gradient in gradients.items():
            self.velocity[name].mul_(self.momentum).add_(gradient)
            self.parameters[name].add_(self.velocity[name], alpha=-_rate(rates, name))


class Adam:
    r"""Adam with its usual constants :math:`\beta_1 = 0.9`, :math:`\beta_2 = 0.999`.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) g, \qquad
              v \leftarrow \beta_2 v + (1 - \beta_2) g^2, \qquad
              \theta \leftarrow \theta - \text{rate} \,
              \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + 10^{-8}}

    Args:
        parameters: name -> tensor, changed in place.
    """

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        self.parameters, self.count = parameters, 0
        self.first = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}
        self.second = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Tensor], rates: Rates) -> None:
        """One update by the gradients of the parameters that are to move."""
        self.count += 1
        for name, gradient in gradients.items():
            first = self.first[name].lerp_(gradient, 0.1)
            second = self.second[name].mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            size = (second / (1 - 0.999**self.count)).sqrt_().add_(1e-8)
            value = -_rate(rates, name) / (1 - 0.9**self.count)
            self.parameters[name].addcdiv_(first, size, value=value)


def _rate(rates: Rates, name: str) -> float:
    return rates if isinstance(rates, float | int) else rates[name]
