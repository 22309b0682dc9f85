"""Search of a general margin along a ray: scan for a sign change, then close in on it."""

from collections.abc import Callable

import torch
from torch import Tensor

from karat.attacks.ray.ray import RaySearch

# f(t, rows): margins of the samples `rows` at their positions t.
RayMargin = Callable[[Tensor, Tensor], Tensor]

_GROWTHS = 80
_ROUNDS = 100


def search_scan(
    f: RayMargin, origin: Tensor, guess: Tensor, end: Tensor, *, points: int, tolerance: float
) -> RaySearch:
    """First crossing and minimum on [0, end] among the points of a scan, the crossing then closed in on.

    The scan takes `points` equal steps up to 4 guess, then `points` equal steps up to end (if end is inf, 80
    steps growing by a half each). Two sign changes between neighbours of the scan go unseen: the
    crossing returned is one, and the first one at the scan's resolution. It is an evaluated point with
    margin <= 0, and nearer than tolerance times itself to one with margin > 0.

    Args:
        f: margin on the ray.
        origin: (n,) margins at 0.
        guess: (n,) first-order crossing, inf allowed.
        end: (n,) right ends, inf allowed.
        points: resolution.
        tolerance: relative width at which a crossing is known well enough.
    """
    crossing = torch.where(origin <= 0, 0.0, torch.full_like(end, torch.inf))
    lowest, low_value = torch.zeros_like(end), origin.clone()
    left, left_value = torch.zeros_like(end), origin.clone()
    right, right_value = torch.full_like(end, torch.inf), torch.full_like(end, torch.inf)
    open_ended = bool(torch.isinf(end).any())
    for k in range(1, points + max(points, _GROWTHS if open_ended else 0) + 1):
        t = _scan_position(k, points, guess, end)
        # Only samples that started right and have not crossed yet are looked at.
        rows = ((origin > 0) & torch.isinf(right) & (t > left)).nonzero().squeeze(1)
        if len(rows) == 0:
            continue
        value = f(t[rows], rows)
        lower = value < low_value[rows]
        lowest[rows[lower]], low_value[rows[lower]] = t[rows[lower]], value[lower]
        hit = value <= 0
        right[rows[hit]], right_value[rows[hit]] = t[rows[hit]], value[hit]
        left[rows[~hit]], left_value[rows[~hit]] = t[rows[~hit]], value[~hit]
    rows = torch.isfinite(right).nonzero().squeeze(1)
    if len(rows):
        ends = (left[rows], right[rows], left_value[rows], right_value[rows])
        crossing[rows] = close_in(lambda t, sub: f(t, rows[sub]), *ends, tolerance=tolerance)
    return RaySearch(crossing, lowest)


def _scan_position(k: int, points: int, guess: Tensor, end: Tensor) -> Tensor:
    """Where the k-th step of the scan looks: densely near the guess, then out to the end."""
    near = torch.where(torch.isfinite(guess), 4 * guess, torch.where(torch.isfinite(end), 0.0, 1.0))
    near = torch.minimum(near, end)
    if k <= points:
        return near * (k / points)
    far = k - points
    linear = near + (end - near) * min(far / points, 1.0)
    return torch.where(torch.isfinite(end), torch.minimum(linear, end), near * 1.5 ** min(far, _GROWTHS))


def close_in(
    f: RayMargin, left: Tensor, right: Tensor, left_value: Tensor, right_value: Tensor, *, tolerance: float
) -> Tensor:
    """Shrink intervals with margin > 0 at `left` and <= 0 at `right`; the final right ends.

    Chandrupatla's method on every sample at once: inverse quadratic interpolation where it is safe, bisection
    otherwise.

    Args:
        f: margin on the ray.
        left: (n,) points with margin > 0.
        right: (n,) points further out with margin <= 0.
        left_value: (n,) margins at `left`.
        right_value: (n,) margins at `right`.
        tolerance: relative width at which an interval is narrow enough.
    """
    # `scipy.optimize.elementwise.find_root` is the same method, equal to 3e-14, but it evaluates both ends
    # again: a third more evaluations, and 1.1 to 1.5 times as long on nets of 100 to 400 neurons.
    left, right = left.clone(), right.clone()
    a, b, fa, fb = right.clone(), left.clone(), right_value.clone(), left_value.clone()
    share = torch.full_like(left, 0.5)
    rows = (right - left > tolerance * right).nonzero().squeeze(1)
    for _ in range(_ROUNDS):
        if len(rows) == 0:
            break
        t = a[rows] + share[rows] * (b[rows] - a[rows])
        value = f(t, rows)
        negative = value <= 0
        right[rows[negative]], left[rows[~negative]] = t[negative], t[~negative]
        # a is the newest point, b the end on the other side of zero, c the point that is given up.
        same = negative == (fa[rows] <= 0)
        c, fc = torch.where(same, a[rows], b[rows]), torch.where(same, fa[rows], fb[rows])
        b[rows], fb[rows] = torch.where(same, b[rows], a[rows]), torch.where(same, fb[rows], fa[rows])
        a[rows], fa[rows] = t, value
        share[rows] = _next_share(a[rows], b[rows], c, fa[rows], fb[rows], fc, tolerance)
        rows = rows[(right - left > tolerance * right)[rows]]
    return right


def _next_share(
    a: Tensor, b: Tensor, c: Tensor, fa: Tensor, fb: Tensor, fc: Tensor, tolerance: float
) -> Tensor:
    """Where between a and b to look next: interpolated if the three points bend gently, else the middle."""
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    # Chandrupatla's test: inside it the inverse parabola is monotone, so its root lies in the interval.
    gentle = (phi.square() < xi) & ((1 - phi).square() < 1 - xi)
    quadratic = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    share = torch.where(gentle & torch.isfinite(quadratic), quadratic, 0.5)
    # A step below half the tolerance would not move; this far at least the next point goes.
    least = (tolerance * torch.minimum(a.abs(), b.abs()) / (2 * (b - a).abs())).clamp(1e-15, 0.5)
    return torch.minimum(torch.maximum(share, least), 1 - least)
