r"""Formulas of lazy: the lemmas' explicit constants, the width window, and the sharp flip length.

Symbols: R is `tau`, gamma is `p_fail`, V is `weight_radius`; V = C0/sqrt m in the lazy ball. Everywhere
    |x| = 1, f = m^(-1/2) sum_s a_s relu(<w_s, x>), and P projects on the complement of x.
"""

import math

from karat.core.checks import require_integer, require_number
from karat.core.extended import exponential

CONSTANTS = {"radius": 5.0, "movement": 25.0, "step": 0.045, "test_error": 0.01}
"""Numbers printed with the figures: flips at 5/sqrt d, robust beyond 25/sqrt m, the step, the test error."""


def sign_change_bound(m: int, weight_radius: float, p_fail: float, tau: float = 0.0) -> float:
    r"""Upper bound on the number of neurons that can change sign at a fixed point :math:`x + \delta`.

    .. math:: \Big( V m + \sqrt{m \log(1/\gamma) / 2} \Big) (1 + R)

    Args:
        m: width.
        weight_radius: V, how far a row may move.
        p_fail: probability with which the bound may fail.
        tau: R, length of delta; 0 counts at x itself.

    Ref: lazy, Lem B.4
    """
    return (weight_radius * m + math.sqrt(m * math.log(1 / p_fail) / 2)) * (1 + tau)


def value_bound(m: int, C0: float, p_fail: float) -> float:
    r"""Upper bound on :math:`|f(x)|` for all nets of the ball at once.

    .. math:: \sqrt{2 \log(2/\gamma)} + \frac{2 \log(2/\gamma)}{\sqrt m} + C_0

    Args:
        m: width.
        C0: radius of the ball times sqrt m.
        p_fail: probability with which the bound may fail.

    Ref: lazy, Lem B.5
    """
    log = math.log(2 / p_fail)
    return math.sqrt(2 * log) + 2 * log / math.sqrt(m) + C0


def value_bound_informal(C0: float, p_fail: float) -> float:
    r"""The same bound for wide nets, :math:`2 \sqrt{\log(2/\gamma)} + C_0`.

    Args:
        C0: radius of the ball times sqrt m.
        p_fail: probability with which the bound may fail.

    Ref: lazy, Lem 4.1
    """
    return 2 * math.sqrt(math.log(2 / p_fail)) + C0


def sign_flip_bound(d: int, tau: float) -> float:
    r"""Upper bound (3) on the chance that a neuron of :math:`W_0` changes sign from x to x + delta.

    .. math:: R \sqrt{2 \log d} + 1/d

    Args:
        d: input dimension.
        tau: R, length of delta, at most 1/2.

    Ref: lazy, Lem B.6
    """
    return tau * math.sqrt(2 * math.log(d)) + 1 / d


def sign_flip_probability(tau: float) -> float:
    r"""The chance that `sign_flip_bound` bounds, exactly, for the worst delta of a length below 1.

    A Gaussian row changes sign between two points with probability (their angle)/pi, and the largest angle
    that a delta of length :math:`\tau` opens is :math:`\arcsin \tau`.

    Args:
        tau: length of delta, 0 to 1.
    """
    require_number(tau, "tau", "sign_flip_probability", minimum=0, maximum=1)
    return math.asin(tau) / math.pi


def sign_switch_bound(d: int, tau: float, weight_radius: float, spacing: float) -> float:
    r"""Upper bound (4) on the chance that a row moved by V has two signs within a distance s of x + delta.

    .. math:: 2 s \big( \sqrt d + 2 \sqrt{d \log(2/s)} \big) + (1 + R + s) V

    Args:
        d: input dimension.
        tau: R, length of delta.
        weight_radius: V, how far the row may move.
        spacing: s, how far delta is moved; epsilon in the paper.

    Ref: lazy, Lem B.6
    """
    root = math.sqrt(d) + 2 * math.sqrt(d * math.log(2 / spacing))
    return 2 * spacing * root + (1 + tau + spacing) * weight_radius


def sign_switch_probability(d: int, weight_radius: float, spacing: float) -> float:
    r"""The chance that `sign_switch_bound` bounds, at delta = 0 and to first order in the spacing s.

    .. math:: P\big( |\langle w_0, x \rangle| \le V + s \sqrt d \big)

    Args:
        d: input dimension.
        weight_radius: V, how far the row may move.
        spacing: s, how far delta is moved.
    """
    return math.erf((weight_radius + spacing * math.sqrt(d)) / math.sqrt(2))


