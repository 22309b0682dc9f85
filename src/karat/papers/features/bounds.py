"""The formulas of features: plateaus of threshold classifiers, floors for fixed features and queries."""

import math
from collections.abc import Sequence

from karat.core.checks import require_integer, require_number


def count_weights(k: int, p_o: float) -> list[float]:
    """P(s relevant patterns present) for s = 0..k under the mixture of Theorem 2.

    >>> count_weights(1, 0.5)
    [0.5, 0.5]

    Ref: features, Thm 2
    """
    coins = [p_o * math.comb(k, s) / 2**k for s in range(k + 1)]
    coins[0] += (1 - p_o) / 2
    coins[-1] += (1 - p_o) / 2
    return coins


def parity_labels(k: int) -> list[int]:
    """Labels of the counts 0..k: +1 for odd ones."""
    return [1 if s % 2 else -1 for s in range(k + 1)]


def best_accuracy(weights: Sequence[float], labels: Sequence[int], changes: int) -> float:
    """Accuracy of the best sign function of the count with at most `changes` changes of sign.

    One change is a linear classifier on the relevant sum; k changes are enough for any labels.

    >>> best_accuracy(count_weights(5, 0.5), parity_labels(5), 1)
    0.84375

    Ref: features, Sec E.1.1
    """
    require_integer(changes, "changes", "best_accuracy", minimum=0)
    best = {(0, 1): 0.0, (0, -1): 0.0}
    for weight, label in zip(weights, labels, strict=True):
        grown: dict[tuple[int, int], float] = {}
        for (used, sign), score in best.items():
            for new in (1, -1):
                turns = used + (new != sign)
                if turns <= changes:
                    gain = score + (weight if new == label else 0.0)
                    grown[turns, new] = max(grown.get((turns, new), 0.0), gain)
        best = grown
    return max(best.values())


def plateaus(weights: Sequence[float], labels: Sequence[int]) -> list[float]:
    """Accuracies where training on the count stalls: every single threshold, and the best of each more.

    Ref: features, Fig 5
    """
    k = len(weights) - 1
    found = {best_accuracy(weights, labels, changes) for changes in range(k + 1)}
    for cut in range(k + 2):
        right = sum(w for s, w in enumerate(weights) if labels[s] == (1 if s >= cut else -1))
        found |= {right, 1 - right}
    return sorted(value for value in {round(v, 12) for v in found} if value >= 0.5)


def convergence_bound(k: int, pairs: int, steps: int) -> float:
    """k^8/m^(2/3) + k^3 T/m^2 + k^2 m^(2/3)/T, the rate of Theorem 26 with every hidden constant 1.

    Symbols: pairs is m, steps T.

    Ref: features, Thm 26
    """
    return k**8 / pairs ** (2 / 3) + k**3 * steps / pairs**2 + k**2 * pairs ** (2 / 3) / steps


def fixed_feature_floor(p_o: float, k: int, size: float, weight_norm: float) -> float:
    """p_o (1 - sqrt(2 N) B / 2^k), the hinge loss some distribution forces; not above 0 when vacuous.

    Symbols: size is N, the number of features in [-1, 1]; weight_norm B.

    Holds when: k odd, 3 < k <= D/16.

    Reading: the mixture behind it lies in the paper's own family for p_o = 1/2 only, since for smaller p_o
    its background patterns depend on the component.

    Ref: features, Thm 2
    """
    require_number(p_o, "p_o", "fixed_feature_floor", minimum=0, maximum=0.5)
    return max(0.0, p_o * (1 - math.sqrt(2 * size) * weight_norm / 2**k))


