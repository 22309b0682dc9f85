"""The row of `wide`: adversarial training of one hidden layer, and nets that need all of W1."""

from dataclasses import replace
from typing import Any

import torch
from reduction_row import Row

from karat.core import Softplus
from karat.core.losses import Logistic
from karat.nets.deep import Deep
from karat.nets.init import deep_gaussian
from karat.reductions import wide
from karat.reductions.wide import Problem
from karat.training import frobenius_ball
from karat.training.surrogate import Sets, SurrogateDescent, hashed, identity, one_step, worst


def problem(
    d: int = 5, *, m: int = 40, depth: int = 1, pick: Any = None, radius: float | None = 1.0, **changes: Any
) -> Problem:
    """Four samples of the sphere with three allowed points each, and a Gaussian net."""
    generator = torch.Generator().manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(4, 3, d, generator=generator, dtype=torch.float64), dim=2)
    y = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    net = deep_gaussian(d, m, depth, generator=generator, activation=changes.pop("activation", None))
    ball = None if radius is None else frobenius_ball(net, radius, ("W1",))
    rule = {"lr": 0.5, "trainable": ("W1",), "loss": Logistic(), "projection": ball}
    descent = SurrogateDescent(**{**rule, **changes})
    return Problem(descent, net, Sets(x, y), pick or (lambda sets: worst(Logistic())))


class Doubled(Deep):
    """A subclass of Deep that is another function."""

    def hidden(self, x: torch.Tensor) -> Any:
        preactivations, states = super().hidden(x)
        return preactivations, [*states[:-1], 2 * states[-1]]


def rows_on_the_sphere(net: Deep) -> Deep:
    """A projection of every row of W1 to length 1, not to the neighbourhood of its start."""
    return net.replace(W1=torch.nn.functional.normalize(net.layers[0]))


def another_centre() -> Problem:
    start = problem()
    zero = start.net.replace(W1=torch.zeros_like(start.net.layers[0]))
    return replace(start, descent=replace(start.descent, projection=frobenius_ball(zero, 1.0, ("W1",))))


def doubled() -> Problem:
    start = problem()
    return replace(start, net=Doubled(start.net.A, start.net.layers, start.net.a))


def follow(start: Problem, steps: int) -> Deep:
    """The plain descent on all of W1."""
    if steps == 0:
        return start.net
    return start.descent.run(start.net, start.sets, start.pick(start.sets), steps=steps)[0]


def distance(have: Deep, want: Deep) -> float:
    pairs = zip(have.parameters().values(), want.parameters().values(), strict=True)
    return max(float((a - b).norm() / b.norm()) for a, b in pairs)


WIDE = Row(
    name="wide",
    reduction=wide,
    exact={
        "worst points in a ball": problem(),
        "a ball that is left at once": problem(radius=0.05),
        "no ball": problem(radius=None),
        "no attack": problem(pick=lambda sets: identity),
        "one step of an attack": problem(pick=one_step),
        "a discontinuous attack": problem(pick=lambda sets: hashed),
        "a smooth activation": problem(activation=Softplus()),
        "more dimensions than points": problem(30),
        "more dimensions than neurons": problem(9, m=6),
    },
    broken={
        "two hidden layers": problem(depth=2),
        "a trained input matrix": problem(trainable=("A", "W1")),
        "trained output weights": problem(trainable=("W1", "a")),
        "rows on the sphere": problem(projection=rows_on_the_sphere),
        "a ball elsewhere": another_centre(),
        "subclass of the net": doubled(),
    },
    sentences=(wide.obstacle,),
    follow=follow,
    distance=distance,
    in_dimension=problem,
)
