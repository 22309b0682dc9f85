"""Branch and bound over the intervals of unstable neurons: anytime, batched, exact at the leaves."""

import heapq
import math
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from karat.certificates.ascent import ascend
from karat.certificates.branching import choose_split, halves
from karat.certificates.exact import SHARP, solve_domain
from karat.certificates.hull import Hull
from karat.certificates.problem import Problem
from karat.certificates.space import Space, space_of
from karat.certificates.tightening import Tightening, tightening_of

_STEPS = 12
_ROOT = 30
_POLISH = 60
_STALLED = 4
_CHILDREN = 16
_MEMORY = 3e8  # bytes of open domains at which the search gives up
_CHUNK = 4e6  # entries of one (domains, neurons + inputs) table


@dataclass(frozen=True, eq=False)
class Search:
    """What a search knows of the worst margin.

    Args:
        lower: bound from below.
        upper: margin of the witness.
        delta: (d,) the witness.
        domains: number of domains looked at.
    """

    lower: float
    upper: float
    delta: Tensor
    domains: int


@dataclass(eq=False)
class _State:
    """Open domains in a heap by bound, the bounds of closed ones, and the best witness so far."""

    space: Space
    upper: float
    delta: Tensor
    goal: float
    deadline: float
    most: float
    precise: bool
    tightening: Tightening | None
    closed: float = math.inf
    domains: int = 0
    open: list[tuple[float, int, tuple[Tensor, ...], int]] = field(default_factory=list)

    def lower(self) -> float:
        return min(self.closed, self.open[0][0] if self.open else math.inf)

    def threshold(self) -> float:
        """Domains whose bound is above need no more work: the sign is known, or the value is."""
        if self.precise:
            return self.upper - self.goal
        # With a witness at zero the best possible outcome is a tie, for which zero is near enough.
        return -self.goal if self.upper <= self.goal else 0.0

    def broken(self) -> bool:
        return not self.precise and self.upper < 0

    def spent(self) -> bool:
        """Time or domains are used up."""
        return self.domains >= self.most or time.perf_counter() >= self.deadline


def branch_and_bound(
    problem: Problem,
    *,
    seconds: float = math.inf,
    domains: float = math.inf,
    upper: float = math.inf,
    delta: Tensor | None = None,
    alpha: Tensor | None = None,
    precise: float | None = None,
    tie: float = 0.0,
) -> Search:
    """Split until every domain has a positive bound, a witness has a negative margin, or a limit is met.

    Only concave pieces of c psi leave a gap, so only those are cut. Each child inherits its parent's slopes,
    takes a few ascent steps, and its answer is a witness candidate, evaluated anew in input space.

    Args:
        problem: one sample.
        seconds: limit of the search.
        domains: limit of the search that does not depend on the machine's speed, up to one batch of domains.
        upper: margin of a known witness.
        delta: (d,) that witness.
        alpha: (m,) slopes to start from.
        precise: search for the value up to this absolute error instead of its sign.
        tie: margin that counts as zero once a witness comes as near.

    Reading: a witness counts once its margin is below minus its rounding error; until then the search
        goes on.
    """
    space = space_of(problem)
    start = torch.zeros(problem.x.shape[1], dtype=problem.x.dtype) if delta is None else delta
    if not math.isfinite(upper):
        upper = float(problem.value(start.unsqueeze(0))[0])
    if upper < 0 and upper >= -float(problem.value_error(start.unsqueeze(0))[0]):
        upper = 0.0  # rounding chose the sign, so the search is not over
    if len(space.unstable) == 0:
        return _linear(space, upper, start)
    state = _State(
        space,
        upper,
        start,
        goal=tie if precise is None else precise,
        deadline=time.perf_counter() + seconds,
        most=domains,
        precise=precise is not None,
        tightening=tightening_of(space),
    )
    first = space.hulls(space.low, space.high).slope_at(space.z) if alpha is None else alpha[space.unstable]
    _expand(state, space.low.unsqueeze(0), space.high.unsqueeze(0), first.unsqueeze(0), steps=_ROOT)
    size = max(1, int(min(256, _CHUNK / max(1, sum(space.W.shape)) / 4)))
    batch = 8
    while state.open and state.lower() <= state.threshold() and not (state.broken() or state.spent()):
        chosen = _pop(state, min(batch, size, len(state.open)))
        low, high, slopes = _divide(state, *chosen, most=min(size, _CHILDREN))
        _expand(state, low, high, slopes, steps=_STEPS)
        batch = min(size, 2 * batch)
        if len(state.open) * space.W.shape[0] * 24 > _MEMORY:
            break
    return Search(state.lower(), state.upper, state.delta, state.domains)


def _linear(space: Space, upper: float, delta: Tensor) -> Search:
    """The search of a net that is linear on the ball: one bound, attained at an extreme point."""
    lower = float(space.bound(torch.zeros(1, 0, dtype=space.W.dtype), space.low[None], space.high[None])[0])
    x = space.problem.x if space.ball.box is not None else None
    full = space.lift(space.ball.extreme_point(-space.fixed.unsqueeze(0), x))
    value = float(space.problem.value(full)[0])
    return Search(lower, value, full[0], 1) if value < upper else Search(lower, upper, delta, 1)


def _pop(state: _State, count: int) -> tuple[Tensor, ...]:
    rows = [heapq.heappop(state.open) for _ in range(count)]
    return tuple(torch.stack([chunk[part][row] for _, _, chunk, row in rows]) for part in range(5))


