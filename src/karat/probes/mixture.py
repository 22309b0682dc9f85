"""Every neuron as a few pure features plus a dense mixture of all the others."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_number, require_shape


@dataclass(frozen=True, eq=False)
class Mixture:
    """w_i = sum_{j in N_i} c_ij M_j + sum_{j not in N_i} c_ij M_j, the second sum being the mixture.

    Args:
        coefficients: (m, D) c_ij = <w_i, M_j>.
        own: (m, D) bool, j in N_i.
        w_star: (D,) label vector.

    Symbols: alpha_ij, beta_ij of the paper are c_ij / w*_j on and off N_i.

    Ref: purification, Thm 5.2
    """

    coefficients: Tensor
    own: Tensor
    w_star: Tensor

    @property
    def top(self) -> Tensor:
        """(m,) index of the largest |c_ij|."""
        return self.coefficients.abs().argmax(dim=1)

    @property
    def alpha(self) -> Tensor:
        """(m,) size of the largest coefficient."""
        return self.coefficients.abs().amax(dim=1)

    @property
    def own_count(self) -> Tensor:
        """(m,) |N_i|."""
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
        """(m,) mean over j not in N_i of beta_ij = c_ij / w*_j."""
        count = (~self.own).sum(dim=1).clamp_min(1)
        return (self.dense / self.w_star).sum(dim=1) / count

    @property
    def aligned(self) -> Tensor:
        """(m,) share of j not in N_i whose coefficient has the sign of w*_j."""
        agree = (self.coefficients * self.w_star > 0) & ~self.own
        return agree.sum(dim=1) / (~self.own).sum(dim=1).clamp_min(1)

    def paper_mean(self) -> float:
        """(1/(m D)) sum_i sum_{j not in N_i} beta_ij over ALL neurons: of order k/d after clean training.

        Ref: purification, Thm 5.2
        """
        return float((self.dense / self.w_star).mean())

    def select(self, rows: Tensor) -> "Mixture":
        """The mixture of some neurons only."""
        return Mixture(self.coefficients[rows], self.own[rows], self.w_star)


def split_mixture(
    W: Tensor, M: Tensor, w_star: Tensor, *, own: Tensor | None = None, share: float = 0.3
) -> Mixture:
    """Write the weights in the dictionary and tell pure features from the mixture.

    Args:
        W: (m, d) weights.
        M: (d, D) orthonormal columns.
        w_star: (D,).
        own: (m, D) bool sets N_i; by default the coefficients of at least `share` times the largest.

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
    return Mixture(coefficients, own, w_star.to(W))


def feature_coverage(mixture: Mixture, share: float = 0.5) -> float:
    """Share of features that some neuron holds: |c_ij| >= share * (largest alpha), right sign, j in N_i."""
    level = share * mixture.alpha.max()
    signed = mixture.coefficients * mixture.w_star.sign()
    return float(((signed >= level) & mixture.own).any(dim=0).double().mean())


def densest_neurons(mixture: Mixture, count: int) -> Tensor:
    """Indices of the neurons with the most own features, the hubs; ties go to the longer dense part."""
    size = mixture.own_count + mixture.dense_norm / (1 + mixture.dense_norm)
    # Dead neurons lean on everything and on nothing: they are no hubs.
    size = size.masked_fill(mixture.alpha < 0.1 * mixture.alpha.max(), -1.0)
    return size.argsort(descending=True)[:count]