def gradient_bound(d: int, m: int, C0: float, p_fail: float) -> float:
    r"""Lower bound on :math:`\|\nabla f(x)\|` for all nets of the ball at once.

    .. math::

        \Big( \tfrac12 - \sqrt{\tfrac{2 \log(4/\gamma)}{m}} - \tfrac{\log(4/\gamma)}{m} \Big)^{1/2}
        \Big( d - 5 \sqrt{d \log(8/\gamma)} \Big)^{1/2} - C_0
        - \sqrt{\tfrac{1}{\sqrt m} \Big( C_0 + \sqrt{\tfrac{\log(4/\gamma)}{2}} \Big)}
        \sqrt{d + 4 \sqrt{d \log(8 m/\gamma)}}

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        p_fail: probability with which the bound may fail.

    Returns:
        the bound, vacuous where it is negative, NaN where a root is of a negative number.

    Ref: lazy, Lem B.7
    """
    log = math.log(4 / p_fail)
    active_share = 0.5 - (math.sqrt(2 * log / m) + log / m)
    squared_length = d - 5 * math.sqrt(d * math.log(8 / p_fail))
    if active_share < 0 or squared_length < 0:
        return math.nan
    at_start = math.sqrt(active_share * squared_length)
    return at_start - C0 - subset_bound(d, m, C0, p_fail / 4, union=p_fail / 8)


def subset_bound(d: int, m: int, C0: float, p_fail: float, *, union: float | None = None) -> float:
    r"""The printed bound on what the switched neurons can add to the gradient.

    .. math::

        \max_S \frac{1}{\sqrt m} \Big\| \sum_{s \in S} a_s P w_{s,0} \Big\| \le
        \sqrt{\tfrac{1}{\sqrt m} \Big( C_0 + \sqrt{\tfrac{\log(1/\gamma)}{2}} \Big)}
        \sqrt{d + 4 \sqrt{d \log(m/\gamma')}}

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        p_fail: gamma, with which the count of switched neurons may fail.
        union: gamma', with which the largest of m row lengths may fail; None for gamma/2.

    Reading: the second root is |z|, the largest of m chi-squared lengths. The proof treats z as independent
        of the subset S, which the adversary chooses; `subset_limit` is what that leaves out.

    Ref: lazy, Eq 7
    """
    union = p_fail / 2 if union is None else union
    switched_share = (C0 + math.sqrt(math.log(1 / p_fail) / 2)) / math.sqrt(m)
    return math.sqrt(switched_share) * math.sqrt(d + 4 * math.sqrt(d * math.log(m / union)))


def subset_limit(C0: float) -> float:
    r""":math:`C_0/\pi`, which the worst subset reaches however wide the net, and the printed bound lacks.

    About :math:`\sqrt{2/\pi}\, C_0 \sqrt m` neurons lie within :math:`C_0/\sqrt m` of their kink. Along any
    fixed direction the half of them that helps adds :math:`E \max(0, g) = 1/\sqrt{2 \pi}` each, and the sum
    is divided by :math:`\sqrt m`.

    Args:
        C0: radius of the ball times sqrt m.

    >>> round(subset_limit(10), 3)
    3.183
    """
    return C0 / math.pi


def subset_union_bound(m: int, C0: float, p_fail: float) -> float:
    r"""The proof's own bound over all subsets of at most :math:`44 \max(1, C_0) \sqrt m` neurons.

    .. math:: 113 \max(1, C_0) \, C_0 \sqrt{\log m + \frac{2}{\sqrt m} \log(8/\gamma)}

    Args:
        m: width.
        C0: radius of the ball times sqrt m.
        p_fail: probability with which the bound may fail.

    Ref: lazy, Lem B.9
    """
    return 113 * max(1.0, C0) * C0 * math.sqrt(math.log(m) + 2 / math.sqrt(m) * math.log(8 / p_fail))


def gradient_change_fixed(d: int, m: int, C0: float, tau: float, p_fail: float) -> float:
    r"""Upper bound on the change of the gradient along one fixed direction, for one fixed delta.

    .. math::

        2 \sqrt{\log(4/\gamma)} \Big( (4 R \sqrt{\log d})^{1/4} + \sqrt{\log(4/\gamma)/m} \Big) + C_0
        + 3 \sqrt{\tfrac{1}{\sqrt m} \Big( C_0 + \sqrt{\tfrac{\log(4/\gamma)}{2}} \Big)}
        \sqrt{d + 4 \sqrt{d \log(8 m/\gamma)}}
        + 5 \big( C_0 + \sqrt{\log(4/\gamma)} \big) \sqrt{\log(4 m/\gamma)}

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        tau: R, length of delta.
        p_fail: probability with which the bound may fail.

    Reading: as stated; the proof ends with "+ 3" in the last factor.

    Ref: lazy, Lem B.8
    """
    log = math.log(4 / p_fail)
    at_start = 2 * math.sqrt(log) * ((4 * tau * math.sqrt(math.log(d))) ** 0.25 + math.sqrt(log / m))
    row_length = math.sqrt(d + 4 * math.sqrt(d * math.log(8 * m / p_fail)))
    across_x = 3 * math.sqrt((C0 + math.sqrt(log / 2)) / math.sqrt(m)) * row_length
    along_x = 5 * (C0 + math.sqrt(log)) * math.sqrt(math.log(4 * m / p_fail))
    return at_start + C0 + across_x + along_x


