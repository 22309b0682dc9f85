"""Formulas of lazy: the lemmas' explicit constants, the width window, and the sharp flip length.

Symbols: R is `tau`, gamma is `p_fail`, V = C0/sqrt m is `weight_radius`.
"""

import math

from karat.core.checks import require_integer, require_number

CONSTANTS = {"radius": 5.0, "movement": 25.0, "step": 0.045, "test_error": 0.01}
"""Numbers printed with the figures: flips at 5/sqrt d, robust beyond 25/sqrt m, the step, the test error."""


def sign_change_bound(m: int, weight_radius: float, p_fail: float, tau: float = 0.0) -> float:
    """(V m + sqrt(m log(1/p)/2)) (1 + tau): neurons that can change sign at a fixed x (+ delta).

    Ref: lazy, Lem B.4
    """
    return (weight_radius * m + math.sqrt(m * math.log(1 / p_fail) / 2)) * (1 + tau)


def value_bound(m: int, C0: float, p_fail: float) -> float:
    """sqrt(2 log(2/p)) + 2 log(2/p)/sqrt m + C0, above |f| on the whole ball.

    Ref: lazy, Lem B.5
    """
    log = math.log(2 / p_fail)
    return math.sqrt(2 * log) + 2 * log / math.sqrt(m) + C0


def value_bound_informal(C0: float, p_fail: float) -> float:
    """2 sqrt(log(2/p)) + C0.

    Ref: lazy, Lem 4.1
    """
    return 2 * math.sqrt(math.log(2 / p_fail)) + C0


def sign_flip_bound(d: int, tau: float) -> float:
    """tau sqrt(2 log d) + 1/d, above the chance that a neuron of W0 changes sign from x to x + delta.

    Ref: lazy, Lem B.6
    """
    return tau * math.sqrt(2 * math.log(d)) + 1 / d


def sign_switch_bound(d: int, tau: float, weight_radius: float, spacing: float) -> float:
    """2 s (sqrt d + 2 sqrt(d log(2/s))) + (1 + tau + s) V: a row within V of its start, delta moved by s.

    Ref: lazy, Lem B.6
    """
    root = math.sqrt(d) + 2 * math.sqrt(d * math.log(2 / spacing))
    return 2 * spacing * root + (1 + tau + spacing) * weight_radius


def sign_switch_probability(d: int, weight_radius: float, spacing: float) -> float:
    """That probability at delta = 0 to first order in s: P(|<w0, x>| <= V + s sqrt d)."""
    return math.erf((weight_radius + spacing * math.sqrt(d)) / math.sqrt(2))


def sign_flip_probability(tau: float) -> float:
    """That probability for the worst delta of length tau < 1: the angle arcsin(tau) over pi, exactly."""
    require_number(tau, "tau", "sign_flip_probability", minimum=0, maximum=1)
    return math.asin(tau) / math.pi


def gradient_bound(d: int, m: int, C0: float, p_fail: float) -> float:
    """Lower bound on |grad f| over the ball; NaN where a root is of a negative number, vacuous if negative.

    Ref: lazy, Lem B.7
    """
    log = math.log(4 / p_fail)
    gates = 0.5 - (math.sqrt(2 * log / m) + log / m)
    length = d - 5 * math.sqrt(d * math.log(8 / p_fail))
    if gates < 0 or length < 0:
        return math.nan
    return math.sqrt(gates * length) - C0 - subset_bound(d, m, C0, p_fail / 4, union=p_fail / 8)


def subset_bound(d: int, m: int, C0: float, p_fail: float, *, union: float | None = None) -> float:
    """sqrt((C0 + sqrt(log(1/p)/2))/sqrt m) sqrt(d + 4 sqrt(d log(m/p'))), printed for switched neurons.

    Reading: `union` is p' of the factor |z|, by default p/2, the largest of m chi-squared lengths. The proof
        treats z as independent of the subset that the adversary chooses.

    Ref: lazy, Eq 7
    """
    union = p_fail / 2 if union is None else union
    switched = (C0 + math.sqrt(math.log(1 / p_fail) / 2)) / math.sqrt(m)
    return math.sqrt(switched) * math.sqrt(d + 4 * math.sqrt(d * math.log(m / union)))


def subset_limit(C0: float) -> float:
    """C0/pi: what the worst subset reaches however wide the net, and (7) lacks.

    sqrt(2/pi) C0 sqrt m neurons lie within C0/sqrt m of their kink; along any fixed direction the half that
    helps adds E max(0, g) = 1/sqrt(2 pi) each, and the sum is divided by sqrt m.

    >>> round(subset_limit(10), 3)
    3.183
    """
    return C0 / math.pi


def subset_union_bound(m: int, C0: float, p_fail: float) -> float:
    """113 max(1, C0) C0 sqrt(log m + 2 log(8/p)/sqrt m), over all subsets of 44 C sqrt m neurons.

    Ref: lazy, Lem B.9
    """
    return 113 * max(1.0, C0) * C0 * math.sqrt(math.log(m) + 2 / math.sqrt(m) * math.log(8 / p_fail))


