"""Formulas of convergence: widths and times of the theorems, the built net's error, the shattering radius.

Symbols: epsilon is `tol`, delta is `tau`, H is `depth`, C bounds phi' and its slope, R is `radius`.
"""

import math

from karat.core.checks import require_integer, require_number


def two_layer_width(radius: float, tol: float) -> float:
    """R^4/tol^2, its hidden constant read as 1.

    Ref: convergence, Thm 5.1
    """
    require_number(tol, "tol", "two_layer_width", positive=True)
    return radius**4 / tol**2


def two_layer_steps(m: int, lr: float) -> float:
    """sqrt m / lr.

    Ref: convergence, Thm 5.1
    """
    return math.sqrt(m) / lr


def corollary_steps(radius: float, tol: float, lr: float) -> float:
    """R^2/(tol lr); equal to sqrt m / lr at m = R^4/tol^2.

    Ref: convergence, Cor 5.1
    """
    return radius**2 / (tol * lr)


def deep_width(radius: float, depth: int, tol: float, d: int) -> float:
    """max(R^9 depth^16/tol^7, d^2), hidden constants read as 1.

    Ref: convergence, Thm 4.1
    """
    require_number(tol, "tol", "deep_width", positive=True)
    return float(max(radius**9 * depth**16 / tol**7, d**2))


def deep_steps(radius: float, m: int, tol: float, lr: float) -> float:
    """R^2/(m tol lr); R^2 depth^2/tol^2 at lr = tol/(m depth^2).

    Ref: convergence, Thm 4.1
    """
    return radius**2 / (m * tol * lr)


def curvature_constant(slope_lipschitz: float, loss_lipschitz: float = 1.0) -> float:
    """c of the regret recursion: C L, with no hidden factor.

    A net with 1/sqrt m outputs has |grad f(W) - grad f(W')| <= C/sqrt m |W - W'|, so a convex L-Lipschitz
    loss lies above its tangent less L C/(2 sqrt m) |W - W'|^2, and the recursion doubles that.

    Ref: convergence, Eq 16
    """
    return slope_lipschitz * loss_lipschitz


def regret_gap(radius: float, m: int, lr: float, steps: int, c: float, gradient: float = 1.0) -> float:
    """lr G^2/2 + c R^2/(2 sqrt m (1 - (1 + c lr/sqrt m)^-T)), above min over t < T of L_A(W_t) - L_*(W_*).

    The recursion summed, with d_0 <= R and d_T >= 0. For few steps it is about R^2/(2 lr T).

    Args:
        radius: R >= |W_0 - W_*|.
        c: of the recursion.
        gradient: G, a bound on |grad L_A|, 1 for a 1-Lipschitz loss and |phi'| <= 1.

    Reading: the text keeps neither the 1/2 of both terms nor G.

    Ref: convergence, Eq 17
    """
    root = math.sqrt(m)
    left = -math.expm1(-steps * math.log1p(c * lr / root))
    return lr * gradient**2 / 2 + c * radius**2 / (2 * root * left)


def finite_sum_bound(size: float, M: int, d: int, slope: float, p_fail: float) -> float:
    """C |g|_RF/sqrt M (2 sqrt d + sqrt(2 log(1/p))), sup error of M random features.

    Ref: convergence, Prop C.1
    """
    return slope * size / math.sqrt(M) * (2 * math.sqrt(d) + math.sqrt(2 * math.log(1 / p_fail)))


def built_error_bound(size: float, m: int, d: int, slope: float, p_fail: float) -> float:
    """C |g|^2/(2 sqrt m) + C |g|/sqrt(m/2) (2 sqrt d + sqrt(2 log(1/p))), the curvature term corrected.

    Reading: with M = m/2 features the rows move by |g|_RF/sqrt m, twice the printed length, and m neurons are
        off by C/2 |w - w0|^2 each; printed is C |g|^2/(4 sqrt m).

    Ref: convergence, Eq 19
    """
    return slope * size**2 / (2 * math.sqrt(m)) + finite_sum_bound(size, m // 2, d, slope, p_fail)


def ball_ratio(k: int, d: int) -> float:
    """gamma_k = sqrt d (1 - 1/k + 1/d)/2: radius over offset of the smallest ball that holds k of d points.

    The points are e_1..e_k, the ball touches the hyperplane through 0 with normal (+-1, ..., +-1).

    >>> round(ball_ratio(1, 4), 4), round(ball_ratio(4, 4), 4)
    (0.25, 1.0)

    Ref: convergence, App D
    """
    require_integer(k, "k", "ball_ratio", minimum=1)
    return math.sqrt(d) * (1 - 1 / k + 1 / d) / 2


def cluster_offset(d: int, tau: float, *, printed: bool = False) -> float:
    """Supremum of the offsets for which balls of radius tau separate every labelling of a cluster.

    tau min(1/gamma_1, ..., 1/gamma_{d-1}, 1); the text prints the maximum.

    Ref: convergence, App D
    """
    inverse = [1 / ball_ratio(k, d) for k in range(1, d)] + [1.0]
    return tau * (max(inverse) if printed else min(inverse))