def _divide(
    state: _State, low: Tensor, high: Tensor, alpha: Tensor, neuron: Tensor, cut: Tensor, *, most: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Children of the domains: cut by the worst neuron, and by the next ones while there are few children."""
    for k in range(neuron.shape[1]):
        if k > 0 and 2 * len(low) > most:
            break
        able = neuron[:, k] >= 0
        order = torch.cat([(~able).nonzero().squeeze(1), able.nonzero().squeeze(1).repeat(2)])
        parts = halves(state.space, low[able], high[able], neuron[able, k], cut[able, k], state.tightening)
        low, high = torch.cat([low[~able], parts[0]]), torch.cat([high[~able], parts[1]])
        alpha, neuron, cut = alpha[order], neuron[order], cut[order]
        possible = (low <= high).all(dim=1)
        low, high, alpha = low[possible], high[possible], alpha[possible]
        neuron, cut = neuron[possible], cut[possible]
    return low, high, alpha


def _expand(state: _State, low: Tensor, high: Tensor, alpha: Tensor, *, steps: int) -> None:
    """Bound the domains, try their answers as witnesses, and file each one as closed or open."""
    space = state.space
    state.domains += len(low)
    if len(low) == 0:
        return
    hulls = space.hulls(low, high)
    alpha, bound, neuron, cut, unsolved = _improve(state, low, high, hulls, alpha, steps, _SHARPNESS)
    undone = bound <= state.threshold()
    rows = (undone & unsolved).nonzero().squeeze(1)
    if len(rows) and not state.broken():
        part = hulls.rows(rows)
        more = _improve(state, low[rows], high[rows], part, alpha[rows], _POLISH, SHARP)
        alpha[rows], bound[rows], neuron[rows], cut[rows], unsolved[rows] = more
        undone = bound <= state.threshold()
    # What has nothing left to cut is solved exactly, and so are a few whose ascent stalls on a curve.
    stalled = undone & unsolved & (neuron[:, 0] >= 0) & (not space.problem.profile.piecewise_linear)
    for i in [
        *(undone & (neuron[:, 0] < 0)).nonzero().squeeze(1).tolist(),
        *stalled.nonzero().squeeze(1).tolist()[:_STALLED],
    ]:
        if time.perf_counter() > state.deadline or state.broken():
            break
        _solve(state, i, low, high, alpha, bound, neuron, cut)
    undone = bound <= state.threshold()
    if bool((~undone).any()):
        state.closed = min(state.closed, float(bound[~undone].min()))
    chunk = (low, high, alpha, neuron, cut)
    for i in undone.nonzero().squeeze(1).tolist():
        if int(neuron[i, 0]) < 0:
            state.closed = min(state.closed, float(bound[i]))
        else:
            heapq.heappush(state.open, (float(bound[i]), state.domains * 1000 + i, chunk, i))


def _improve(
    state: _State,
    low: Tensor,
    high: Tensor,
    hulls: Hull,
    alpha: Tensor,
    steps: int,
    sharpness: dict[float, tuple[float, float]],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Ascend; then slopes, bounds, next cuts, and whether the relaxation itself is far from solved."""
    space = state.space
    ascent = ascend(space.relaxed(hulls, len(low)), alpha, steps=steps, sharpness=sharpness[space.ball.p])
    bound = space.bound(ascent.alpha, low, high)
    s, value = space.answer(ascent.delta)
    _witness(state, ascent.delta, value)
    neuron, cut, gap = choose_split(space.problem.profile, space.c, hulls, s, low, high)
    return ascent.alpha, bound, neuron, cut, (gap < 0.1 * (value - bound)) | (neuron[:, 0] < 0)


def _solve(
    state: _State,
    i: int,
    low: Tensor,
    high: Tensor,
    alpha: Tensor,
    bound: Tensor,
    neuron: Tensor,
    cut: Tensor,
) -> None:
    """Solve the relaxation of domain i and update its row in place."""
    space, row = state.space, slice(i, i + 1)
    left = state.deadline - time.perf_counter()
    slopes, delta, hulls = solve_domain(space, low[row], high[row], alpha[row], left)
    better = float(space.bound(slopes, low[row], high[row])[0])
    if better > float(bound[i]):
        bound[i], alpha[i] = better, slopes[0]
    s, value = space.answer(delta)
    _witness(state, delta, value)
    new, where, gap = choose_split(space.problem.profile, space.c, hulls, s, low[row], high[row])
    # Margin and bound agree up to the solver's accuracy: the domain's minimum is known.
    done = float(value[0] - bound[i]) <= 1e-9 * (abs(float(value[0])) + space.scale + float(gap[0]))
    neuron[i], cut[i] = (torch.full_like(new[0], -1) if done else new[0]), where[0]


def _witness(state: _State, delta: Tensor, value: Tensor) -> None:
    """Re-evaluate the most promising answer in input space."""
    best = int(value.argmin())
    if not bool(torch.isfinite(value).all()) or float(value[best]) >= state.upper:
        return
    full = state.space.lift(delta[best : best + 1])
    margin = float(state.space.problem.value(full)[0])
    error = float(state.space.problem.value_error(full)[0])
    # Between -error and 0 the sign is rounding's to choose: keep the witness, not the verdict.
    if margin < state.upper:
        state.upper, state.delta = (margin if margin < -error else max(margin, 0.0)), full[0]


_SHARPNESS = {1.0: (0.3, 0.1), 2.0: (0.03, 0.01), math.inf: (0.3, 0.1)}
