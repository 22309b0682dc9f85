"""Every neuron as a few pure features plus a dense mixture of all the others."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_number, require_shape


@dataclass(frozen=True, eq=False)
class DenseMixture:
    r"""Every neuron as a few features of its own plus a mixture of the others, the second sum.

    .. math:: w_i = \sum_{j \in N_i} c_{ij} M_j + \sum_{j \notin N_i} c_{ij} M_j

    Args:
        coefficients: (m, D) :math:`c_{ij} = \langle w_i, M_j \rangle`.
        own: (m, D) bool, :math:`j \in N_i`.
        w_star: (D,) label vector.

    Symbols: :math:`\alpha_{ij}, \beta_{ij}` of the paper are :math:`c_{ij} / w^*_j` on and off :math:`N_i`.

    Ref: purification, Thm 5.2
    """

    coefficients: Tensor
    own: Tensor
    w_star: Tensor

    @property
    def top(self) -> Tensor:
        r"""(m,) index of the largest :math:`|c_{ij}|`."""
        return self.coefficients.abs().argmax(dim=1)

    @property
    def alpha(self) -> Tensor:
        """(m,) size of the largest coefficient."""
        return self.coefficients.abs().amax(dim=1)

    @property
    def own_count(self) -> Tensor:
        r"""(m,) :math:`|N_i|`."""
        return self.own.sum(dim=1)

    @property
    def pure_norm(self) -> Tensor:
        """(m,) length of the part on N_i."""
        return torch.linalg.vector_norm(self.coefficients * self.own, dim=1)

    @property
    def dense_norm(self) -> Tensor:
        """(m,) length of the part off N_i."""
        return torch.linalg.vector_norm(self.dense, dim=1)

    @property
    def dense(self) -> Tensor:
        """(m, D) coefficients off N_i, zero on it."""
        return self.coefficients.masked_fill(self.own, 0.0)

    @property
    def along(self) -> Tensor:
        """(m,) component of the dense part along w* (restricted off N_i): positive if it helps the label."""
        direction = self.w_star.expand_as(self.own).masked_fill(self.own, 0.0)
        length = torch.linalg.vector_norm(direction, dim=1).clamp_min(torch.finfo(direction.dtype).tiny)
        return (self.dense * direction).sum(dim=1) / length

    @property
    def mean_beta(self) -> Tensor:
        r"""(m,) mean over :math:`j \notin N_i` of :math:`\beta_{ij} = c_{ij} / w^*_j`."""
        count = (~self.own).sum(dim=1).clamp_min(1)
        return (self.dense / self.w_star).sum(dim=1) / count

    @property
    def aligned(self) -> Tensor:
        r"""(m,) share of :math:`j \notin N_i` whose coefficient has the sign of :math:`w^*_j`."""
        agree = (self.coefficients * self.w_star > 0) & ~self.own
        return agree.sum(dim=1) / (~self.own).sum(dim=1).clamp_min(1)

    def paper_mean(self) -> float:
        r"""The mean coefficient of the mixtures of ALL neurons: of order k/d after clean training.

        .. math:: \frac{1}{m D} \sum_i \sum_{j \notin N_i} \beta_{ij}

        Ref: purification, Thm 5.2
        """
        return float((self.dense / self.w_star).mean())

    def select(self, rows: Tensor) -> "DenseMixture":
        """The mixture of some neurons only."""
        return DenseMixture(self.coefficients[rows], self.own[rows], self.w_star)


def split_mixture(
    W: Tensor, M: Tensor, w_star: Tensor, *, own: Tensor | None = None, share: float = 0.3
) -> DenseMixture:
    """Write the weights in the dictionary and tell pure features from the mixture.

    Args:
        W: (m, d) weights.
        M: (d, D) orthonormal columns.
        w_star: (D,).
        own: (m, D) bool sets N_i; by default the coefficients of at least `share` times the largest.
        share: of a neuron's largest coefficient that makes a feature its own.

    Reading: the paper's N_i are the potential tickets at initialisation, of size O(1) only as d grows; the
        default reads them off the trained weights, which at finite size is what "a few features" means.
    """
    require_number(share, "share", "split_mixture", minimum=0, maximum=1)
    require_shape(M, "M", (W.shape[1], None))
    require_shape(w_star, "w_star", (M.shape[1],))
    coefficients = W @ M.to(W)
    size = coefficients.abs()
    if own is None:
        own = size >= share * size.amax(dim=1, keepdim=True).clamp_min(torch.finfo(W.dtype).tiny)
    require_shape(own, "own", tuple(coefficients.shape))
    return DenseMixture(coefficients, own, w_star.to(W))


def feature_coverage(mixture: DenseMixture, share: float = 0.5) -> float:
    r"""Share of features that some neuron holds: its own, of the right sign, and large.

    Args:
        mixture: of all neurons.
        share: of the largest coefficient of all neurons that :math:`|c_{ij}|` must reach.
    """
    level = share * mixture.alpha.max()
    signed = mixture.coefficients * mixture.w_star.sign()
    return float(((signed >= level) & mixture.own).any(dim=0).double().mean())
