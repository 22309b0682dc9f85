"""Centring and scaling of inputs to total variance one."""

from dataclasses import dataclass, replace
from typing import Self

from torch import Tensor

from karat.core.checks import require_shape
from karat.core.ranges import Positive, checked
from karat.data.samples import Samples


@dataclass(frozen=True, kw_only=True, eq=False)
@checked
class Normaliser:
    r"""The map :math:`x \mapsto (x - \text{mean}) / \text{scale}` with one scale for all coordinates.

    .. math:: \text{scale}^2 = \sum_i \operatorname{Var}(x_i), \qquad
              \text{so that } \mathbb{E} \|x\|_2^2 = 1 \text{ afterwards}

    Fit it on the training sample and apply it to every other one.

    Args:
        mean: (d,) centre.
        scale: root of the total variance, > 0.

    Reading: the variance is the total over coordinates, not one per coordinate.

    Example:
        >>> import torch
        >>> x = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
        >>> normaliser = Normaliser.fit(x)
        >>> normaliser(x).square().sum(dim=1).mean()
        tensor(1.0000)

    Ref: features, Sec 3.1
    """

    mean: Tensor
    scale: Positive

    def __post_init__(self) -> None:
        require_shape(self.mean, "mean", (None,))

    @classmethod
    def fit(cls, x: Tensor) -> Self:
        """Take mean and total variance from a sample (n, d)."""
        require_shape(x, "x", (None, None))
        variance = float(x.var(dim=0, correction=0).double().sum())
        if variance == 0:
            raise ValueError(
                "`x` of `Normaliser.fit` must hold at least two different points, got a constant sample."
            )
        return cls(mean=x.mean(dim=0), scale=variance**0.5)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the normalised inputs, shaped like x."""
        require_shape(x, "x", (None, len(self.mean)))
        return (x - self.mean.to(x.dtype)) / self.scale

    def apply(self, samples: Samples) -> Samples:
        """Return the sample with normalised inputs."""
        return replace(samples, x=self(samples.x))
