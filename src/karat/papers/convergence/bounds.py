r"""Formulas of convergence: widths and times of the theorems, the built net's error, the shattering radius.

Symbols: :math:`\epsilon` is `tol`, :math:`\delta` is `tau`, :math:`\alpha` is `lr`, :math:`H` is `depth`,
:math:`R` is `radius`, :math:`C` bounds :math:`|\varphi'|` and is a Lipschitz constant of :math:`\varphi'`.
"""

import math

from karat.core.checks import require_integer, require_number
from karat.core.extended import power, ratio


def two_layer_width(radius: float, tol: float) -> float:
    r"""Return the width that Theorem 5.1 asks for.

    .. math:: m = R^4 / \epsilon^2

    Args:
        radius: :math:`R` of the Frobenius ball around the start.
        tol: :math:`\epsilon`, how near to the best robust loss training must come.

    Reading: the hidden constant is read as 1.

    Ref: convergence, Thm 5.1
    """
    require_number(tol, "tol", "two_layer_width", positive=True)
    return ratio(power(radius, 4), tol**2)


def two_layer_steps(m: int, lr: float) -> float:
    r"""Return the number of steps of Theorem 5.1.

    .. math:: T = \sqrt{m} / \alpha

    Args:
        m: width.
        lr: :math:`\alpha`.

    Reading: the hidden constant is read as 1.

    Ref: convergence, Thm 5.1
    """
    return math.sqrt(m) / lr


def corollary_steps(radius: float, tol: float, lr: float) -> float:
    r"""Return the number of steps of Corollary 5.1.

    .. math:: T = R^2 / (\epsilon \alpha),

    which equals :math:`\sqrt{m}/\alpha` at the width :math:`m = R^4/\epsilon^2`.

    Args:
        radius: :math:`R` of the ball that holds a robust net.
        tol: :math:`\epsilon`, the loss that training must reach.
        lr: :math:`\alpha`.

    Ref: convergence, Cor 5.1
    """
    return ratio(radius**2, tol * lr)


def deep_width(radius: float, depth: int, tol: float, d: int) -> float:
    r"""Return the width that Theorem 4.1 asks for.

    .. math:: m = \max(R^9 H^{16} / \epsilon^7,\; d^2)

    Args:
        radius: :math:`R`; every layer stays within :math:`R/\sqrt{m}` of its start.
        depth: :math:`H`, the number of hidden layers.
        tol: :math:`\epsilon`.
        d: input dimension.

    Reading: both hidden constants are read as 1.

    Ref: convergence, Thm 4.1
    """
    require_number(tol, "tol", "deep_width", positive=True)
    return max(ratio(power(radius, 9) * power(depth, 16), tol**7), power(d, 2))


def deep_steps(radius: float, m: int, tol: float, lr: float) -> float:
    r"""Return the number of steps of Theorem 4.1.

    .. math:: T = R^2 / (m \epsilon \alpha),

    which is :math:`R^2 H^2 / \epsilon^2` at the theorem's own rate :math:`\alpha = \epsilon / (m H^2)`.

    Args:
        radius: :math:`R` of the ball of every layer, without its factor :math:`1/\sqrt{m}`.
        m: width.
        tol: :math:`\epsilon`.
        lr: :math:`\alpha`.

    Ref: convergence, Thm 4.1
    """
    return radius**2 / (m * tol * lr)


def curvature_constant(slope_lipschitz: float, loss_lipschitz: float = 1.0) -> float:
    r"""Return :math:`c = C L` of the regret recursion, with no hidden factor.

    A net with outputs :math:`\pm 1/\sqrt{m}` has a gradient that changes slowly,

    .. math:: \|\nabla f(W) - \nabla f(W')\| \le \frac{C}{\sqrt{m}} \|W - W'\|,

    so that a convex :math:`L`-Lipschitz loss lies above its tangent less
    :math:`\frac{L C}{2 \sqrt{m}} \|W - W'\|^2`, and the recursion doubles that.

    Args:
        slope_lipschitz: :math:`C`, the Lipschitz constant of :math:`\varphi'`.
        loss_lipschitz: :math:`L`.

    Ref: convergence, Eq 16
    """
    return slope_lipschitz * loss_lipschitz


def regret_gap(radius: float, m: int, lr: float, steps: int, c: float, gradient: float = 1.0) -> float:
    r"""Return what the summed recursion allows for the gap to the best robust loss of the ball.

    .. math::
        \min_{t < T} L_A(W_t) - L_*(W_*) \;\le\;
        \frac{\alpha G^2}{2} + \frac{c R^2}{2 \sqrt{m}\, (1 - (1 + c \alpha / \sqrt{m})^{-T})}

    This is the recursion summed with :math:`d_0 \le R` and :math:`d_T \ge 0`. For few steps its second term
    is about :math:`R^2 / (2 \alpha T)`.

    Args:
        radius: :math:`R \ge \|W_0 - W_*\|`.
        m: width.
        lr: :math:`\alpha`.
        steps: :math:`T`.
        c: of the recursion, see `curvature_constant`.
        gradient: :math:`G`, a bound on :math:`\|\nabla L_A\|`; it is 1 for a 1-Lipschitz loss and
            :math:`|\varphi'| \le 1`.

    Reading: the text keeps neither the factor 1/2 of both terms nor :math:`G`.

    Ref: convergence, Eq 17
    """
    root = math.sqrt(m)
    # 1 - (1 + c lr/sqrt m)^-T; for wide nets the power is so near to 1 that plain subtraction loses digits.
    remainder = -math.expm1(-steps * math.log1p(c * lr / root))
    return lr * gradient**2 / 2 + c * radius**2 / (2 * root * remainder)


