r"""What a cluster law must tell about itself, and what follows from it.

A product of d copies of a law on the line is the cluster law of the noisy mixture, and its constants are
those of one coordinate: strong log-concavity :math:`\lambda`, the variance :math:`\kappa`, and the
sub-Gaussian norm :math:`\psi_2`.

Ref: benign, Def 2.1
"""

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

import torch
from scipy.optimize import brentq
from torch import Tensor

Law = TypeVar("Law", bound="ClusterLaw")


class ClusterLaw(Protocol):
    r"""A law on the line with a strongly log-concave density p that is symmetric about 0.

    .. math:: -(\log p)'' \ge \lambda \text{ on an interval}, \qquad
              \psi_2 = \min \{ K : \mathbb{E} \exp(X^2 / K^2) \le 2 \}
    """

    @property
    def log_concavity(self) -> float:
        r""":math:`\lambda`, the largest lower bound on the curvature of :math:`-\log p`."""

    @property
    def variance(self) -> float:
        r""":math:`\mathbb{E} X^2`, the kappa of the product law."""

    @property
    def psi2(self) -> float:
        r"""The sub-Gaussian norm :math:`\psi_2`."""

    def log_density(self, x: Tensor) -> Tensor:
        """Return log p(x) entry by entry, -inf outside the support."""

    def tail(self, t: float) -> float:
        """Return P(X > t)."""

    def rescaled(self: Law, factor: float) -> Law:
        """Return the law of factor * X."""

    def sample(self, shape: tuple[int, ...], *, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
        """Draw independent coordinates.

        Args:
            shape: of the tensor.
            generator: of the draw.
            dtype: of the tensor.
        """


def overlap(law: ClusterLaw, shift: float) -> float:
    r"""Mass shared by a law and its shifted copy.

    .. math:: \int \min\big(p(x), p(x + \text{shift})\big)\, dx = 2\, P(X > |\text{shift}| / 2)

    Reading: the equality needs a density symmetric about 0 and falling away from it, as every strongly
    log-concave symmetric density is. It is the d-dimensional integral of the product law when the shift is
    along one axis, and of the Gaussian product along any direction.

    Example:
        >>> from karat.data import Gaussian
        >>> round(overlap(Gaussian(), 2.0), 4)
        0.3173

    Ref: benign, Thm 3.2
    """
    return 2 * law.tail(abs(shift) / 2)


def admissible(law: Law) -> Law:
    r"""Rescale a law to sub-Gaussian norm exactly one, the largest that the noisy mixture allows.

    Reading: "sub-Gaussian norm at most one" is used as :math:`\mathbb{E} \exp(X^2) \le 2`, which N(0, 1)
    violates; the Gaussian that meets it has variance at most 3/8.

    Example:
        >>> from karat.data import Gaussian
        >>> round(admissible(Gaussian()).variance, 12)
        0.375

    Ref: benign, Def 2.1
    """
    return law.rescaled(1 / law.psi2)


def solve_psi2(log_moment: Callable[[float], float], variance: float) -> float:
    r"""The sub-Gaussian norm of a law with log-concavity one.

    It is the root of :math:`\mathbb{E} \exp(X^2 / K^2) = 2`, bracketed by
    :math:`1 + \mathbb{E} X^2 / K^2 \le \mathbb{E} \exp(X^2 / K^2)` from below and by N(0, 1), which dominates
    every symmetric law of log-concavity one and has :math:`K = \sqrt{8/3} < 1.7`, from above.

    Args:
        log_moment: the map from K to :math:`\log \mathbb{E} \exp(X^2 / K^2)`.
        variance: :math:`\mathbb{E} X^2`.
    """
    root = brentq(lambda K: log_moment(K) - math.log(2), math.sqrt(variance), 1.7, xtol=1e-14, rtol=1e-14)
    return float(root)
