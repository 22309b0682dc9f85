"""The in-law reduction as a commuting diagram: a point walks against the gradient, a ball of nets answers."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from karat.core.activations import Relu
from karat.core.ranges import Count, NonNegative, Positive, Unbounded, checked
from karat.nets import TwoLayer
from karat.reductions.contract import require_exact
from karat.reductions.in_law.start import PlaneStart, draw_plane_start, plane_start_of, rest_of_rows
from karat.reductions.in_law.supremum import largest_margins

Rows = Literal["gaussian", "unit", "signs"]
"""Rows N(0, I), the same divided by sqrt d, or fair signs."""


@dataclass(frozen=True, kw_only=True)
@checked
class Problem:
    r"""One input, a start, a ball of nets around it, and a walk away from the input.

    Every step takes the point by `stride` against the gradient of the start at x, across x; the ball answers
    with the net that has the largest margin at the new point, :math:`w_s = w_{s,0} + y a_s V p`.

    Args:
        d: input dimension.
        m: width.
        weight_radius: V, how far a row may move.
        y: label of the input.
        stride: length of one step.
        seed: of the start, the input, and the directions that a lift needs.
        rows: law of the start.
        net: a start of one's own in place of the drawn one.
        inputs: (n, d) in place of the drawn input; several are an obstacle.
        follows: whose gradient the walk follows: that of the start at x, or that of the ball's answer where
            the point is, which is an obstacle.
        p: norm of the attack; only 2 keeps to the plane.
    """

    d: Count
    m: Count
    weight_radius: NonNegative
    y: Literal[-1, 1] = 1
    stride: Positive = 0.1
    seed: int = 0
    rows: Rows = "gaussian"
    net: TwoLayer | None = None
    inputs: Tensor | None = None
    follows: Literal["start", "answer"] = "start"
    p: Annotated[Positive, Unbounded()] = 2.0

    @property
    def row_scale(self) -> float:
        """Standard deviation of the entries of Gaussian rows."""
        return 1 / math.sqrt(self.d) if self.rows == "unit" else 1.0

    def axes(self) -> tuple[Tensor, Tensor]:
        """The input x, and the direction g of the start's gradient across it: (d,) each."""
        x = self._direction(1) if self.inputs is None else self.inputs[0]
        if self.net is not None:
            return x, plane_start_of(self.net, x)[1]
        g = self._direction(2)
        g = g - (g @ x) * x
        return x, g / torch.linalg.vector_norm(g)

    def _direction(self, draw: int) -> Tensor:
        """A uniform direction."""
        entries = torch.randn(self.d, generator=self.generator(draw), dtype=torch.float64)
        return entries / torch.linalg.vector_norm(entries)

    def generator(self, draw: int) -> torch.Generator:
        """A stream of random numbers of its own for every purpose.

        Args:
            draw: 0 for the coordinates, 1 and 2 for the axes, 3 for the rest of the rows.
        """
        return torch.Generator().manual_seed(4 * self.seed + draw)


@dataclass(frozen=True, eq=False)
class State:
    """A walk after some steps: two numbers for every neuron, whatever d is.

    Args:
        start: in the plane of the input and its gradient.
        y: label.
        weight_radius: V of the ball.
        stride: of a step.
        walked: length of the walk so far, the tangent of its angle.
    """

    start: PlaneStart
    y: int
    weight_radius: float
    stride: float
    walked: float = 0.0

    @property
    def margin(self) -> float:
        """The largest margin that any net of the ball has at the unit vector along the point."""
        return largest_margins(self.start, self.y, [self.walked], [self.weight_radius])[0]


@dataclass(frozen=True, eq=False)
class Lifted:
    """A point in d dimensions, the net of the ball with the largest margin there, and that margin.

    Args:
        point: (d,).
        net: with rows moved by V.
        margin: at the unit vector along the point.
    """

    point: Tensor
    net: TwoLayer
    margin: float


def obstacle(problem: Problem) -> str | None:
    """Why a walk leaves the plane or its law is not known; None where neither happens.

    Args:
        problem: any walk.
    """
    net, inputs = problem.net, problem.inputs
    if net is None and problem.rows == "signs":
        return "rows that are not Gaussian do not look alike from every direction"
    if net is not None and net.b is not None:
        return "nets with biases are not homogeneous"
    if net is not None and not _as_in_the_paper(net):
        return "only ReLU nets with output weights +1 and -1, scaled by 1/sqrt m, are written"
    if inputs is not None and len(inputs) > 1:
        return "several inputs have several gradients, and the plane holds one"
    if inputs is not None and abs(float(inputs[0].norm()) - 1) > 1e-9:
        return "the input is not on the unit sphere"
    if problem.follows == "answer":
        return "the gradient of another net than the start points out of the plane"
    if problem.p != 2:
        return "only l2 steps go along the gradient itself"
    return None


def _as_in_the_paper(net: TwoLayer) -> bool:
    """Whether the output layer is that of lazy."""
    signs = bool((net.a.abs() == 1).all())
    return signs and net.c is None and isinstance(net.activation, Relu) and net.scale == 1 / math.sqrt(net.m)


def reduce(problem: Problem, *, despite_obstacle: bool = False) -> State:
    """The start in its plane: drawn by law, or seen of the given net.

    Args:
        problem: one without an obstacle.
        despite_obstacle: go on where there is one, to see by how much the diagram fails to commute.
    """
    if not despite_obstacle:
        require_exact(obstacle(problem), "in_law")
    return State(_coordinates(problem), problem.y, problem.weight_radius, problem.stride)


def _coordinates(problem: Problem) -> PlaneStart:
    if problem.net is not None:
        return plane_start_of(problem.net, problem.axes()[0])[0]
    return draw_plane_start(
        problem.d,
        problem.m,
        row_scale=problem.row_scale,
        generator=problem.generator(0),
        dtype=torch.float64,
    )


def step(state: State) -> State:
    """One step of the walk; the ball answers anew wherever the point is.

    Args:
        state: stays as it is.
    """
    return replace(state, walked=state.walked + state.stride)


def lift(state: State, problem: Problem) -> Lifted:
    """The point and the ball's answer in d dimensions: the start's rows across the plane are drawn here.

    Args:
        state: reached from `reduce(problem)` by steps.
        problem: it knows the axes.
    """
    x, g = problem.axes()
    point = x - state.y * state.walked * g
    start = start_matrix(problem)
    moved = state.y * state.weight_radius * torch.outer(start.a, point / torch.linalg.vector_norm(point))
    return Lifted(point, start.replace(W=start.W + moved), state.margin)


def start_matrix(problem: Problem) -> TwoLayer:
    r"""The start in d dimensions: the problem's own net, or rows with the drawn coordinates.

    Together with the coordinates the rows across the plane make rows N(0, I_d):

    .. math:: w_s = z_s x + h_s g + (\text{rest across both}).

    Args:
        problem: by law or not.
    """
    if problem.net is not None:
        return problem.net
    x, g = problem.axes()
    seen = _coordinates(problem)
    rest = rest_of_rows(seen, x, g, generator=problem.generator(3))
    W = torch.outer(seen.z, x) + torch.outer(seen.h, g) + problem.row_scale * rest
    return TwoLayer(W, seen.a, scale=1 / math.sqrt(seen.m))
