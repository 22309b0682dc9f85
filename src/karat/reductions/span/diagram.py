"""The span reduction as a commuting diagram: a problem, its state in few coordinates, the way back."""

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from karat.nets.two_layer import TwoLayer
from karat.reductions.contract import require_exact
from karat.reductions.span.engine import ExactEngine, exactness_obstacle
from karat.reductions.span.subspace import Subspace, span_of
from karat.training.trainer import Trainer


@dataclass(frozen=True, eq=False)
class Problem:
    """Training of a two-layer net in d dimensions.

    Args:
        trainer: the rule of one update.
        net: the net before the first update.
        x: (n, d) samples.
        y: (n,) labels +-1.
    """

    trainer: Trainer
    net: TwoLayer
    x: Tensor
    y: Tensor

    @cached_property
    def space(self) -> Subspace:
        """The span of the first weights and the samples."""
        return span_of(self.net, self.x)


@dataclass(frozen=True, eq=False)
class State:
    """Training after some updates, in r <= m + n coordinates of the span: no array grows with d.

    Args:
        engine: the inner products and the weights in coordinates; not to be advanced, `step` makes the next.
        loss: mean or sum of the losses at the attacked points before the last update; None before the first.
    """

    engine: ExactEngine
    loss: float | None = None


def obstacle(problem: Problem) -> str | None:
    """Why training leaves the span or cannot be written in inner products; None if the reduction is exact.

    Args:
        problem: any training of a net.
    """
    return exactness_obstacle(problem.trainer, problem.net)


def reduce(problem: Problem, *, despite_obstacle: bool = False) -> State:
    """The problem in coordinates of the span.

    Args:
        problem: one without an obstacle.
        despite_obstacle: go on where there is one, to see by how much the diagram fails to commute: what
            inner products cannot express is then left out.
    """
    if not despite_obstacle:
        require_exact(obstacle(problem), "span")
    space = problem.space
    engine = ExactEngine(problem.trainer, space.net, space.x, problem.y, despite_obstacle=despite_obstacle)
    return State(engine)


def step(state: State) -> State:
    """One update of the trainer. `train_exact` takes the same steps in place.

    Args:
        state: stays as it is.

    Raises:
        Diverged: when the margins are no longer finite.
    """
    engine = state.engine.copy()
    return State(engine, engine.advance())


def lift(state: State, problem: Problem) -> TwoLayer:
    """The trained net in d dimensions.

    Args:
        state: reached from `reduce(problem)` by steps.
        problem: it knows the directions that the coordinates stand for.
    """
    return problem.space.lift(state.engine.state().net)
