"""What the best linear classifier on given features reaches, by linear programming: no step size."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from torch import Tensor

from karat.core.checks import require_labels, require_shape
from karat.core.divergence import Diverged

CONSTANT = 1e-12
"""Features whose standard deviation, relative to their size, is below this are constants."""


@dataclass(frozen=True, eq=False)
class BestClassifier:
    """A linear classifier on standardised features, with an intercept.

    Args:
        loss: its mean hinge loss on the sample, the smallest possible.
        weights: (N,) of the features as given.
        intercept: added to their sum.
        rank: number of features that are no constants.
    """

    loss: float
    weights: np.ndarray
    intercept: float
    rank: int

    @property
    def largest(self) -> float:
        """Largest absolute weight."""
        return float(np.abs(self.weights).max(initial=0.0))

    def output(self, H: Tensor) -> np.ndarray:
        """Values of the classifier on features (n, N)."""
        return H.double().numpy() @ self.weights + self.intercept


def smallest_hinge(H: Tensor, y: Tensor) -> BestClassifier:
    r"""The smallest mean hinge loss of a linear classifier on given features, exactly (a linear program).

    .. math:: \min_{a, c} \; \frac1n \sum_i \max\big(0,\; 1 - y_i (\langle a, h_i \rangle + c)\big)

    Invariant under rescaling and shifting of every feature, so it judges what the features can express and
    not how fast a learner gets there.

    Args:
        H: (n, N) features, fewer than samples.
        y: (n,) labels.

    Ref: features, Lem 23
    """
    require_shape(H, "H", (None, None))
    values = H.double().numpy()
    label = require_labels(y, len(H)).double().numpy()
    mean, spread = values.mean(axis=0), values.std(axis=0)
    used = spread > CONSTANT * np.maximum(np.abs(values).max(axis=0), 1e-300)
    scaled = (values[:, used] - mean[used]) / spread[used]
    n, rank = scaled.shape
    push = np.hstack([scaled, np.ones((n, 1))]) * -label[:, None]
    solved = linprog(
        np.r_[np.zeros(rank + 1), np.full(n, 1 / n)],
        A_ub=sparse.hstack([sparse.csr_matrix(push), -sparse.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (rank + 1) + [(0, None)] * n,
        method="highs-ds",
    )
    if solved.status != 0:
        raise Diverged(None, f"the linear program of `smallest_hinge` was not solved: {solved.message}")
    weights = np.zeros(values.shape[1])
    weights[used] = solved.x[:rank] / spread[used]
    intercept = float(solved.x[rank] - weights @ mean)
    return BestClassifier(float(solved.fun), weights, intercept, rank)


def smallest_weights(H: Tensor, y: Tensor) -> float:
    r"""The smallest weights that separate with margin 1, without intercept; infinite if none do.

    .. math:: \min_a \|a\|_\infty \quad\text{such that}\quad y_i \langle a, h_i \rangle \ge 1 \;\; \forall i

    Args:
        H: (n, N) features.
        y: (n,) labels.

    Ref: features, Lem 23
    """
    require_shape(H, "H", (None, None))
    values = H.double().numpy() * require_labels(y, len(H)).double().numpy()[:, None]
    n, size = values.shape
    # The largest margin over the cube |a|_inf <= 1 is one over the smallest cube with margin 1.
    solved = linprog(
        np.r_[np.zeros(size), -1.0],
        A_ub=np.hstack([-values, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * size + [(None, None)],
        method="highs-ds",
    )
    margin = -float(solved.fun) if solved.status == 0 else 0.0
    return 1 / margin if margin > 1e-12 else float("inf")
