"""The steps of the diagram are those of the engine that the experiments run."""

import pytest
import torch
from span_row import SPAN

from karat.reductions.span import lift, reduce, span_of, step, train_exact


@pytest.mark.slow
def test_stepping_is_training_to_the_last_bit() -> None:
    for problem in SPAN.exact.values():
        state, losses = reduce(problem), []
        for _ in range(5):
            state = step(state)
            losses.append(state.loss)
        space = span_of(problem.net, problem.x)
        run = train_exact(problem.trainer, space.net, space.x, problem.y, steps=5)
        assert losses == list(run.losses)
        for have, want in zip(
            lift(state, problem).parameters().values(), space.lift(run.net).parameters().values(), strict=True
        ):
            assert torch.equal(have, want)


def test_a_problem_in_many_dimensions_is_lifted_to_all_of_them() -> None:
    problem = SPAN.in_dimension(5000)
    state = reduce(problem)
    assert state.loss is None
    assert state.engine.state().net.d == 20
    assert lift(step(state), problem).d == 5000
