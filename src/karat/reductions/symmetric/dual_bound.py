"""Compiled weak duality: lower bounds of a symmetric net over a ball, row by row."""

import math

from karat.core.compiled import Array, Indices, compiled
from karat.reductions.symmetric.kernels import Numbers


@compiled()
def _smallest(
    z: float,
    c: float,
    own: float,
    copies: float,
    mu: float,
    nu: float,
    tau: float,
    at: Array,
    value: Array,
) -> tuple[float, float]:
    r"""The minimum over :math:`|\delta| \le \tau` of copies F(own (z + delta) + c) - mu delta + nu delta^2.

    Returns:
        the minimum, and the slope of F where it is met.
    """
    low, high = own * (z - tau) + c, own * (z + tau) + c
    last = len(at)
    # The first piece: piece k lies below at[k], the last one above all breakpoints.
    left, right = 0, last
    while left < right:
        middle = (left + right) // 2
        if at[middle] < low:
            left = middle + 1
        else:
            right = middle
    piece = left
    best, slope_there = math.inf, 0.0
    begin = low
    while True:
        end = min(high, at[piece]) if piece < last else high
        if piece == 0:
            slope = 1.0
            at_begin = value[0] + (begin - at[0])
        elif piece == last:
            slope = 1.0
            at_begin = value[last - 1] + (begin - at[last - 1])
        else:
            slope = (value[piece] - value[piece - 1]) / (at[piece] - at[piece - 1])
            at_begin = value[piece - 1] + slope * (begin - at[piece - 1])
        first, second = (begin - c) / own - z, (end - c) / own - z
        pull = mu - copies * own * slope
        if nu > 0:
            delta = min(max(pull / (2 * nu), first), second)
        else:
            delta = second if pull > 0 else first
        found = copies * (at_begin + slope * own * (delta - first)) - mu * delta + nu * delta * delta
        if found < best:
            best, slope_there = found, slope
        if not end < high:  # NaN ends here, too
            return best, slope_there
        begin = end
        piece += 1


@compiled()
def _dual(
    row: Array,
    others: float,
    rest: float,
    c: float,
    net: Numbers,
    at: Array,
    value: Array,
    slope: Array,
    rest_slope: float,
    tau: float,
    mu: float,
    nu: float,
) -> tuple[float, float, float]:
    """The sum of the smallest values of all coordinates for two multipliers, less what rounding may add to
    it.

    Returns:
        the sum; the sum of the slopes where the minima are met; the sum of their squares.
    """
    own, copies = net.classes[0, 0] - net.classes[0, 1], net.classes[0, 2]
    total, size, pulls, squares = 0.0, 0.0, 0.0, 0.0
    for j in range(len(row)):
        found, steep = _smallest(row[j], c, own, copies, mu + slope[j], nu, tau, at, value)
        steep = copies * own * steep - slope[j]
        total += found
        size += abs(found)
        pulls += steep
        squares += steep * steep
    found, steep = _smallest(rest, c, own, copies, mu + rest_slope, nu, tau, at, value)
    steep = copies * own * steep - rest_slope
    total += others * found
    size += others * abs(found)
    return total - 1e-12 * size, pulls + others * steep, squares + others * steep * steep


