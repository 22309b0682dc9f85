"""What a reduction is: a commuting diagram between a problem in d dimensions and few coordinates."""

from typing import Protocol, TypeVar

Problem = TypeVar("Problem", contravariant=True)
State = TypeVar("State")
Full = TypeVar("Full", covariant=True)


class Reduction(Protocol[Problem, State, Full]):
    r"""Four functions such that stepping in few coordinates is stepping in d dimensions.

    .. code-block:: text

        problem --- full step ---> full object
           |                            ^
         reduce                        lift
           v                            |
         state  ------ step ------->  state

    For every problem without an obstacle, after any number of steps and up to rounding,

    .. math:: \mathrm{lift}(\mathrm{step}(\mathrm{reduce}(\text{problem})), \text{problem})
        = \mathrm{full\_step}(\text{problem})

    Where a reduction averages over a group or a law, the full step is averaged the same way. States are
    values whose size does not depend on d: what needs d dimensions stays in the problem, and `lift` asks for
    it. A module with these four functions is a reduction.
    """

    def obstacle(self, problem: Problem) -> str | None:
        """The sentence why the diagram does not commute for this problem; None where it does."""
        ...

    def reduce(self, problem: Problem, *, despite_obstacle: bool = False) -> State:
        """The problem in few coordinates; ValueError with the obstacle where there is one, unless told."""
        ...

    def step(self, state: State) -> State:
        """The next state; the one given is not changed."""
        ...

    def lift(self, state: State, problem: Problem) -> Full:
        """The object in d dimensions that a state of this problem stands for."""
        ...


def require_exact(obstacle: str | None, owner: str) -> None:
    """Refuse a problem with an obstacle.

    Args:
        obstacle: the sentence, or None.
        owner: name of the reduction.

    >>> require_exact("clipping to a box leaves the span", "span")
    Traceback (most recent call last):
    ...
    ValueError: the reduction `span` is not exact here: clipping to a box leaves the span.
    """
    if obstacle is not None:
        raise ValueError(f"the reduction `{owner}` is not exact here: {obstacle}.")
