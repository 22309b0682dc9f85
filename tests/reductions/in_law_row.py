"""The row of `in_law`: a point walks away from an input, and the ball around a Gaussian start answers."""

import math
from typing import Any

import torch
from reduction_row import Row

from karat.nets import init
from karat.reductions import in_law
from karat.reductions.in_law import Lifted, Problem
from karat.reductions.in_law.diagram import obstacle, start_matrix

D, M = 24, 60


def problem(d: int = D, **changes: Any) -> Problem:
    """A ball whose rows move by a tenth."""
    return Problem(**{"d": d, "m": M, "weight_radius": 0.1, "stride": 0.15, "seed": 3, **changes})


def sphere(n: int) -> torch.Tensor:
    x = torch.randn(n, D, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    return x / x.norm(dim=1, keepdim=True)


def net(**changes: Any) -> Any:
    return init.gaussian(D, M, generator=torch.Generator().manual_seed(9)).replace(**changes)


def matrix(start: Problem) -> Any:
    """The start as a matrix; rows of signs have no other form."""
    if start.rows == "signs":
        W = torch.randint(2, (start.m, start.d), generator=start.generator(3)).double() * 2 - 1
        return net(W=W)
    return start_matrix(start)


def follow(start: Problem, steps: int) -> Lifted:
    """The walk with matrices: gradients by autograd, answers neuron by neuron."""
    W0 = matrix(start)
    inputs = start.axes()[0].unsqueeze(0) if start.inputs is None else start.inputs
    x = inputs[0]
    point, answer = x, reply(W0, x, start)
    for _ in range(steps):
        if start.follows == "answer":
            direction = across(answer, point.unsqueeze(0))
        else:
            direction = across(W0, inputs)
        if start.p == math.inf:
            direction = direction.sign() / math.sqrt(start.d)
        point = point - start.y * start.stride * direction
        answer = reply(W0, point, start)
    unit = point / point.norm()
    return Lifted(point, answer, float(start.y * answer(unit.unsqueeze(0))))


def across(at: Any, inputs: torch.Tensor) -> torch.Tensor:
    """Unit gradient of the mean output, across the first input."""
    points = inputs.clone().requires_grad_(True)
    (gradient,) = torch.autograd.grad(at(points).mean(), points)
    unit = inputs[0] / inputs[0].norm()
    direction = gradient.sum(dim=0)
    direction = direction - (direction @ unit) * unit
    return direction / direction.norm()


def reply(W0: Any, point: torch.Tensor, start: Problem) -> Any:
    """Each row takes whichever end of its interval raises the margin."""
    unit = point / point.norm()
    rows = W0.W + start.weight_radius * start.y * torch.outer(W0.a.sign(), unit)
    return W0.replace(W=rows)


def distance(have: Lifted, want: Lifted) -> float:
    numbers = [
        (have.point, want.point),
        (have.net.W, want.net.W),
        (torch.tensor(have.margin), torch.tensor(want.margin)),
    ]
    return max(float((a - b).norm() / b.norm()) for a, b in numbers)


IN_LAW = Row(
    name="in_law",
    reduction=in_law,
    exact={
        "by law": problem(),
        "the other label": problem(y=-1),
        "rows of length 1": problem(rows="unit"),
        "no ball": problem(weight_radius=0.0),
        "a ball beyond the kinks": problem(weight_radius=2.0),
        "an input of one's own": problem(inputs=sphere(1)),
        "a net of one's own": problem(net=net()),
        "a net and an input": problem(net=net(), inputs=sphere(1), y=-1),
        "more dimensions": problem(200),
    },
    broken={
        "rows of signs": problem(rows="signs"),
        "biases": problem(net=net(b=torch.linspace(-1, 1, M, dtype=torch.float64))),
        "other output weights": problem(net=net(a=2 * net().a)),
        "two inputs": problem(net=net(), inputs=sphere(2)),
        "an input of length 2": problem(net=net(), inputs=2 * sphere(1)),
        "the net's own gradient": problem(follows="answer"),
        "l_inf": problem(p=math.inf),
    },
    sentences=(obstacle,),
    follow=follow,
    distance=distance,
    in_dimension=problem,
    rtol=1e-9,
)
