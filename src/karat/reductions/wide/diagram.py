r"""The wide reduction as a commuting diagram: :math:`W_1` seen through the span of its inputs.

.. math:: f(x) = \langle a, \phi(W_1 A x) \rangle, \qquad A x = Q u, \quad Q^\top Q = I_r, \qquad
    f(x) = \langle a, \phi(V u) \rangle, \quad V = W_1 Q
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from karat.nets.deep import Deep
from karat.nets.two_layer import TwoLayer
from karat.reductions.contract import require_exact
from karat.training.projections import FrobeniusBall
from karat.training.surrogate import Pick, Sets, SurrogateDescent


@dataclass(frozen=True, eq=False)
class Problem:
    """Training of the one hidden layer of a net with a fixed input matrix.

    Args:
        descent: the rule of one update; only W1 moves, perhaps in a Frobenius ball around its start.
        net: before the first update.
        sets: the allowed points of every sample, in d dimensions.
        pick: allowed points -> perturbation function; it is asked for one that knows them in coordinates.
    """

    descent: SurrogateDescent
    net: Deep
    sets: Sets
    pick: Callable[[Sets], Pick]

    @cached_property
    def frame(self) -> tuple[Tensor, Tensor]:
        r"""Q (m, r), orthonormal columns that span all :math:`A x`, and the points (n, K, r) in them."""
        n, K, d = self.sets.x.shape
        if n * K < d:  # the points themselves span less than the columns of A
            Q, triangle = torch.linalg.qr(self.net.A @ self.sets.x.reshape(n * K, d).T)
            return Q, triangle.T.reshape(n, K, -1)
        Q, triangle = torch.linalg.qr(self.net.A)
        return Q, self.sets.x @ triangle.T


@dataclass(frozen=True, eq=False)
class State:
    r"""Training after some updates: a two-layer net on r coordinates, whose rows are those of :math:`W_1 Q`.

    Args:
        net: the reduced net, W (m, r).
        descent: the same rule for it.
        sets: the allowed points in coordinates.
        pick: the perturbation function.
        updates: so far.
        loss: at the picked points before the last update; None before the first.
    """

    net: TwoLayer
    descent: SurrogateDescent
    sets: Sets
    pick: Pick
    updates: int = 0
    loss: float | None = None


def obstacle(problem: Problem) -> str | None:
    """Why an update sees more of W1 than the span of its inputs, or is not written for it; None if neither.

    Args:
        problem: any training of a deep net.
    """
    net, projection = problem.net, problem.descent.projection
    if type(net) is not Deep:
        return "a subclass of `Deep` may be another function"
    if len(net.layers) > 1:
        return "the inputs of a second hidden layer span all directions"
    if tuple(problem.descent.trainable) != ("W1",):
        return "a trained A turns the span of the inputs, and a trained a is not written"
    if projection is None:
        return None
    if type(projection) is not FrobeniusBall or set(projection.centres) != {"W1"}:
        return "only a Frobenius ball of W1 is written"
    if not torch.equal(projection.centres["W1"], net.layers[0]):
        return "a ball around other weights than the first ones moves W1 outside the span, too"
    return None


def reduce(problem: Problem, *, despite_obstacle: bool = False) -> State:
    """The problem in coordinates of the span of all inputs of W1.

    Args:
        problem: one without an obstacle.
        despite_obstacle: go on where there is one, to see by how much the diagram fails to commute: what the
            span cannot express is then left out.
    """
    if not despite_obstacle:
        require_exact(obstacle(problem), "wide")
    Q, points = problem.frame
    net = TwoLayer(problem.net.layers[0] @ Q, problem.net.a, activation=problem.net.activation)
    ball = problem.descent.projection
    radius = ball.weight_radius if isinstance(ball, FrobeniusBall) else None
    return start_at(net, Sets(points, problem.sets.y), problem.descent, radius, problem.pick)


def start_at(
    net: TwoLayer,
    sets: Sets,
    descent: SurrogateDescent,
    weight_radius: float | None,
    pick: Callable[[Sets], Pick],
) -> State:
    r"""The state before the first update of a reduced net.

    Args:
        net: with the rows of :math:`W_1 Q`.
        sets: the allowed points in coordinates.
        descent: its step size and loss count.
        weight_radius: of the Frobenius ball around the start, None for no projection.
        pick: allowed points -> perturbation function.

    Reading: every update is :math:`W_1 \leftarrow W_1 + G Q^\top`, of Frobenius norm :math:`\|G\|_F`, so that
        the ball around :math:`W_1` is the ball around :math:`W_1 Q`.
    """
    ball = None if weight_radius is None else FrobeniusBall({"W": net.W}, weight_radius)
    return State(net, replace(descent, trainable=("W",), projection=ball), sets, pick(sets))


def step(state: State) -> State:
    """One update.

    Args:
        state: stays as it is.

    Raises:
        Diverged: when the margins are no longer finite.
    """

    def pick(net: TwoLayer, margins: Tensor, _: int) -> Tensor:
        return state.pick(net, margins, state.updates)

    net, losses = state.descent.run(state.net, state.sets, pick, steps=1)
    return replace(state, net=net, updates=state.updates + 1, loss=losses[0])


def lift(state: State, problem: Problem) -> Deep:
    r"""The net with all of :math:`W_1 = W_1^{(0)} + (V - V_0) Q^\top`.

    Args:
        state: reached from `reduce(problem)` by steps.
        problem: it knows the span and the start.
    """
    Q, _ = problem.frame
    first = problem.net.layers[0]
    return problem.net.replace(W1=first + (state.net.W - first @ Q) @ Q.T)
