"""Exact accuracies of classifiers on one strong and d weak features.

Symbols: p_strong for p, the probability that x_1 = y; w_1 and w the weights of strong and weak features.
"""

import math

import torch
from scipy.special import ndtr


def linear_accuracy(w_1: float, w: torch.Tensor, eta: float, p_strong: float, tau: float = 0.0) -> float:
    r"""Accuracy of sign(w_1 x_1 + <w, x>) against every perturbation of l_inf norm tau.

    The margin is Gaussian given s = y x_1, and the worst perturbation takes tau |(w_1, w)|_1 off it:
    \sum_s P(s) Phi((eta sum(w) + s w_1 - tau (|w_1| + |w|_1)) / |w|_2).

    Args:
        w_1: weight of the strong feature.
        w: (d,) weights of the weak ones.
        eta: mean of a weak feature times y.
        p_strong: probability that x_1 = y.
        tau: radius of the attack.
    """
    length = float(torch.linalg.vector_norm(w))
    shift = eta * float(w.sum()) - tau * (abs(w_1) + float(w.abs().sum()))
    return p_strong * _above(shift + w_1, length) + (1 - p_strong) * _above(shift - w_1, length)


def gated_accuracy(c: float, d: int, eta: float, p_strong: float, tau: float = 0.0) -> float:
    """Accuracy of sign(c sign(x_1) + mean of the weak features) at l_inf radius tau < 1.

    An attack of radius below 1 cannot turn sign(x_1), so it moves the mean alone.
    """
    if not 0 <= tau < 1:
        raise ValueError(f"`tau` of `gated_accuracy` must be at least 0 and below 1, got {tau}.")
    length = 1 / math.sqrt(d)
    return p_strong * _above(eta - tau + c, length) + (1 - p_strong) * _above(eta - tau - c, length)


def robust_bound(accuracy: float, p_strong: float) -> float:
    """Largest robust accuracy at tau >= 2 eta of any classifier of that standard accuracy.

    Holds when: p_strong >= 1/2.

    Ref: tsipras2019, Thm 2.1
    """
    return p_strong / (1 - p_strong) * (1 - accuracy)


def gated_gap(c: float, d: int, eta: float, p_strong: float) -> float:
    """How far the gated classifier stays below the bound at tau = 2 eta."""
    return (2 * p_strong - 1) / (1 - p_strong) * float(ndtr(-(c + eta) * math.sqrt(d)))


def _above(mean: float, length: float) -> float:
    """P(N(mean, length^2) > 0); a margin of exactly 0 is an error."""
    return float(ndtr(mean / length)) if length > 0 else float(mean > 0)