def gradient_change_fixed(d: int, m: int, C0: float, tau: float, p_fail: float) -> float:
    """Upper bound on the change of the gradient along one direction for one delta.

    Reading: the "+ 3" beside sqrt(log(4m/p)) with which the proof ends, and which the statement lacks.

    Ref: lazy, Lem B.8
    """
    log = math.log(4 / p_fail)
    first = 2 * math.sqrt(log) * ((4 * tau * math.sqrt(math.log(d))) ** 0.25 + math.sqrt(log / m))
    spread = math.sqrt(d + 4 * math.sqrt(d * math.log(8 * m / p_fail)))
    second = 3 * math.sqrt((C0 + math.sqrt(log / 2)) / math.sqrt(m)) * spread
    return first + C0 + second + 5 * (C0 + math.sqrt(log)) * (math.sqrt(math.log(4 * m / p_fail)) + 3)


def gradient_change_uniform(d: float, m: float, C0: float, C1: float = 1.0) -> float:
    """9 (C1 d^2 log^2(md) sqrt(log d/d))^(1/4) + 15 d log(md)/sqrt m + 327 max(1, C0) C0 d^(1/4).

    Ref: lazy, Lem B.9
    """
    log = math.log(m) + math.log(d)
    first = 9 * (C1 * d**2 * log**2 * math.sqrt(math.log(d) / d)) ** 0.25
    return first + 15 * d * log / math.sqrt(m) + 327 * max(1.0, C0) * C0 * d**0.25


def biting_dimension(C0: float, *, exponent: float = 2.4) -> float:
    """Smallest power of ten d at which, with m = d^2.4, the uniform bound falls below sqrt(d)/4.

    >>> biting_dimension(10)
    1e+24
    """
    for power in range(1, 120):
        d = 10.0**power
        if gradient_change_uniform(d, d**exponent, C0) < math.sqrt(d) / 4:
            return d
    return math.inf


def width_window(d: int) -> tuple[float, float]:
    """Widths (d^2.4, exp(d^0.24)) that the theorem asks for, its hidden constants C3 and C4 read as 1.

    Ref: lazy, Thm 3.1
    """
    require_integer(d, "d", "width_window", minimum=1)
    return d**2.4, math.exp(d**0.24)


def unmet_hypotheses(d: int, m: int) -> list[str]:
    """Ends of the width window that a net violates.

    Reading: C4 is hidden and may be any constant, so the upper end is named with the C4 it would need.

    Ref: lazy, Thm 3.1
    """
    low, high = width_window(d)
    unmet = []
    if m < low:
        unmet.append(f"Thm 3.1: m >= d^2.4 = {low:.3g}, m = {m} at d = {d}")
    if m > high:
        unmet.append(f"Thm 3.1: m <= C4 exp(d^0.24) needs C4 >= {m / high:.3g} at d = {d}, m = {m}")
    return unmet


def sharp_flip_length(value: float, gradient: float, C0: float) -> float:
    """Longest flip that rows within C0/sqrt m of their start can enforce at one x, to first order.

    Half of the neurons are active. Turning each by an angle theta between +-x and the gradient's direction
    raises f by C0/2 cos(theta) and lowers the orthogonal gradient by C0/2 sin(theta), so the tangent T of the
    flip angle solves value + C0/2 sqrt(1 + T^2) = T gradient, and the flip length is T/sqrt(1 + T^2).

    Args:
        value: |f| at the start.
        gradient: |P grad f| at the start, orthogonal to x, about sqrt(d/2).

    Returns:
        a length below 1, or inf where the rows can cancel the gradient. For value = 0 and gradient =
        sqrt(d/2) it is C0/sqrt(2 d): the constant behind O(1/sqrt d).

    >>> round(sharp_flip_length(0.0, 392**0.5, 10.0) * 1568**0.5, 6)
    10.0
    """
    half = C0 / 2
    if gradient <= half:
        return math.inf
    # (gradient^2 - half^2) T^2 - 2 value gradient T + value^2 - half^2 = 0, larger root.
    a, b, c = gradient**2 - half**2, -2 * value * gradient, value**2 - half**2
    tangent = (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)
    return tangent / math.sqrt(1 + tangent**2)


def robust_margin_ceiling(d: int, tau: float, C0: float, *, frobenius: bool = False) -> float:
    """C0/2 - tau sqrt(d/2): best robust margin at one x in an unpaired ball, to first order.

    At the worst point x' of the sphere within the angle arcsin(tau) of x the start adds -tau |P grad f|,
    about tau sqrt(d/2), and rows turned towards x' add C0/2 (C0/sqrt 2 in the Frobenius ball). Negative for
    C0 < tau sqrt(2 d): there no net of the ball is robust at a typical x. This is the theorem's obstruction
    with its constant, the sharp flip length for f = 0 read the other way round.

    Ref: lazy, Cor 3.2
    """
    reach = C0 / math.sqrt(2) if frobenius else C0 / 2
    return reach - tau * math.sqrt(d / 2)