@compiled()
def _cell(
    row: Array,
    others: float,
    rest: float,
    score: float,
    net: Numbers,
    at: Array,
    value: Array,
    slope: Array,
    rest_slope: float,
    l_inf: bool,
    tau: float,
    low: float,
    high: float,
    enough: float,
) -> float:
    """A lower bound over all perturbations whose sum lies in [low, high]; beyond `enough` any will do."""
    beta, copies, gamma, hubs = net.classes[0, 1], net.classes[0, 2], net.hubs[0, 0], net.hubs[0, 1]
    own = net.classes[0, 0] - beta
    c = beta * (score + (low if beta >= 0 else high))
    # A hub sees nothing but the sum.
    hub, _ = _smallest(
        0.0, gamma * (score + (low if gamma >= 0 else high)), 1.0, hubs, 0.0, 0.0, 0.0, at, value
    )
    if l_inf or tau == 0:
        total, _, _ = _dual(row, others, rest, c, net, at, value, slope, rest_slope, tau, 0.0, 0.0)
        return hub + total
    count = others + len(row)
    # At the optimum sum delta = T and |delta| = tau, with delta_j = (mu - steep_j) / (2 nu).
    aim = min(max(0.0, low), high)
    budget = tau * tau - aim * aim / count
    # Begin as if every listed neuron were awake and no other; the first pass finds out.
    first = copies * own * math.sqrt(max(len(row), 1)) / (2 * tau)
    mu, nu, best = 0.0, first, -math.inf
    for attempt in range(16):
        total, pulls, squares = _dual(row, others, rest, c, net, at, value, slope, rest_slope, tau, mu, nu)
        best = max(best, total + min(mu * low, mu * high) - nu * tau * tau)
        if hub + best > enough:
            break
        spread = squares - pulls * pulls / count  # of the slopes around their mean
        if spread < 1e-9 * (copies * own) ** 2:
            # Nothing pulls, as in a deviation from the tangent: try smaller and smaller multipliers.
            nu = first * 0.25 ** (attempt + 1)
            mu = (2 * nu * aim + pulls) / count
            continue
        if attempt >= 8 or budget <= 0:
            break
        nu = math.sqrt(spread / budget) / 2
        mu = (2 * nu * aim + pulls) / count
        # Where the sum that nobody asks for lies in the cell, its multiplier is zero.
        if low <= -pulls * tau / math.sqrt(squares) <= high:
            mu, nu = 0.0, math.sqrt(squares) / (2 * tau)
    return hub + best


@compiled()
def bound_rows(
    values: Array,
    offsets: Indices,
    rest: Array,
    d: float,
    net: Numbers,
    at: Array,
    value: Array,
    slope: Array,
    rest_slope: Array,
    level: Array,
    l_inf: bool,
    tau: float,
    cells: int,
    enough: float,
    falling: bool,
    out: Array,
) -> None:
    r"""Lower bounds of :math:`f(x + \delta) - \text{level} - \langle \text{slope}, \delta \rangle` over a
    ball.

    Args:
        values: listed coordinates of the points.
        offsets: (n + 1,) ends of the rows.
        rest: (n,) the value of all others.
        d: number of coordinates.
        net: the net, as the kernels read it.
        at: breakpoints of a function below a pair's output.
        value: of that function there.
        slope: of the linear function that is taken away, at the listed coordinates.
        rest_slope: (n,) at all others.
        level: (n,) constant that is taken away.
        l_inf: whether the ball is that of the largest coordinate; else Euclidean.
        tau: its radius.
        cells: into how many intervals the sum of the perturbation is cut at most.
        enough: stop cutting where the bound exceeds this.
        falling: whether the worst case moves every coordinate down, so that no sum above zero counts.
        out: (n,) bounds, overwritten.
    """
    for i in range(len(rest)):
        begin, end = offsets[i], offsets[i + 1]
        others = d - (end - begin)
        score = others * rest[i]
        for j in range(begin, end):
            score += values[j]
        reach = tau * d if l_inf else tau * math.sqrt(d)
        top = 0.0 if falling else reach
        parts = 1 if enough < math.inf else cells
        while True:
            lowest = math.inf
            for part in range(parts):
                low = -reach + (top + reach) * part / parts
                high = -reach + (top + reach) * (part + 1) / parts
                bound = _cell(
                    values[begin:end],
                    others,
                    rest[i],
                    score,
                    net,
                    at,
                    value,
                    slope[begin:end],
                    rest_slope[i],
                    l_inf,
                    tau,
                    low,
                    high,
                    enough,
                )
                lowest = min(lowest, bound)
                if lowest <= enough and parts < cells:
                    break
            if lowest > enough or parts >= cells:
                break
            parts = min(parts * 4, cells)
        out[i] = lowest - level[i]
