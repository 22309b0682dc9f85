"""Whether vectors lie in the span of given features: the error that the best regression leaves."""

import torch
from torch import Tensor

from karat.core.checks import require_number, require_shape


def span_error(targets: Tensor, atoms: Tensor, *, ridge: float = 1e-9) -> Tensor:
    r"""(n,) squared distance of each target from the span of the atoms, as a share of its squared length.

    .. math:: \min_c \|x - A^\top c\|^2 / \|x\|^2

    Computed with a ridge r, whose residual is :math:`r (A^\top A + r I)^{-1} x`: never below the exact error,
    and equal to it up to directions in which the atoms are weaker than the ridge.

    Args:
        targets: (n, d).
        atoms: (D, d) features as rows.
        ridge: relative to the mean squared row of atoms.

    >>> span_error(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0]])).round(decimals=6)
    tensor([0.6400], dtype=torch.float64)

    Ref: purification, Rem 8.2
    """
    require_shape(targets, "targets", (None, None))
    require_shape(atoms, "atoms", (None, targets.shape[1]))
    require_number(ridge, "ridge", "span_error", positive=True)
    x, A = targets.double(), atoms.double()
    level = ridge * float(A.square().sum()) / max(len(A), 1)
    if level == 0:
        return torch.ones(len(x), dtype=torch.float64)
    if len(A) < A.shape[1]:
        # Fewer features than dimensions: the small system is the one of the coefficients.
        factor = torch.linalg.cholesky(A @ A.T + level * torch.eye(len(A), dtype=A.dtype))
        rest = x - torch.cholesky_solve(A @ x.T, factor).T @ A
    else:
        factor = torch.linalg.cholesky(A.T @ A + level * torch.eye(A.shape[1], dtype=A.dtype))
        rest = level * torch.cholesky_solve(x.T, factor).T
    size = x.square().sum(dim=1).clamp_min(torch.finfo(x.dtype).tiny)
    return rest.square().sum(dim=1) / size


def worst_span_error(atoms: Tensor, *, ridge: float = 1e-9) -> float:
    r"""The largest `span_error` of any target: that of the direction in which the atoms are weakest.

    .. math:: \Big(\frac{r}{\lambda_{\min}(A^\top A) + r}\Big)^2

    Args:
        atoms: (D, d) features as rows.
        ridge: relative to the mean squared row of atoms.

    >>> worst_span_error(torch.tensor([[1.0, 0.0]])), worst_span_error(torch.eye(2)) < 1e-17
    (1.0, True)

    Ref: purification, Rem 8.2
    """
    require_shape(atoms, "atoms", (None, None))
    require_number(ridge, "ridge", "worst_span_error", positive=True)
    A = atoms.double()
    level = ridge * float(A.square().sum()) / max(len(A), 1)
    if len(A) < A.shape[1] or level == 0:
        return 1.0  # some direction is orthogonal to all of them
    weakest = max(float(torch.linalg.eigvalsh(A.T @ A)[0]), 0.0)
    return (level / (weakest + level)) ** 2
