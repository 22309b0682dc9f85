"""Uniform points on the unit sphere, labelled at random or by a halfspace."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import torch
from annotated_types import Ge, Le
from scipy.special import betainc, betaincinv
from torch import Tensor

from karat.core.checks import require_choice, require_integer, require_number, require_shape
from karat.core.ranges import checked
from karat.data.samples import Samples

_ATTEMPTS = 100


def smallest_distance(x: Tensor) -> float:
    """Smallest l_2 distance between two of the points (n, d); infinite for a single point.

    >>> round(smallest_distance(torch.eye(3)), 4)
    1.4142
    """
    require_shape(x, "x", (None, None))
    distances = torch.nn.functional.pdist(x)
    return float(distances.min()) if len(distances) else float("inf")


@dataclass(frozen=True, kw_only=True, eq=False)
@checked
class UnitSphere:
    r"""Independent uniform points of the unit sphere in :math:`\mathbb{R}^d`.

    Args:
        d: input dimension, at least 2.
        labels: "random" for fair coins, or "halfspace" for
            :math:`y = \operatorname{sign} \langle \nu, x \rangle` with x conditioned on
            :math:`|\langle \nu, x \rangle| \ge \text{margin}`.
        margin: distance of every point from the separating hyperplane, in [0, 1); halfspace labels only.
        separation: samples are drawn conditioned on all distances being at least this; 0 for no condition.
        normal: (d,) unit normal nu of the halfspace; the first axis when left out.

    Example:
        >>> model = UnitSphere(d=3, labels="halfspace", margin=0.2)
        >>> samples = model.sample(50, generator=torch.Generator().manual_seed(0))
        >>> bool((samples.y * samples.x[:, 0] >= 0.2).all())
        True

    Ref: lazy, Cor 3.2
    """

    d: Annotated[int, Ge(2)]
    labels: str = "random"
    margin: float = 0.0
    separation: Annotated[float, Ge(0), Le(2)] = 0.0
    normal: Tensor | None = None

    def __post_init__(self) -> None:
        require_choice(self.labels, "labels", "UnitSphere", ["random", "halfspace"])
        if not 0 <= require_number(self.margin, "margin", "UnitSphere") < 1:
            raise ValueError(f"`margin` of `UnitSphere` must be a number in [0, 1), got {self.margin!r}.")
        if self.margin > 0 and self.labels == "random":
            raise ValueError("`margin` of `UnitSphere` needs `labels` = 'halfspace', got 'random'.")
        if self.normal is not None:
            require_shape(self.normal, "normal", (self.d,))
            norm = float(torch.linalg.vector_norm(self.normal.double()))
            if abs(norm - 1) > 1e-6:
                raise ValueError(f"`normal` of `UnitSphere` must have length 1, got {norm:g}.")

    @cached_property
    def _normal(self) -> Tensor:
        if self.normal is not None:
            return self.normal.double()
        axis = torch.zeros(self.d, dtype=torch.float64)
        axis[0] = 1
        return axis

    def sample(self, n: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Samples:
        """Draw labelled points.

        Args:
            n: how many.
            generator: of the draw.
            dtype: of the tensors.
        """
        require_integer(n, "n", "UnitSphere.sample", minimum=1)
        for _ in range(_ATTEMPTS):
            x, y = self._draw(n, generator, dtype)
            if self.separation == 0 or smallest_distance(x) >= self.separation:
                return Samples.clean(x, y)
        raise ValueError(
            f"`separation` of `UnitSphere` must be smaller than {self.separation:g}: no {n} points so far "
            f"apart were found in {_ATTEMPTS} draws at `d` = {self.d}."
        )

    def _draw(self, n: int, generator: torch.Generator, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        x = torch.randn(n, self.d, generator=generator, dtype=dtype)
        coins = torch.rand(2, n, generator=generator, dtype=torch.float64)
        y = torch.where(coins[0] < 0.5, -1.0, 1.0).to(dtype)
        normal = self._normal.to(dtype)
        if self.labels == "halfspace" and self.margin == 0:
            y = torch.where(x @ normal >= 0, 1.0, -1.0).to(dtype)
        if self.margin > 0:
            # The part across the normal is uniform on its own sphere, whatever the part along it.
            x.addr_(x @ normal, normal, alpha=-1)
        x.div_(torch.linalg.vector_norm(x, dim=1, keepdim=True))
        if self.margin > 0:
            # 1 - <normal, x>^2 has the Beta((d-1)/2, 1/2) law; its lower tail stays exact for rare margins.
            shape = ((self.d - 1) / 2, 0.5)
            lower = betaincinv(*shape, betainc(*shape, 1 - self.margin**2) * coins[1].numpy())
            rest = torch.from_numpy(lower).clamp(0, 1 - self.margin**2)
            x.mul_(rest.sqrt().to(dtype)[:, None]).addr_(y * (1 - rest).sqrt().to(dtype), normal)
        return x, y
