"""The contract of every reduction: the diagram commutes where there is no obstacle, and only there."""

import ast
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from reduction_row import Row
from reduction_rows import ROWS

from karat import reductions

STEPS = 6
# A difference this many times larger than rounding is one.
FAR = 1e4

every_reduction = pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])


def problems(kind: str) -> pytest.MarkDecorator:
    """Every row with each of its problems of one kind."""
    cases = [
        pytest.param(row, problem, id=f"{row.name}: {name}")
        for row in ROWS
        for name, problem in getattr(row, kind).items()
    ]
    return pytest.mark.parametrize(("row", "problem"), cases)


def test_every_reduction_has_its_row() -> None:
    packages = {module.name for module in pkgutil.iter_modules(reductions.__path__) if module.ispkg}
    assert packages == {row.name for row in ROWS}


@pytest.mark.slow
@problems("exact")
def test_the_diagram_commutes(row: Row, problem: Any) -> None:
    assert row.reduction.obstacle(problem) is None
    state = row.reduction.reduce(problem)
    for steps in range(STEPS + 1):
        lifted = row.reduction.lift(state, problem)
        assert row.distance(lifted, row.follow(problem, steps)) <= row.rtol, steps
        state = row.reduction.step(state)


@problems("exact")
def test_the_steps_lead_somewhere(row: Row, problem: Any) -> None:
    """A diagram in which nothing moves commutes for no reason."""
    assert row.distance(row.follow(problem, STEPS), row.follow(problem, 0)) > FAR * row.rtol


@pytest.mark.slow
@problems("broken")
def test_where_there_is_an_obstacle_the_diagram_does_not_commute(row: Row, problem: Any) -> None:
    assert row.reduction.obstacle(problem) is not None
    state = row.reduction.reduce(problem, despite_obstacle=True)
    for _ in range(STEPS):
        state = row.reduction.step(state)
    lifted = row.reduction.lift(state, problem)
    assert not row.distance(lifted, row.follow(problem, STEPS)) <= FAR * row.rtol


@problems("broken")
def test_an_obstacle_is_refused_with_its_sentence(row: Row, problem: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{row.reduction.obstacle(problem)}.") + "$"):
        row.reduction.reduce(problem)


def sentences(function: Callable[..., str | None]) -> Iterator[str]:
    """Patterns of the texts that a function returns; what is filled in may be anything."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        match node:
            case ast.Return(value=ast.Constant(value=str(text))):
                yield re.escape(text)
            case ast.Return(value=ast.JoinedStr(values=parts)):
                yield "".join(
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in parts
                )


@every_reduction
def test_every_obstacle_has_its_witness(row: Row) -> None:
    raised = [row.reduction.obstacle(problem) for problem in row.broken.values()]
    patterns = [pattern for function in row.sentences for pattern in sentences(function)]
    assert patterns
    unseen = [p for p in patterns if not any(text and re.fullmatch(p, text) for text in raised)]
    assert unseen == []


@problems("exact")
def test_states_are_values(row: Row, problem: Any) -> None:
    state = row.reduction.step(row.reduction.reduce(problem))
    before = row.reduction.lift(state, problem)
    first, second = (row.reduction.lift(row.reduction.step(state), problem) for _ in range(2))
    assert row.distance(first, second) == 0
    assert row.distance(row.reduction.lift(state, problem), before) == 0


def arrays(part: Any, seen: set[int]) -> Iterator[int]:
    """Bytes of every array that hangs on an object, whole buffers where it holds views."""
    if id(part) in seen:
        return
    seen.add(id(part))
    if isinstance(part, torch.Tensor):
        storage = part.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            yield storage.nbytes()
    elif hasattr(part, "nbytes"):
        yield int(part.nbytes)
    elif isinstance(part, dict):
        for value in part.values():
            yield from arrays(value, seen)
    elif isinstance(part, list | tuple | set):
        for value in part:
            yield from arrays(value, seen)
    elif hasattr(part, "__dict__") and not isinstance(part, type) and not inspect.isroutine(part):
        yield from arrays(vars(part), seen)


@every_reduction
def test_the_state_does_not_grow_with_the_dimension(row: Row) -> None:
    sizes = []
    for d in (300, 3000, 30_000):
        state = row.reduction.reduce(row.in_dimension(d))
        sizes.append([sum(arrays(state, set())), sum(arrays(row.reduction.step(state), set()))])
    assert sizes[0][0] > 0
    assert sizes[0] == sizes[1] == sizes[2]
