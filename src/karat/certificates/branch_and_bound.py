"""Branch and bound over the intervals of the unstable neurons: anytime, batched over domains, exact at the leaves."""

import heapq
import math
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from karat.certificates.ascent import ascend
from karat.certificates.branching import choose_split, halves
from karat.certificates.hull import Hull, hull_of
from karat.certificates.leaf import solve_leaf
from karat.certificates.problem import Problem
from karat.certificates.space import Space, space_of

_STEPS = 12
_ROOT = 30
_POLISH = 60
_REFINEMENTS = 3
_MEMORY = 3e8  # bytes of open domains at which the search gives up
_CHUNK = 4e6  # entries of one (domains, neurons + inputs) table


@dataclass(frozen=True, eq=False)
class Search:
    """What a search knows: lower <= worst margin <= upper, the witness (d,) of upper, domains looked at."""

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
    precise: bool
    cosines: Tensor | None
    closed: float = math.inf
    domains: int = 0
    open: list[tuple[float, int, tuple[Tensor, ...], int]] = field(default_factory=list)

    def lower(self) -> float:
        return min(self.closed, self.open[0][0] if self.open else math.inf)

    def threshold(self) -> float:
        """Domains whose bound is above need no more work: the sign is known, or the value is."""
        return self.upper - self.goal if self.precise else max(0.0, min(self.goal, 0.0))

    def broken(self) -> bool:
        return not self.precise and self.upper < 0


def branch_and_bound(
    problem: Problem,
    *,
    seconds: float,
    upper: float = math.inf,
    delta: Tensor | None = None,
    alpha: Tensor | None = None,
    precise: float | None = None,
) -> Search:
    """Split until every domain has a positive bound, a witness of negative margin is found, or time is up.

    Only concave pieces of c psi leave a gap, so only those are cut. Each child inherits its parent's slopes,
    takes a few ascent steps, and its answer is a witness candidate, evaluated anew in input space.

    Args:
        problem: one sample; upper, delta: a known witness; alpha: (m,) slopes to start from;
        precise: search for the value up to this absolute error instead of its sign.

    Reading: a witness counts once its margin is below minus its rounding error; until then the search goes on.
    """
    space = space_of(problem)
    start = torch.zeros(problem.x.shape[1], dtype=problem.x.dtype) if delta is None else delta
    if not math.isfinite(upper):
        upper = float(problem.value(start.unsqueeze(0))[0])
    if len(space.unstable) == 0:
        return _linear(space, upper, start)
    state = _State(
        space,
        upper,
        start,
        goal=0.0 if precise is None else precise,
        deadline=time.perf_counter() + seconds,
        precise=precise is not None,
        cosines=_cosines(space),
    )
    first = space.hulls(space.low, space.high).slope_at(space.z) if alpha is None else alpha[space.unstable]
    _expand(state, space.low.unsqueeze(0), space.high.unsqueeze(0), first.unsqueeze(0), steps=_ROOT)
    size = max(1, int(min(256, _CHUNK / max(1, sum(space.W.shape)) / 4)))
    batch = 8
    while state.open and not state.broken() and time.perf_counter() < state.deadline:
        count = min(batch, size, len(state.open))
        low, high, slopes, neuron, cut = _pop(state, count)
        low, high = halves(space, low, high, neuron, cut, state.cosines)
        _expand(state, low, high, slopes.repeat(2, 1), steps=_STEPS)
        batch = min(size, 2 * batch)
        if len(state.open) * space.W.shape[0] * 24 > _MEMORY:
            break
    return Search(state.lower(), state.upper, state.delta, state.domains)


def _linear(space: Space, upper: float, delta: Tensor) -> Search:
    """The search of a net that is linear on the ball: one bound, attained at an extreme point."""
    lower = float(space.bound(torch.zeros(1, 0, dtype=space.W.dtype), space.low[None], space.high[None])[0])
    x = space.problem.x if space.ball.box is not None else None
    best = space.ball.extreme_point(-space.fixed.unsqueeze(0), x)
    full = space.lift(best)
    value = float(space.problem.value(full)[0])
    return Search(lower, value, full[0], 1) if value < upper else Search(lower, upper, delta, 1)


def _pop(state: _State, count: int) -> tuple[Tensor, ...]:
    rows = [heapq.heappop(state.open) for _ in range(count)]
    return tuple(torch.stack([chunk[part][row] for _, _, chunk, row in rows]) for part in range(5))


