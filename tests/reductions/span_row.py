"""The row of `span`: problems of l2 adversarial training, and those that leave the span."""

import math
from dataclasses import replace
from typing import Any

import torch
from reduction_row import Row

from karat.attacks.inner_products.attack import attack_obstacle
from karat.attacks.pgd import PGD
from karat.attacks.routes import span_obstacle
from karat.attacks.steepest import Steepest
from karat.core import Ball, LeakyRelu, Region, Softplus
from karat.core.cap import Cap
from karat.nets.init import pytorch_default, symmetric
from karat.nets.two_layer import TwoLayer
from karat.reductions import span
from karat.reductions.span import Problem, exactness_obstacle, gaussian_rows
from karat.training import Adversary, Constant, CubicNorms, SquaredNorms, Trainer, TwoInfBall

METHOD = PGD(steps=10, step_ratio=0.2, keep="last")
BALL = Ball(2, 0.5)


def problem(d: int = 60, *, method: Any = METHOD, ball: Region = BALL, **changes: Any) -> Problem:
    """Two noisy clusters, and a net of 12 neurons that learns them against an attack."""
    generator = torch.Generator().manual_seed(0)
    activation = changes.pop("activation", None)
    net = changes.pop("net", None) or pytorch_default(
        d, 12, generator=generator, **({} if activation is None else {"activation": activation})
    )
    y = torch.randint(2, (8,), generator=generator).double() * 2 - 1
    x = torch.randn(8, d, generator=generator, dtype=torch.float64)
    x[:, 0] += 2 * y
    rule = {"lr": Constant(0.2), "trainable": ("W", "a", "b"), "adversary": Adversary(method, ball)}
    return Problem(Trainer(**{**rule, **changes}), net, x, y)


def in_gaussian_coordinates() -> Problem:
    """Weights and data of dimension 10^6, drawn where they span: problem and coordinates are one."""
    rows = gaussian_rows(20, 10**6, generator=torch.Generator().manual_seed(0))
    start = problem(rows.shape[1], trainable=("W",))
    return replace(start, net=start.net.replace(W=rows[:12] / 1e3), x=rows[12:] / 1e2)


def on_the_sphere() -> Problem:
    start = problem(ball=Cap(0.3))
    return replace(start, x=start.x / start.x.norm(dim=1, keepdim=True))


class Halved(PGD):
    """A subclass of PGD that takes other steps."""

    def __call__(self, classifier: Any, x: Any, y: Any, ball: Any, *, generator: Any = None) -> Any:
        return super().__call__(classifier, x, y, ball, generator=generator) / 2


class Squeezed(TwoLayer):
    """A subclass of TwoLayer that is another function."""

    def preactivations(self, x: torch.Tensor) -> torch.Tensor:
        return super().preactivations(x) / 2


def squeezed() -> TwoLayer:
    net = pytorch_default(60, 12, generator=torch.Generator().manual_seed(0))
    return Squeezed(net.W, net.a, net.b)


def small_symmetric() -> TwoLayer:
    return symmetric(60, 12, 0.05, generator=torch.Generator().manual_seed(0))


def follow(start: Problem, steps: int) -> TwoLayer:
    """The plain trainer in d dimensions."""
    generator = torch.Generator().manual_seed(1)
    return start.trainer.run(start.net, start.x, start.y, steps=steps, generator=generator).net


def distance(have: TwoLayer, want: TwoLayer) -> float:
    pairs = zip(have.parameters().values(), want.parameters().values(), strict=True)
    return max(float((a - b).norm() / b.norm().clamp_min(1e-300)) for a, b in pairs)


SPAN = Row(
    name="span",
    reduction=span,
    exact={
        "relu": problem(),
        "leaky relu, momentum and decay": problem(
            activation=LeakyRelu(0.2),
            momentum=0.8,
            regulariser=SquaredNorms({"W": 0.1, "a": 0.02}),
        ),
        "a smooth activation": problem(activation=Softplus()),
        # At the start f = 0 and its gradient is rounding, which has no direction.
        "a symmetric start": problem(
            net=small_symmetric(), trainable=("W",), adversary=Adversary(METHOD, BALL, first_step=1)
        ),
        "the best point of the attack": problem(method=PGD(steps=7, step_ratio=1.3)),
        "points left once broken": problem(method=PGD(until_broken=True), ball=Ball(2, 1.5)),
        "a radius for every sample": problem(ball=Ball(2, torch.linspace(0, 1, 8, dtype=torch.float64))),
        "no attack": problem(adversary=None),
        "fewer dimensions than weights and data": problem(9),
        "Gaussian rows": in_gaussian_coordinates(),
    },
    broken={
        "l_inf attack": problem(ball=Ball(math.inf, 0.1)),
        "l_1 attack": problem(ball=Ball(1, 0.5)),
        "box": problem(ball=Ball(2, 0.5, box=(float(problem().x.min()), float(problem().x.max())))),
        "sphere": on_the_sphere(),
        "random start": problem(method=replace(METHOD, random_start=True)),
        "restarts": problem(method=replace(METHOD, restarts=2, step_ratio=1.3)),
        "another start": problem(method=replace(METHOD, start=Steepest())),
        "sign of the gradient": problem(method=replace(METHOD, gradient="sign")),
        "raw gradient": problem(method=replace(METHOD, gradient="raw")),
        "subclass of the attack": problem(method=Halved(keep="last")),
        "batches": problem(batch_size=4),
        "projection": problem(projection=TwoInfBall(problem().net.W, 1e-3)),
        "regulariser": problem(regulariser=CubicNorms(0.1)),
        "subclass of the net": problem(net=squeezed()),
    },
    sentences=(exactness_obstacle, attack_obstacle, span_obstacle),
    follow=follow,
    distance=distance,
    in_dimension=problem,
)