def finite_sum_bound(rf_norm: float, features: int, d: int, C: float, p_fail: float) -> float:
    r"""Return the uniform error of random features, which holds with probability :math:`1 - p`.

    .. math::
        \sup_x |g_M(x) - g(x)| \le
        \frac{C \|g\|_{RF}}{\sqrt{M}} \left(2 \sqrt{d} + \sqrt{2 \log(1/p)}\right)

    Args:
        rf_norm: :math:`\|g\|_{RF}`, the largest length of a feature's weight over its density.
        features: :math:`M`, how many are drawn.
        d: input dimension.
        C: bounds :math:`|\varphi'|` and the Lipschitz constant of :math:`\varphi'`.
        p_fail: :math:`p`.

    Ref: convergence, Prop C.1
    """
    return C * rf_norm / math.sqrt(features) * (2 * math.sqrt(d) + math.sqrt(2 * math.log(1 / p_fail)))


def built_error_bound(rf_norm: float, m: int, d: int, C: float, p_fail: float) -> float:
    r"""Return how far the net of the proof may be from its kernel function, the curvature term corrected.

    .. math::
        \sup_x |f(x) - g(x)| \le \frac{C \|g\|_{RF}^2}{2 \sqrt{m}} +
        \frac{C \|g\|_{RF}}{\sqrt{m/2}} \left(2 \sqrt{d} + \sqrt{2 \log(1/p)}\right)

    Args:
        rf_norm: :math:`\|g\|_{RF}`.
        m: width, both halves counted; the net has :math:`m/2` random features.
        d: input dimension.
        C: bounds :math:`|\varphi'|` and the Lipschitz constant of :math:`\varphi'`.
        p_fail: :math:`p`.

    Reading: with :math:`m/2` features the rows move by :math:`\|g\|_{RF}/\sqrt{m}`, twice the printed length,
        and each of :math:`m` neurons is off by :math:`\frac{C}{2} \|w - w_0\|^2`; printed is
        :math:`C \|g\|_{RF}^2 / (4 \sqrt{m})`.

    Ref: convergence, Eq 19
    """
    return C * rf_norm**2 / (2 * math.sqrt(m)) + finite_sum_bound(rf_norm, m // 2, d, C, p_fail)


def quadratic_features(tol: float, d: int, p_fail: float) -> float:
    r"""Return the number of quadratic-ReLU features that Theorem C.1 asks for.

    .. math:: M = \epsilon^{-(d+1)} \log \frac{\epsilon^{-(d+1)}}{p}

    Args:
        tol: :math:`\epsilon`, uniform distance from the function.
        d: input dimension.
        p_fail: :math:`p`.

    Reading: the hidden constant, which depends on the function, is read as 1; so M is never below 1.

    Ref: convergence, Thm C.1
    """
    require_number(tol, "tol", "quadratic_features", positive=True)
    size = power(1 / tol, d + 1)
    return max(1.0, size * math.log(max(1.0, size / p_fail)))


def ball_ratio(k: int, d: int) -> float:
    r"""Return radius over offset of the smallest ball on one side of a plane that holds k of d points.

    .. math:: \gamma_k = \frac{\sqrt{d}}{2} \left(1 - \frac{1}{k} + \frac{1}{d}\right)

    The points are :math:`e_1, \dots, e_k`; the ball touches the hyperplane through 0 whose normal has the
    entry 1 at their coordinates and -1 at all others.

    Args:
        k: points that carry the ball's label.
        d: dimension, and the number of points of the cluster.

    >>> round(ball_ratio(1, 4), 4), round(ball_ratio(4, 4), 4)
    (0.25, 1.0)

    Ref: convergence, App D
    """
    require_integer(k, "k", "ball_ratio", minimum=1)
    return math.sqrt(d) * (1 - 1 / k + 1 / d) / 2


def cluster_offset(d: int, tau: float, *, printed: bool = False) -> float:
    r"""Return the supremum of the offsets for which balls separate every labelling of a cluster.

    .. math:: \tau \min(1/\gamma_1, \dots, 1/\gamma_{d-1}, 1)

    Args:
        d: dimension, and the number of points of the cluster.
        tau: radius of the balls.
        printed: take the maximum, as the text prints.

    Reading: a labelling may give its label to any number k of points, so that the ball must be large enough
        for every k: the minimum is what the proof needs.

    Ref: convergence, App D
    """
    inverse = [1 / ball_ratio(k, d) for k in range(1, d)] + [1.0]
    return tau * (max(inverse) if printed else min(inverse))
