"""A labelled sample with what its data model knows about it, and what a data model is."""

from dataclasses import dataclass, replace
from typing import Protocol, Self

import torch
from torch import Tensor

from karat.core.checks import require_labels, require_shape


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """n labelled points, with what only the data model knows about them.

    Args:
        x: (n, d) inputs.
        y: (n,) labels +1 or -1 that training sees.
        y_clean: (n,) labels before label noise.
        flipped: (n,) bool, true where `y` differs from `y_clean`.
        z: (n, D) hidden code, or None for a model without one.
        component: (n,) index of the mixture component that a point came from, or None.

    Example:
        >>> samples = Samples.clean(torch.eye(2), torch.tensor([1.0, -1.0]))
        >>> len(samples), samples.d, samples.flipped.tolist()
        (2, 2, [False, False])
    """

    x: Tensor
    y: Tensor
    y_clean: Tensor
    flipped: Tensor
    z: Tensor | None = None
    component: Tensor | None = None

    def __post_init__(self) -> None:
        require_shape(self.x, "x", (None, None))
        n = len(self)
        require_labels(self.y, n)
        require_labels(self.y_clean, n)
        require_shape(self.flipped, "flipped", (n,))
        if not torch.equal(self.flipped, self.y != self.y_clean):
            raise ValueError("`flipped` of `Samples` must be true exactly where `y` differs from `y_clean`.")
        if self.z is not None:
            require_shape(self.z, "z", (n, None))
        if self.component is not None:
            require_shape(self.component, "component", (n,))

    @classmethod
    def clean(cls, x: Tensor, y: Tensor, *, z: Tensor | None = None, component: Tensor | None = None) -> Self:
        """Build a sample without label noise.

        Args:
            x: (n, d) inputs.
            y: (n,) labels.
            z: (n, D) hidden code or None.
            component: (n,) indices of mixture components or None.
        """
        return cls(
            x=x, y=y, y_clean=y, flipped=torch.zeros(len(y), dtype=torch.bool), z=z, component=component
        )

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def d(self) -> int:
        """Dimension of the inputs."""
        return int(self.x.shape[1])

    def to(self, dtype: torch.dtype) -> Self:
        """Return the same sample with inputs, labels and code in another floating type."""
        return replace(
            self,
            x=self.x.to(dtype),
            y=self.y.to(dtype),
            y_clean=self.y_clean.to(dtype),
            z=None if self.z is None else self.z.to(dtype),
        )

    def take(self, index: Tensor | slice) -> Self:
        """Return the points named by an index tensor, a bool mask or a slice.

        >>> samples = Samples.clean(torch.eye(3), torch.tensor([1.0, -1.0, 1.0]))
        >>> samples.take(samples.y > 0).x.tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        """
        return replace(
            self,
            x=self.x[index],
            y=self.y[index],
            y_clean=self.y_clean[index],
            flipped=self.flipped[index],
            z=None if self.z is None else self.z[index],
            component=None if self.component is None else self.component[index],
        )


class DataModel(Protocol):
    """A law of labelled points in R^d; what it draws once (a dictionary, say) is stored in it."""

    @property
    def d(self) -> int:
        """Input dimension."""

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        """Draw labelled points.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
