"""Compiled weak duality: lower bounds of a symmetric net over a ball, row by row."""

import math

from karat.core.compiled import Array, Indices, Number, compiled


@compiled()
def _smallest(
    z: Number,
    c: Number,
    own: Number,
    copies: Number,
    mu: Number,
    nu: Number,
    tau: Number,
    at: Array,
    value: Array,
) -> tuple[Number, Number, Number]:
    r"""The minimum over :math:`|\delta| \le \tau` of copies F(own (z + delta) + c) - mu delta + nu delta^2.

    Returns:
        the minimum, where it is met, and the slope of F there.
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
    best, where, slope_there = math.inf, 0.0, 0.0
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
            best, where, slope_there = found, delta, slope
        if end >= high:
            return best, where, slope_there
        begin = end
        piece += 1


@compiled()
def _cell(
    row: Array,
    others: Number,
    rest: Number,
    score: Number,
    net: Array,
    at: Array,
    value: Array,
    slope: Array,
    rest_slope: Number,
    l_inf: bool,
    tau: Number,
    low: Number,
    high: Number,
) -> Number:
    """A lower bound over all perturbations whose sum lies in [low, high]."""
    alpha, beta, gamma, copies, hubs = net[0], net[1], net[2], net[5], net[6]
    own = alpha - beta
    c = beta * (score + (low if beta >= 0 else high))
    dense, _, _ = _smallest(0.0, gamma * (score + (low if gamma >= 0 else high)), 1.0, hubs, 0.0, 0.0, 0.0, at, value)
    count = others + len(row)
    # Begin as if every listed neuron were awake and no other; the first pass finds out.
    mu = 0.0
    nu = 0.0 if l_inf else copies * own * math.sqrt(max(len(row), 1)) / (2 * tau) if tau > 0 else 0.0
    best = -math.inf
    for _ in range(1 if l_inf or tau == 0 else 8):
        total, size = 0.0, 0.0
        pulls, squares = 0.0, 0.0
        for j in range(len(row)):
            found, _, steep = _smallest(row[j], c, own, copies, mu + slope[j], nu, tau, at, value)
            total += found
            size += abs(found)
            pulls += copies * own * steep - slope[j]
            squares += (copies * own * steep - slope[j]) ** 2
        found, _, steep = _smallest(rest, c, own, copies, mu + rest_slope, nu, tau, at, value)
        steep = copies * own * steep - rest_slope
        total += others * found + dense + min(mu * low, mu * high) - nu * tau * tau
        size += others * abs(found) + abs(dense) + abs(mu * low) + nu * tau * tau
        best = max(best, total - 1e-12 * size)
        if l_inf or tau == 0:
            break
        pulls += others * steep
        squares += others * steep * steep
        # At the optimum sum delta = T and |delta| = tau, with delta_j = (mu - steep_j) / (2 nu).
        aim = min(max(0.0, low), high)
        spread = max(squares - pulls * pulls / count, 0.0)  # of the steeps around their mean
        budget = tau * tau - aim * aim / count
        if budget <= 0 or spread == 0:
            break
        nu = math.sqrt(spread / budget) / 2
        mu = (2 * nu * aim + pulls) / count
        # Without a sum to keep the multiplier would be zero: T = -sum of steeps / (2 nu) is then free in the cell.
        free = -pulls / (2 * math.sqrt(squares) / (2 * tau)) if squares > 0 else 0.0
        if low <= free <= high:
            mu, nu = 0.0, math.sqrt(squares) / (2 * tau)
    return best


@compiled()
def bound_rows(
    values: Array,
    offsets: Indices,
    rest: Array,
    d: Number,
    net: Array,
    at: Array,
    value: Array,
    slope: Array,
    rest_slope: Array,
    level: Array,
    l_inf: bool,
    tau: Number,
    cells: int,
    enough: Number,
    falling: bool,
    out: Array,
) -> None:
    r"""Lower bounds of :math:`f(x + \delta) - \text{level} - \langle \text{slope}, \delta \rangle` over a ball.

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
                )
                lowest = min(lowest, bound)
                if lowest <= enough and parts < cells:
                    break
            if lowest > enough or parts >= cells:
                break
            parts = min(parts * 4, cells)
        out[i] = lowest - level[i]
