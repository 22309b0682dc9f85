r"""A certificate for the theorem's step: where it takes ANY net of the lazy ball, in law.

Symbols: V = C0/sqrt m; y is the sign of f(x; W) and v = y f(x; W) > 0; g is the direction of the start's
    gradient across x, r_s are the rows of the start across x and g; :math:`\alpha` and :math:`\beta` are the
    parts of the gradient of W along g and across x and g.
"""

import math
from typing import NamedTuple

import numpy as np
import torch

from karat.core.compiled import Array, compiled
from karat.reductions.in_law import PlaneStart, largest_margins
from karat.reductions.span import chi

TAIL = 5.0
"""A Gaussian with Lipschitz constant 1 exceeds its mean by this with probability exp(-12.5) = 4e-6."""

CHANCE = 1e-3
"""A certificate of one draw is wrong with a probability below this: it uses below 100 such Gaussians."""

MOST_PARTS = 12
"""The walks of all nets fill an interval, which is cut into at most so many parts."""


class Ranges(NamedTuple):
    """Where the gradients of all nets of the ball lie.

    Args:
        low: smallest part along g.
        high: largest part along g.
        across: largest part across x and g.
    """

    low: float
    high: float
    across: float


def gradient_ranges(start: PlaneStart, C0: float) -> Ranges:
    r"""Return where the gradient at x of every net of the ball lies.

    All rows move by V, and of the k neurons with :math:`|z_s| \le V` any may switch. Along g that is a sum
    over neurons. Across x and g the largest sum over a subset S obeys, by Chevet's inequality,

    .. math:: E \max_S \Big\| \sum_{s \in S} \pm r_s \Big\| \le \sqrt{k (d - 2)} + \frac{k}{\sqrt{2 \pi}}.

    Args:
        start: in the plane of the input and its gradient, with rows N(0, I).
        C0: radius of the ball times sqrt m.

    Reading: rows of active neurons are bound to a known sum, which leaves them a smaller covariance; all
        bounds here grow with the covariance.

    Ref: lazy, Lem B.7
    """
    root_m = math.sqrt(start.m)
    V = C0 / root_m
    z, h, split = start.z.numpy(), start.h.numpy(), start.positive
    moving, switching, loss, gain = _near(z[:split], h[:split], 1.0, V) + _near(z[split:], h[split:], -1.0, V)
    subset = math.sqrt(switching * (start.d - 2)) + switching / math.sqrt(2 * math.pi)
    subset += TAIL * math.sqrt(switching)
    return Ranges(
        low=start.gradient - (V * moving + loss) / root_m,
        high=start.gradient + (V * moving + gain) / root_m,
        across=(V * moving + subset) / root_m,
    )


def value_after_step(start: PlaneStart, C0: float, C2: float, y: int, gradients: Ranges) -> float:
    r"""Return an upper bound on y f after the step, for all nets of the ball with y f(x; W) > 0 at once.

    The step :math:`x - y C_2 \nabla f/|\nabla f|^2` of a net leads, up to a positive factor, to
    :math:`x - y (T g + B e)`, with a unit vector e across x and g and

    .. math:: T = \frac{C_2 \alpha}{N}, \quad B = \frac{C_2 \beta}{N}, \quad
        N = v^2 - C_2 v + \alpha^2 + \beta^2,

    of which the ranges are known. They are cut into parts of T, and the worst part counts.

    Args:
        start: in the plane of the input and its gradient, with rows N(0, I).
        C0: radius of the ball times sqrt m.
        C2: of the step size.
        y: sign of the nets.
        gradients: of all nets of the ball.

    Returns:
        the bound; -inf where no net of the ball has this sign, inf where the gradient may vanish.

    Ref: lazy, Thm 3.1
    """
    V = C0 / math.sqrt(start.m)
    (most,) = largest_margins(start, y, [0.0], [V])
    if most <= 0:
        return -math.inf
    low, high, beta = gradients
    least = min(most, C2 / 2)
    smallest = low**2 + least * (least - C2)
    rest = max(0.0, most * (most - C2)) + beta**2
    # T falls as alpha grows only where alpha outweighs the rest.
    if low <= 0 or smallest <= 0 or rest >= low**2:
        return math.inf
    across = max(C2 * beta / smallest, 1e-9)  # without a ball there is nothing across
    first, last = C2 * high / (high**2 + rest), C2 * low / smallest
    parts = min(MOST_PARTS, max(1, math.ceil((last - first) / across)))
    half = (last - first) / (2 * parts)
    reach = V * math.sqrt(1 + last**2 + across**2)
    return max(
        _value_near(start, y, first + half * (2 * part + 1), half, across, reach) for part in range(parts)
    )