def parseval_floor(p_o: float, D: int, k: int, energy: float, weight_norm: float) -> float:
    """p_o (1 - B sqrt(E|Psi|^2 / binom(D, k))), sharper than Theorem 2 and free of hidden steps.

    On the coins, hinge >= 1 - E[y h] and E[y h] <= B |E[y Psi]|; summed over the binom(D, k) orthonormal
    parities, |E[y Psi]|^2 is at most E|Psi|^2 <= N. So it holds for some A, and on average over a random A.

    Args:
        energy: E|Psi|^2, at most N for features in [-1, 1].
        weight_norm: B.

    Ref: features, Thm 29
    """
    require_number(energy, "energy", "parseval_floor", minimum=0)
    return max(0.0, p_o * (1 - weight_norm * math.sqrt(energy / math.comb(D, k))))


def rbf_parity_eigenvalue(D: int, k: int, overlap: float) -> float:
    """Eigenvalue of a product kernel on the cube at every parity of k coordinates.

        K(x, x') = r^(number of coordinates that differ)  ->  ((1 + r)/2)^(D-k) ((1 - r)/2)^k

    Args:
        overlap: r, the kernel value of two points that differ in one coordinate.

    >>> round(sum(math.comb(4, j) * rbf_parity_eigenvalue(4, j, 0.3) for j in range(5)), 12)
    1.0

    Ref: features, Cor 3
    """
    require_number(overlap, "overlap", "rbf_parity_eigenvalue", minimum=0, maximum=1)
    return ((1 + overlap) / 2) ** (D - k) * ((1 - overlap) / 2) ** k


def kernel_floor(p_o: float, eigenvalue: float, rkhs_norm: float) -> float:
    """p_o (1 - L sqrt(lambda_k)): hinge loss of every function of RKHS norm L, exact where Cor 3 has poly(.).

    Ref: features, Cor 3
    """
    return max(0.0, p_o * (1 - rkhs_norm * math.sqrt(eigenvalue)))


def query_floor(D: int, k: int) -> float:
    """binom(D, k)^(1/3) / 2, the number of queries or inverse tolerance that learning parities needs.

    >>> round(query_floor(100, 5), 1)
    211.1

    Ref: features, Thm 4
    """
    return math.comb(D, k) ** (1 / 3) / 2


def signal_after_step_one(label_corr: float, scale: float, active: float) -> float:
    """beta gamma / sigma~, the components along relevant patterns after the first gradient step.

    Symbols: active is beta, the share of samples that activate a neuron; scale is sigma~.

    Ref: features, Lem 6
    """
    return active * label_corr / scale


def activation_error(*, k: int, D: int, pairs: int, p_o: float, p_fail: float = 0.5) -> float:
    """eps_e = (k L^(1/2) + L^(3/2)) / sqrt(p_o (1 - p_o) (D - k)) with L = log(D m/p_fail), constant 1.

    After step one relevant components are within eps_e/sigma~ of beta gamma/sigma~, and background ones are
    at most p_o (1 - p_o) eps_e/sigma~.

    Symbols: pairs is m; sigma_phi^2 sigma~^2 = p_o (1 - p_o) is the variance of a background pattern.

    Ref: features, Lem 15
    """
    size = math.log(D * pairs / p_fail)
    return (k * size**0.5 + size**1.5) / math.sqrt(p_o * (1 - p_o) * (D - k))


def movement_bound(*, steps: int, lr: float, decay: float, length: float, top: float) -> float:
    """2 t eta lambda |w| + eta^2 t^2 + t |a|, how far a neuron moves in t steps of classifier learning.

    Symbols: steps is t, lr eta, decay lambda; length |w| and top |a| are those of the neuron at the start.

    Holds when: one rate below 1 for all layers, no momentum.

    >>> movement_bound(steps=10, lr=0.05, decay=0.0, length=1.0, top=0.0)
    0.25

    Ref: features, Lem 24
    """
    return 2 * steps * lr * decay * length + (lr * steps) ** 2 + steps * abs(top)


def parity_label_corr(p_o: float) -> float:
    """gamma of the parity mixture for k > 1: its coins are uncorrelated with the label, the rest has 1/2.

    Ref: features, Asm A1
    """
    return (1 - p_o) / 2