def _expand(state: _State, low: Tensor, high: Tensor, alpha: Tensor, *, steps: int) -> None:
    """Bound the domains, try their answers as witnesses, and file each one as closed or open."""
    space = state.space
    possible = (low <= high).all(dim=1)
    low, high, alpha = low[possible], high[possible], alpha[possible]
    state.domains += len(low)
    if len(low) == 0:
        return
    hulls = space.hulls(low, high)
    alpha, bound, neuron, cut, unsolved = _improve(state, low, high, hulls, alpha, steps, _SHARPNESS)
    undone = bound <= state.threshold()
    rows = (undone & unsolved).nonzero().squeeze(1)
    if len(rows) and not state.broken():
        part = hulls.rows(rows)
        more = _improve(state, low[rows], high[rows], part, alpha[rows], _POLISH, _SHARP)
        alpha[rows], bound[rows], neuron[rows], cut[rows], _ = more
        undone = bound <= state.threshold()
    # What has nothing left to cut is solved exactly, unless the solve finds something to cut after all.
    for i in (undone & (neuron < 0)).nonzero().squeeze(1).tolist():
        if time.perf_counter() > state.deadline or state.broken():
            break
        _solve(state, i, low, high, alpha, bound, neuron, cut)
    undone = bound <= state.threshold()
    if bool((~undone).any()):
        state.closed = min(state.closed, float(bound[~undone].min()))
    chunk = (low, high, alpha, neuron, cut)
    for i in undone.nonzero().squeeze(1).tolist():
        if int(neuron[i]) < 0:
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
    found = ascend(space.relaxed(hulls, len(low)), alpha, steps=steps, sharpness=sharpness[space.ball.p])
    bound = space.bound(found.alpha, low, high)
    s, value = space.answer(found.delta)
    _witness(state, found.delta, value)
    neuron, cut, gap = choose_split(space.problem.profile, space.c, hulls, s, low, high)
    return found.alpha, bound, neuron, cut, (gap < 0.1 * (value - bound)) | (neuron < 0)


def _solve(
    state: _State, i: int, low: Tensor, high: Tensor, alpha: Tensor, bound: Tensor, neuron: Tensor, cut: Tensor
) -> None:
    """Solve the relaxation of domain i and update its row in place."""
    space, profile = state.space, state.space.problem.profile
    row = slice(i, i + 1)
    hulls = space.hulls(low[row], high[row])
    if profile.piecewise_linear:
        answer = solve_leaf(space, hulls, low[i], high[i])
    else:
        answer = _curved_leaf(space, low[row], high[row], alpha[row], hulls)
    if answer is None:
        return
    better = float(space.bound(answer[0].unsqueeze(0), low[row], high[row])[0])
    if better > float(bound[i]):
        bound[i], alpha[i] = better, answer[0]
    s, value = space.answer(answer[1].unsqueeze(0))
    _witness(state, answer[1].unsqueeze(0), value)
    new, where, gap = choose_split(profile, space.c, hulls, s, low[row], high[row])
    # Margin and bound agree up to the solver's accuracy: the domain's minimum is known.
    done = float(value[0] - bound[i]) <= 1e-8 * (abs(float(value[0])) + space.scale + float(gap[0]))
    neuron[i], cut[i] = (-1 if done else new[0]), where[0]


def _curved_leaf(
    space: Space, low: Tensor, high: Tensor, alpha: Tensor, hulls: Hull
) -> tuple[Tensor, Tensor]:
    """Slopes (U,) and answer (k,) of one domain by long ascents on hulls refined around the last answer."""
    delta = torch.zeros_like(space.fixed).unsqueeze(0)
    for _ in range(_REFINEMENTS):
        found = ascend(space.relaxed(hulls, 1), alpha, steps=_POLISH, sharpness=_SHARP[space.ball.p])
        alpha, delta = found.alpha, found.delta
        s, _ = space.answer(delta)
        hulls = hull_of(space.problem.profile, space.c, low, high, torch.minimum(torch.maximum(s, low), high))
    return alpha[0], delta[0]


def _witness(state: _State, delta: Tensor, value: Tensor) -> None:
    """Re-evaluate the most promising answer in input space."""
    if not bool(torch.isfinite(value).all()):
        return
    best = int(value.argmin())
    if float(value[best]) >= state.upper:
        return
    full = state.space.lift(delta[best : best + 1])
    margin = float(state.space.problem.value(full)[0])
    error = float(state.space.problem.value_error(full)[0])
    # Between -error and 0 the sign is rounding's to choose: keep the witness, not the verdict.
    if margin < state.upper:
        state.upper, state.delta = (margin if margin < -error else max(margin, 0.0)), full[0]


def _cosines(space: Space) -> Tensor | None:
    """Cosines (U, U) between the weights of the unstable neurons, for p = 2."""
    length = torch.linalg.vector_norm(space.W, dim=1)
    if space.ball.p != 2 or len(length) == 0 or not bool((length > 0).all()):
        return None
    unit = space.W / length.unsqueeze(1)
    return (unit @ unit.T).clamp(-1, 1)


_SHARPNESS = {1.0: (0.3, 0.1), 2.0: (0.03, 0.01), math.inf: (0.3, 0.1)}
_SHARP = {1.0: (0.1, 0.01), 2.0: (0.01, 0.001), math.inf: (0.1, 0.01)}