def _value_near(start: PlaneStart, y: int, T: float, half: float, B: float, reach: float) -> float:
    r"""Bound on what any net of the ball has anywhere near one point of the walk.

    With :math:`q_s = z_s - y T h_s + y a_s V r`, r the largest length of these points, and
    :math:`\rho_s = \langle r_s, e \rangle`, the relu of a neuron is that at q_s and its slope, and only those
    with y a_s = 1 bend upwards:

    .. math:: \sqrt m \, y f \le \sum_s y a_s \mathrm{relu}(q_s)
        + \text{half} \Big| \sum_{q_s > 0} a_s h_s \Big| + B \Big\| \sum_{q_s > 0} a_s r_s \Big\|
        + \sum_{y a_s = 1} \big( \text{half} \, |h_s| + B |\rho_s| - |q_s| \big)_+ .

    The last sum is a maximum over signs 0, 1, -1 and over e. By the comparison of Sudakov, Fernique and
    Vitale its mean is at most, for any kappa,

    .. math:: \sum_{y a_s = 1} E \big( \text{half} \, |h_s| + B |\gamma| + \tfrac{\kappa}{2} - |q_s| \big)_+
        + \frac{B^2 (d - 2)}{2 \kappa}, \qquad \gamma \sim N(0, 1).
    """
    z, h, split, d, m = start.z.numpy(), start.h.numpy(), start.positive, start.d, start.m
    kappa = math.sqrt(3 * B * d / m)
    up, down = (slice(None, split), slice(split, None))[:: 1 if y > 0 else -1]
    kind = z.dtype.type
    walk, shift = kind(-y * T), kind(reach)
    rise, fall = _sums(z[up], h[up], walk, shift), _sums(z[down], h[down], walk, -shift)
    # Rows of neurons active at x add up to zero across the plane, each times its sign.
    both = (rise[2] + fall[2]) ** 2 / max(1, int((start.z > 0).sum()))
    turned = math.sqrt(max(0.0, rise[1] + fall[1] - both)) * (math.sqrt(d - 2) + TAIL)
    bends = _bends(z[up], h[up], walk, shift, kind(half), kind(B), kind(kappa / 2))
    bends += B**2 * (d - 2) / (2 * kappa) + TAIL * B * math.sqrt(len(z[up]))
    slope = half * abs(rise[3] - fall[3])
    return float(rise[0] - fall[0] + slope + B * turned + bends) / math.sqrt(m)


def value_of_turned_net(start: PlaneStart, C0: float, C2: float, *, generator: torch.Generator) -> float:
    r"""Return y f after the step of one net of the ball, drawn in law: the net whose rows all turn towards x.

    It has the largest y f(x; W) of the ball, y being the sign of the start. Its gradient differs across the
    plane by the rows of the neurons that switch; the direction e of their sum is drawn as g was.

    Args:
        start: in the plane of the input and its gradient, with rows N(0, I).
        C0: radius of the ball times sqrt m.
        C2: of the step size.
        generator: draws what the plane does not see.

    Returns:
        a positive number where the step does not flip the net.
    """
    y, a, was = 1 if start.value > 0 else -1, start.a.double(), start.z > 0
    z, h = start.z.double() + y * C0 / math.sqrt(start.m) * a, start.h.double()
    root_m, now = math.sqrt(start.m), z > 0
    f, along = float(a @ z.clamp_min(0)) / root_m, float(a[now] @ h[now]) / root_m
    t = torch.randn(start.m, generator=generator, dtype=torch.float64)
    bound = a * was / max(1.0, math.sqrt(int(was.sum())))
    t -= (t @ bound) * bound
    switched = a * now - a * was
    switched -= (switched @ bound) * bound
    size, across = float(torch.linalg.vector_norm(switched)), 0.0
    if size > 1e-9:
        length = float(chi(torch.tensor([start.d - 2.0]), generator=generator))
        unit, across = switched / size, size * length / root_m
        t += (length - t @ unit) * unit
    eta = C2 / (f**2 + along**2 + across**2)
    after = z - y * eta * (f * z + along * h + across * t)
    return y * float(a @ after.clamp_min(0)) / root_m


@compiled(reorder=True)
def _sums(z: Array, h: Array, walk: float, shift: float) -> Array:
    """Sum of relu(q), active neurons, those active at x as well, and the slope, in double precision."""
    value, slope, active, both = 0.0, 0.0, 0, 0
    for s in range(len(z)):
        q = z[s] + walk * h[s] + shift
        on = q > 0
        value += q if on else 0.0
        slope += h[s] if on else 0.0
        active += on
        both += on and z[s] > 0
    return np.array([value, float(active), float(both), slope])


@compiled(reorder=True)
def _bends(z: Array, h: Array, walk: float, shift: float, half: float, B: float, more: float) -> float:
    """Sum of E (half |h| + B |gamma| + more - |q|)_+ over the neurons; beyond 8 B one adds below 1e-16."""
    total = 0.0
    for s in range(len(z)):
        u = abs(z[s] + walk * h[s] + shift) - half * abs(h[s]) - more
        if u < 8 * B:
            u /= B
            if u < 0:
                total += math.sqrt(2 / math.pi) - u
            else:
                total += 2 * math.exp(-u * u / 2) / math.sqrt(2 * math.pi) - u * math.erfc(u / math.sqrt(2))
    return B * total


@compiled(reorder=True)
def _near(z: Array, h: Array, sign: float, V: float) -> Array:
    """Neurons that can be active; those that can switch; what these can take from the gradient, and add."""
    moving, switching, loss, gain = 0, 0, 0.0, 0.0
    for s in range(len(z)):
        if z[s] >= -V:
            moving += 1
            if z[s] <= V:
                switching += 1
                # An active neuron takes its entry away when it switches, an inactive one adds it.
                change = -sign * h[s] if z[s] > 0 else sign * h[s]
                if change < 0:
                    loss -= change
                else:
                    gain += change
    return np.array([float(moving), float(switching), loss, gain])
