"""Vector norms per sample, their duals, and norms of matrices: (2, inf) and the gain in l_p."""

import math
from typing import Any

import torch
from torch import Tensor

from karat.core.checks import require_shape

EXPONENTS = (1.0, 2.0, math.inf)


def exponent(p: Any) -> float:
    """Read a norm's exponent: 1, 2 or inf, also as text.

    >>> exponent("inf")
    inf
    """
    try:
        value = float(p)
    except (TypeError, ValueError):
        value = math.nan
    if value not in EXPONENTS:
        raise ValueError(f"`p` of `Ball` must be one of 1, 2, inf; got {p!r}.")
    return value


def dual_exponent(p: float) -> float:
    r"""Exponent q of the dual norm, :math:`1/p + 1/q = 1`.

    >>> dual_exponent(1.0), dual_exponent(2.0)
    (inf, 2.0)
    """
    return {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[exponent(p)]


def norm(x: Tensor, p: float) -> Tensor:
    r"""The norm :math:`\|x_i\|_p` of every sample.

    Args:
        x: (n, ...) tensor; everything after the first axis is one vector.
        p: 1, 2 or inf.

    Returns:
        (n,) norms.
    """
    flat = rows(x)
    order = exponent(p)
    length = torch.linalg.vector_norm(flat, ord=order, dim=1)
    if order != 2:
        return length
    limits = torch.finfo(x.dtype)
    unsafe = (length < math.sqrt(limits.tiny) / limits.eps) | length.isinf()
    if not bool(unsafe.any()):
        return length
    # Squares left the range of the format: divide by the largest entry before squaring.
    top = flat.abs().amax(dim=1)
    scale = torch.where(unsafe & (top > 0), top, 1)
    return torch.linalg.vector_norm(flat / scale.unsqueeze(1), dim=1) * scale


def unit(x: Tensor, p: float) -> Tensor:
    """x / |x|_p per sample; zero stays zero, and tiny vectors do not underflow."""
    top = norm(x, torch.inf)
    scaled = x / per_sample(torch.where(top > 0, top, 1.0), x)
    size = norm(scaled, p)
    return scaled / per_sample(torch.where(size > 0, size, 1.0), x)


def rows(x: Tensor) -> Tensor:
    """View (n, ...) samples as the rows of a matrix."""
    return x.flatten(1) if x.dim() > 1 else x.unsqueeze(1)


def per_sample(values: Tensor, like: Tensor) -> Tensor:
    """Reshape (n,) values so that they broadcast against (n, ...) samples."""
    return values.reshape(-1, *([1] * (like.dim() - 1)))


def two_inf_norm(W: Tensor) -> Tensor:
    r"""Largest Euclidean norm of a neuron's incoming weights, :math:`\max_s \|w_s\|_2`.

    Symbols: lazy writes neurons as columns of W; here a row is a neuron.

    Ref: lazy, Def 2.1
    """
    require_shape(W, "W", (None, None))
    return norm(W, 2).max()