def gradient_change_uniform(d: float, m: float, C0: float, C1: float = 1.0) -> float:
    r"""Upper bound on the change of the gradient over all directions and all short delta.

    .. math::

        \sup_{|\delta| \le C_1/\sqrt d} \|\nabla f(x + \delta) - \nabla f(x)\| \le
        9 \Big( C_1 d^2 \log^2(m d) \sqrt{\tfrac{\log d}{d}} \Big)^{1/4}
        + \frac{15\, d \log(m d)}{\sqrt m} + 327 \max(1, C_0) \, C_0 \, d^{1/4}

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        C1: radius of delta times sqrt d.

    Ref: lazy, Lem B.9
    """
    log = math.log(m) + math.log(d)
    first = 9 * (C1 * d**2 * log**2 * math.sqrt(math.log(d) / d)) ** 0.25
    return first + 15 * d * log / math.sqrt(m) + 327 * max(1.0, C0) * C0 * d**0.25


def biting_dimension(C0: float, *, exponent: float = 2.4) -> float:
    r"""Smallest power of ten d at which the uniform bound falls below :math:`\sqrt d/4`, the gradient's own.

    Args:
        C0: radius of the ball times sqrt m.
        exponent: the width is m = d^exponent, by default the lower end of the window.

    >>> biting_dimension(10)
    1e+24
    """
    for power in range(1, 120):
        d = 10.0**power
        if gradient_change_uniform(d, d**exponent, C0) < math.sqrt(d) / 4:
            return d
    return math.inf


def width_window(d: int) -> tuple[float, float]:
    r"""Widths :math:`d^{2.4} \le m \le \exp(d^{0.24})` that the theorem asks for.

    Args:
        d: input dimension.

    Reading: the hidden constants C3 and C4 are read as 1.

    Ref: lazy, Thm 3.1
    """
    require_integer(d, "d", "width_window", minimum=1)
    return d**2.4, exponential(d**0.24)


def window_opens() -> int:
    r"""The smallest d above 2 at which a width :math:`d^{2.4} \le m \le \exp(d^{0.24})` exists at all.

    Reading: with C4 = 1. The theorem's C4 must be larger for any m at smaller d.

    Ref: lazy, Thm 3.1

    >>> d = window_opens()
    >>> [low <= high for low, high in (width_window(d - 1), width_window(d))]
    [False, True]
    """
    closed, open_ = 100, 10**12
    while open_ - closed > 1:
        middle = (closed + open_) // 2
        low, high = width_window(middle)
        closed, open_ = (closed, middle) if low <= high else (middle, open_)
    return open_


def sharp_flip_length(value: float, gradient: float, C0: float) -> float:
    r"""Longest flip that rows within :math:`C_0/\sqrt m` of their start can enforce at one x, to first order.

    Half of the neurons are active. Turning each by an angle :math:`\theta` between :math:`\pm x` and the
    direction of the gradient raises f by :math:`\tfrac{C_0}{2} \cos\theta` and lowers the orthogonal gradient
    by :math:`\tfrac{C_0}{2} \sin\theta`. So the tangent T of the flip angle solves

    .. math:: |f| + \tfrac{C_0}{2} \sqrt{1 + T^2} = T \, \|P \nabla f\|,

    and the flip length is :math:`T/\sqrt{1 + T^2}`.

    Args:
        value: |f| at the start.
        gradient: |P grad f| at the start, orthogonal to x, about sqrt(d/2).
        C0: radius of the ball times sqrt m.

    Returns:
        a length below 1, or inf where the rows can cancel the gradient. For value = 0 and gradient =
        sqrt(d/2) it is C0/sqrt(2 d): the constant behind O(1/sqrt d).

    >>> round(sharp_flip_length(0.0, 392**0.5, 10.0) * 1568**0.5, 6)
    10.0
    """
    half = C0 / 2
    if gradient <= half:
        return math.inf
    # Squared, the equation reads (gradient^2 - half^2) T^2 - 2 value gradient T + value^2 - half^2 = 0. The
    # larger root is the one that solves it unsquared, where T gradient must not fall below the value.
    a, b, c = gradient**2 - half**2, -2 * value * gradient, value**2 - half**2
    # Rounding alone can make the discriminant negative.
    tangent = (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)
    return tangent / math.sqrt(1 + tangent**2)


def robust_margin_ceiling(d: int, tau: float, C0: float, *, frobenius: bool = False) -> float:
    r"""Best robust margin at one x in an unpaired ball, to first order: :math:`C_0/2 - \tau \sqrt{d/2}`.

    At the worst point x' of the sphere within the angle :math:`\arcsin \tau` of x the start adds
    :math:`-\tau \|P \nabla f\| \approx -\tau \sqrt{d/2}`, and rows turned towards x' add :math:`C_0/2`
    (:math:`C_0/\sqrt 2` in the Frobenius ball). The ceiling is negative for :math:`C_0 < \tau \sqrt{2 d}`:
    there no net of the ball is robust at a typical x. This is the theorem's obstruction with its constant,
    the sharp flip length for f = 0 read the other way round.

    Args:
        d: input dimension.
        tau: attack radius.
        C0: radius of the ball of rows times sqrt m, or radius of the Frobenius ball.
        frobenius: which of the two balls.

    Ref: lazy, Cor 3.2
    """
    reach = C0 / math.sqrt(2) if frobenius else C0 / 2
    return reach - tau * math.sqrt(d / 2)
