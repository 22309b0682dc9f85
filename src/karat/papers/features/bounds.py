r"""The formulas of features: plateaus of threshold classifiers, floors for fixed features and queries.

Symbols: :math:`p_o` is `p_o`, :math:`\gamma` `label_corr`, :math:`\tilde\sigma` `scale`, :math:`m` `pairs`,
:math:`T` `steps`, :math:`N` `size`, :math:`B` `weight_norm`, :math:`\phi_j` the presence of pattern j.
"""

import math
from collections.abc import Sequence

from karat.core.checks import require_integer, require_number


def count_weights(k: int, p_o: float) -> list[float]:
    r"""Probability that s relevant patterns are present, for s = 0..k, under the mixture of Theorem 2.

    .. math:: P(s) = p_o \binom{k}{s} 2^{-k} + \tfrac{1 - p_o}{2} (1[s = 0] + 1[s = k])

    Args:
        k: relevant patterns.
        p_o: share of inputs whose relevant patterns are fair coins; the others have none or all of them.

    >>> count_weights(1, 0.5)
    [0.5, 0.5]

    Ref: features, Thm 2
    """
    weights = [p_o * math.comb(k, s) / 2**k for s in range(k + 1)]
    weights[0] += (1 - p_o) / 2
    weights[-1] += (1 - p_o) / 2
    return weights


def parity_labels(k: int) -> list[int]:
    """Labels of the counts 0..k: +1 for odd ones."""
    return [1 if s % 2 else -1 for s in range(k + 1)]


def best_accuracy(weights: Sequence[float], labels: Sequence[int], changes: int) -> float:
    """Accuracy of the best sign function of the count with at most `changes` changes of sign.

    One change is a linear classifier on the relevant sum; k changes are enough for any labels.

    Args:
        weights: probability of every count 0..k.
        labels: +1 or -1 for every count.
        changes: how often the sign function may change its sign.

    >>> best_accuracy(count_weights(5, 0.5), parity_labels(5), 1)
    0.84375

    Ref: features, Sec E.1.1
    """
    require_integer(changes, "changes", "best_accuracy", minimum=0)
    # Dynamic programming over the counts: (changes so far, last sign) -> probability of a right answer.
    best = {(0, 1): 0.0, (0, -1): 0.0}
    for weight, label in zip(weights, labels, strict=True):
        extended: dict[tuple[int, int], float] = {}
        for (used, sign), score in best.items():
            for next_sign in (1, -1):
                turns = used + (next_sign != sign)
                if turns <= changes:
                    gain = score + (weight if next_sign == label else 0.0)
                    extended[turns, next_sign] = max(extended.get((turns, next_sign), 0.0), gain)
        best = extended
    return max(best.values())


def plateaus(weights: Sequence[float], labels: Sequence[int]) -> list[float]:
    """Accuracies at which training on the count stalls: every single threshold, and the best of each more.

    Args:
        weights: probability of every count 0..k.
        labels: +1 or -1 for every count.

    Ref: features, Fig 5
    """
    k = len(weights) - 1
    accuracies = {best_accuracy(weights, labels, changes) for changes in range(k + 1)}
    for cut in range(k + 2):
        right = sum(w for s, w in enumerate(weights) if labels[s] == (1 if s >= cut else -1))
        accuracies |= {right, 1 - right}
    # Sums in another order differ in the last digits; equal plateaus must be one.
    return sorted(value for value in {round(v, 12) for v in accuracies} if value >= 0.5)


def convergence_bound(k: int, pairs: int, steps: int) -> float:
    r"""The hinge loss that Theorem 26 promises, with every hidden constant 1.

    .. math:: \frac{k^8}{m^{2/3}} + \frac{k^3 T}{m^2} + \frac{k^2 m^{2/3}}{T}

    Args:
        k: relevant patterns.
        pairs: :math:`m`, pairs of neurons.
        steps: :math:`T`.

    Ref: features, Thm 26
    """
    return k**8 / pairs ** (2 / 3) + k**3 * steps / pairs**2 + k**2 * pairs ** (2 / 3) / steps


def fixed_feature_floor(p_o: float, k: int, size: float, weight_norm: float) -> float:
    r"""The hinge loss that some distribution forces on fixed features; 0 where the floor is vacuous.

    .. math:: p_o \left(1 - \frac{\sqrt{2N} B}{2^k}\right)

    Args:
        p_o: share of coins in the mixture.
        k: relevant patterns.
        size: :math:`N`, the number of features in [-1, 1].
        weight_norm: :math:`B`.

    Holds when: k odd, :math:`3 < k \le D/16`.

    Reading: the mixture behind it lies in the paper's own family for :math:`p_o = 1/2` only, since for
    smaller :math:`p_o` its background patterns depend on the component.

    Ref: features, Thm 2
    """
    require_number(p_o, "p_o", "fixed_feature_floor", minimum=0, maximum=0.5)
    return max(0.0, p_o * (1 - math.sqrt(2 * size) * weight_norm / 2**k))


