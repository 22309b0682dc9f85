"""Data of the convergence experiments: points on the sphere, finite sets of allowed points in their caps."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor

from karat.core.cap import Cap, require_compatible
from karat.core.checks import require_integer
from karat.training.surrogate import Sets

CapRadius = Annotated[float, Ge(0), Le(2)]
"""The radius of a cap of the unit sphere, as a chord: 2 is the whole sphere."""

DataName = Literal["caps", "apart", "ring", "same", "opposite"]
"""Random caps; random caps that are apart up to sign; a ring of antipodal caps; random antipodal pairs with
equal or with opposite labels."""


def require_pairs(n: int, data: str, owner: str) -> None:
    """Refuse a number of caps that does not fit how they lie.

    Args:
        n: caps.
        data: a name of `DataName`, or of another layout.
        owner: whose setting it is.
    """
    least = {"ring": 6, "same": 4, "opposite": 4}.get(data, 2)
    if n < least or (n % 2 and least > 2):
        raise ValueError(f'`n` of `{owner}` must be even and at least {least} for data = "{data}", got {n}.')


@dataclass(frozen=True)
class PseudoHuber:
    r"""A loss as the theorems ask for it: convex, smooth, 1-Lipschitz, and 0 where the net equals the label.

    .. math:: \ell(u) = \sqrt{1 + (1 - u)^2} - 1, \qquad u = y f(x)

    Ref: convergence, Asm 3.1
    """

    def __call__(self, margin: Tensor) -> Tensor:
        """Loss of every margin."""
        return torch.sqrt(1 + (1 - margin).square()) - 1

    def derivative(self, margin: Tensor) -> Tensor:
        """Derivative in the margin."""
        return -(1 - margin) / torch.sqrt(1 + (1 - margin).square())


def draw_centres(
    n: int,
    d: int,
    tau: float,
    generator: torch.Generator,
    *,
    attempts: int = 400,
    up_to_sign: bool = False,
) -> tuple[Tensor, Tensor]:
    """Draw points of the sphere with random labels, both present, whose caps of radius tau are compatible.

    Points are drawn one by one and taken if they leave room for both caps with a quarter to spare; when no
    room is found the radius is too large for the sphere, and the message of `require_compatible` says which
    points meet.

    Args:
        n: how many points, at least 2.
        d: dimension.
        tau: radius of the caps, as a chord.
        generator: of the points and labels.
        attempts: draws of one point before it is taken although it is too near to another.
        up_to_sign: the caps must be apart from the mirror images -x of the others, too.

    Returns:
        (n, d) unit vectors and (n,) labels.

    Ref: convergence, Def 3.1
    """
    require_integer(n, "n", "draw_centres", minimum=2)
    y = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).double()[torch.randperm(n, generator=generator)]
    # Caps of angle t are apart if their centres are, by more than 2 t; 1.25 is the quarter to spare.
    gap = 2 * math.sin(min(math.pi / 2, 1.25 * Cap(tau).angle))
    points: list[Tensor] = []
    while len(points) < n:
        for _ in range(attempts):
            x = torch.randn(d, generator=generator, dtype=torch.float64)
            x = x / torch.linalg.vector_norm(x)
            others = [*points, *(-other for other in points)] if up_to_sign else points
            if all(float(torch.linalg.vector_norm(x - other)) > gap for other in others):
                break
        points.append(x)
    centres = torch.stack(points)
    require_compatible(centres, y, tau)
    if up_to_sign:
        _require_apart_up_to_sign(centres, y, tau)
    return centres, y


def _require_apart_up_to_sign(centres: Tensor, y: Tensor, tau: float) -> None:
    """Refuse caps that meet a cap of the other label or its mirror image.

    Ref: convergence, Asm C.1
    """
    require_compatible(torch.cat([centres, -centres]), torch.cat([y, y]), tau)


def ring_centres(n: int, d: int, tau: float) -> tuple[Tensor, Tensor]:
    r"""Return n points of a great circle with alternating labels.

    With n = 8, 12, ... points the labels of x and -x are equal, with n = 6, 10, ... they are opposite. They
    are values of a function of degree :math:`n/2 \ge 3` on the circle, and so orthogonal to every quadratic
    form and to every linear function: :math:`\sum_i y_i x_i x_i^\top = 0`, :math:`\sum_i y_i x_i = 0`.

    Args:
        n: points, even and at least 6.
        d: dimension.
        tau: radius of the caps, as a chord.

    Returns:
        (n, d) unit vectors and (n,) labels; the second half are the antipodes of the first.

    Ref: convergence, Asm C.1
    """
    if n < 6 or n % 2:
        raise ValueError(f"a ring of antipodal caps needs n = 6, 8, 10, ..., got {n}.")
    angle = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n
    centres = torch.zeros(n, d, dtype=torch.float64)
    centres[:, 0], centres[:, 1] = torch.cos(angle), torch.sin(angle)
    y = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).double()
    require_compatible(centres, y, tau)
    return centres, y


def antipodal_centres(
    n: int, d: int, tau: float, generator: torch.Generator, *, opposite: bool
) -> tuple[Tensor, Tensor]:
    """Draw n/2 points whose caps are apart up to sign, and their antipodes with equal or opposite labels.

    Args:
        n: points, even and at least 4.
        d: dimension.
        tau: radius of the caps, as a chord.
        generator: of points and labels.
        opposite: whether x and -x carry different labels.

    Returns:
        (n, d) unit vectors and (n,) labels; the second half are the antipodes of the first.
    """
    if n < 4 or n % 2:
        raise ValueError(f"antipodal pairs need n = 4, 6, 8, ..., got {n}.")
    half, y = draw_centres(n // 2, d, tau, generator, up_to_sign=True)
    return torch.cat([half, -half]), torch.cat([y, -y if opposite else y])


def cap_points(centres: Tensor, count: int, tau: float, generator: torch.Generator) -> Tensor:
    """Draw uniform points of every cap.

    Args:
        centres: (n, d) of the caps.
        count: points per cap.
        tau: radius of the caps, as a chord.
        generator: of the points.

    Returns:
        (n, count, d).
    """
    repeated = centres.repeat_interleave(count, dim=0)
    moved = repeated + Cap(tau).sample(repeated, generator=generator)
    return moved.reshape(len(centres), count, -1)


def draw_sets(
    n: int, d: int, tau: float, K: int, generator: torch.Generator, *, data: DataName = "caps"
) -> Sets:
    """Draw labelled centres with K allowed points each: the centre and K - 1 points of the rim of its cap.

    Args:
        n: centres, at least 2.
        d: dimension.
        tau: radius of the caps, as a chord.
        K: allowed points per centre, itself counted.
        generator: of centres, labels and rim points.
        data: how the centres lie.

    Reading: a finite set makes the strongest perturbation function an exact argmax; the rim is where a
        function that is nearly linear on the cap is extreme.

    Ref: convergence, Def 3.4
    """
    if data == "ring":
        centres, y = ring_centres(n, d, tau)
    elif data in ("same", "opposite"):
        centres, y = antipodal_centres(n, d, tau, generator, opposite=data == "opposite")
    else:
        centres, y = draw_centres(n, d, tau, generator, up_to_sign=data == "apart")
    repeated = centres.repeat_interleave(K, dim=0)
    push = torch.randn(repeated.shape, generator=generator, dtype=torch.float64)
    # A push at right angles to its centre ends on the rim of the cap.
    push = push - (push * repeated).sum(dim=1, keepdim=True) * repeated
    rim = Cap(tau).extreme_point(push, repeated) + repeated
    x = rim.reshape(n, K, d).clone()
    x[:, 0] = centres
    return Sets(x, y)