def rbf_parity_eigenvalue(D: int, k: int, overlap: float) -> float:
    r"""Eigenvalue of a product kernel on the cube at every parity of k coordinates.

    .. math::

        K(x, x') = r^{\#\{i : x_i \ne x'_i\}}, \qquad
        \lambda_k = \left(\frac{1 + r}{2}\right)^{D - k} \left(\frac{1 - r}{2}\right)^k

    Args:
        D: dimension of the cube.
        k: coordinates of the parity.
        overlap: :math:`r`, the kernel value of two points that differ in one coordinate.

    >>> round(sum(math.comb(4, j) * rbf_parity_eigenvalue(4, j, 0.3) for j in range(5)), 12)
    1.0

    Ref: features, Cor 3
    """
    require_number(overlap, "overlap", "rbf_parity_eigenvalue", minimum=0, maximum=1)
    return ((1 + overlap) / 2) ** (D - k) * ((1 - overlap) / 2) ** k


def kernel_floor(p_o: float, eigenvalue: float, rkhs_norm: float) -> float:
    r"""The hinge loss that no function of RKHS norm L goes below, exact where Corollary 3 has poly(.).

    .. math:: p_o \left(1 - L \sqrt{\lambda_k}\right)

    Args:
        p_o: share of coins in the mixture.
        eigenvalue: :math:`\lambda_k`, of the kernel at the parities of k patterns.
        rkhs_norm: :math:`L`.

    Ref: features, Cor 3
    """
    return max(0.0, p_o * (1 - rkhs_norm * math.sqrt(eigenvalue)))


def query_floor(D: int, k: int) -> float:
    r"""The number of queries, or the inverse tolerance, that learning parities needs at least.

    .. math:: \tfrac{1}{2} \tbinom{D}{k}^{1/3}

    Args:
        D: patterns.
        k: relevant patterns.

    >>> round(query_floor(100, 5), 1)
    211.1

    Ref: features, Thm 4
    """
    return math.comb(D, k) ** (1 / 3) / 2


def largest_advantage(D: int, k: int) -> float:
    r"""How far below one half the error gets, at most, with less than the effort of `query_floor`.

    .. math:: \tbinom{D}{k}^{-1/2}

    Printed is :math:`\binom{D}{k}^{-3}`, which a learner with k coarse queries exceeds. Reading: a predicate
    answers :math:`c + E[y g]/2` with :math:`|g| \le 1`, so by Parseval a query of tolerance :math:`\tau`
    tells at most :math:`1/(4\tau^2)` of the N parities from noise, and fewer than N/32 are told apart by
    less than :math:`N^{1/3}/2` queries with :math:`1/\tau` as small. An answer has a correlation above
    :math:`2 N^{-1/2}` with fewer than N/4 of the others. So some parity is left, with an error of
    :math:`1/2 - N^{-1/2}` at least.

    Args:
        D: patterns.
        k: relevant patterns.

    >>> round(largest_advantage(100, 5), 6)
    0.000115

    Ref: features, Thm 4
    """
    return float(math.comb(D, k) ** -0.5)


def signal_after_step_one(label_corr: float, scale: float, active: float) -> float:
    r"""The component of a neuron along every relevant pattern after the first gradient step.

    .. math:: \beta \gamma / \tilde\sigma

    Args:
        label_corr: :math:`\gamma`.
        scale: :math:`\tilde\sigma`, by which the inputs are divided.
        active: :math:`\beta`, the share of samples that activate the neuron.

    Ref: features, Lem 6
    """
    return active * label_corr / scale


def activation_error(*, k: int, D: int, pairs: int, p_o: float, p_fail: float = 0.5) -> float:
    r"""How much the activity of a neuron may depend on a single pattern, with constant 1.

    .. math::

        \epsilon_e = \frac{k L^{1/2} + L^{3/2}}{\sqrt{p_o (1 - p_o) (D - k)}}, \qquad L = \log(D m / \delta)

    After step one the relevant components are within :math:`\epsilon_e / \tilde\sigma` of
    :math:`\beta\gamma / \tilde\sigma`, and background ones are at most
    :math:`p_o (1 - p_o) \epsilon_e / \tilde\sigma`.

    Symbols: :math:`\sigma_\phi^2 \tilde\sigma^2 = p_o (1 - p_o)` is the variance of a background pattern.

    Args:
        k: relevant patterns.
        D: patterns.
        pairs: :math:`m`.
        p_o: probability of a background pattern.
        p_fail: :math:`\delta`.

    Ref: features, Lem 15
    """
    size = math.log(D * pairs / p_fail)
    return (k * size**0.5 + size**1.5) / math.sqrt(p_o * (1 - p_o) * (D - k))


def movement_bound(*, steps: int, lr: float, decay: float, length: float, top: float) -> float:
    r"""How far a neuron moves at most in t steps of classifier learning.

    .. math:: 2 t \eta \lambda |w| + \eta^2 t^2 + t |a|

    Args:
        steps: :math:`t`.
        lr: :math:`\eta`, the one rate of all weights.
        decay: :math:`\lambda`.
        length: :math:`|w|` of the neuron at the start.
        top: its output weight :math:`a` at the start.

    Holds when: one rate below 1 for all layers, no momentum.

    >>> movement_bound(steps=10, lr=0.05, decay=0.0, length=1.0, top=0.0)
    0.25

    Ref: features, Lem 24
    """
    return 2 * steps * lr * decay * length + (lr * steps) ** 2 + steps * abs(top)


def parity_label_corr(p_o: float) -> float:
    r"""The correlation :math:`\gamma = (1 - p_o)/2` of a pattern with the label, in the parity mixture.

    For k > 1 its coins are uncorrelated with the label; the rest has correlation 1/2.

    Ref: features, Asm A1
    """
    return (1 - p_o) / 2
