"""Models of low complexity for the ladder: linear, tangent-kernel and polynomial predictors, by autograd."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks import PGD
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.core.norms import dual_exponent
from karat.data import SparseCoding
from karat.nets import Linear, as_classifier
from karat.training.odd import FreshBatches

Parameters = dict[str, Tensor]
Function = Callable[[Parameters, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Model:
    """f(parameters, x) with a start: anything autograd can follow.

    Args:
        start: parameters before training.
        f: outputs (n,).
        rate: learning rate of Adam.
    """

    start: Parameters
    f: Function
    rate: float = 0.01

    def at(self, parameters: Parameters) -> Callable[[Tensor], Tensor]:
        """The predictor with its parameters fixed."""
        return lambda x: self.f(parameters, x)


def tangent_kernel(
    d: int, m: int, bias: float, sigma: float, sign: float, generator: torch.Generator
) -> Model:
    """p(x) = sum_i <x, v_i> E[1[<w_i, x> + rho >= b] + sign 1[-<w_i, x> + rho >= b]], w_i ~ N(0, I) fixed.

    Args:
        sign: +1 for the gradient's own features, -1 as printed, which makes p even and the error 1/2.

    Ref: purification, Def 5.5
    """
    W = torch.randn(m, d, generator=generator)

    def gate(u: Tensor) -> Tensor:
        return torch.special.erfc((bias - u) / (sigma * math.sqrt(2))) / 2

    def f(parameters: Parameters, x: Tensor) -> Tensor:
        u = x @ W.T
        return ((gate(u) + sign * gate(-u)) * (x @ parameters["V"].T)).sum(dim=1)

    return Model({"V": torch.zeros(m, d)}, f, rate=0.003)


def told_polynomial(model: SparseCoding, degree: int, generator: torch.Generator) -> Model:
    """Odd polynomial that knows dictionary and w*: sum_j w*_j v_j^r, sum_j w*_j v_j |v|^(r-1), and s^r.

    v = M^T x, s = <w*, v>. Only coefficients are trained; features are divided by their root mean square.
    """
    M, w_star = model.M.float(), model.w_star.float()
    powers = list(range(1, degree + 1, 2))

    def features(x: Tensor) -> Tensor:
        v = x @ M
        sums = [(w_star * v**r).sum(dim=1) for r in powers]
        mixed = [sums[0] * v.square().sum(dim=1) ** (r // 2) for r in powers[1:]]
        return torch.stack([*sums, *mixed, *(sums[0] ** r for r in powers[1:])], dim=1)

    sample = model.sample(4000, generator=generator, dtype=torch.float32)
    size = features(sample.x).square().mean(dim=0).sqrt()

    def f(parameters: Parameters, x: Tensor) -> Tensor:
        return features(x) @ (parameters["c"] / size)

    c = torch.zeros(len(size))
    c[0] = 1.0
    return Model({"c": c}, f, rate=0.03)


def free_polynomial(d: int, rank: int, degree: int, generator: torch.Generator) -> Model:
    """Odd polynomial told nothing: <v, x> + sum_i sum_{odd r} a_ir <u_i, x>^r with all of it trained."""
    powers = list(range(3, degree + 1, 2))

    def f(parameters: Parameters, x: Tensor) -> Tensor:
        u = x @ parameters["U"].T
        value = x @ parameters["v"]
        for index, r in enumerate(powers):
            value = value + u**r @ parameters["a"][index]
        return value

    U = torch.randn(rank, d, generator=generator)
    return Model({"v": torch.zeros(d), "U": U, "a": torch.zeros(len(powers), rank)}, f, rate=0.01)


class Adam:
    """Adam with its usual constants; torch's own imports a compiler, which costs seconds per process.

    Args:
        parameters: leaves that require gradients, changed in place.
        rate: learning rate.
    """

    def __init__(self, parameters: list[Tensor], rate: float) -> None:
        self.parameters, self.rate, self.count = parameters, rate, 0
        self.first = [torch.zeros_like(p) for p in parameters]
        self.second = [torch.zeros_like(p) for p in parameters]

    def step(self, loss: Tensor) -> None:
        """One update down the gradient of the loss."""
        gradients = torch.autograd.grad(loss, self.parameters)
        self.count += 1
        with torch.no_grad():
            for p, g, m, v in zip(self.parameters, gradients, self.first, self.second, strict=True):
                m.lerp_(g, 0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                size = (v / (1 - 0.999**self.count)).sqrt_().add_(1e-8)
                p.addcdiv_(m, size, value=-self.rate / (1 - 0.9**self.count))


def train(
    model: Model,
    batches: FreshBatches,
    ball: Ball,
    *,
    steps: int,
    inner: int,
    generator: torch.Generator,
) -> Callable[[Tensor], Tensor]:
    """Adversarial training with Adam: PGD inside, the radius growing over the first half."""
    parameters = {name: tensor.clone().requires_grad_() for name, tensor in model.start.items()}
    optimiser = Adam(list(parameters.values()), model.rate)
    method = PGD(steps=inner, step_ratio=1.0 if inner == 1 else 0.5, keep="last")
    for step in range(steps):
        x, y = batches(step)
        share = min(1.0, 2 * step / steps)
        if share > 0:
            frozen = {name: tensor.detach() for name, tensor in parameters.items()}
            now = ball.with_tau(share * float(ball.tau))
            x = x + method(as_classifier(model.at(frozen)), x, y, now, generator=generator)
        loss = torch.nn.functional.softplus(-y * model.f(parameters, x)).mean()
        if not bool(torch.isfinite(loss)):
            raise Diverged(step, "the loss of a ladder model is not finite")
        optimiser.step(loss)
    return model.at({name: tensor.detach() for name, tensor in parameters.items()})


def train_linear(d: int, batches: FreshBatches, ball: Ball, *, steps: int) -> Linear:
    """The linear classifier, trained on its exact worst case y <w, x> - tau |w|_q."""
    w = torch.zeros(d, requires_grad=True)
    optimiser = Adam([w], 0.02)
    dual = dual_exponent(ball.p)
    for step in range(steps):
        x, y = batches(step)
        share = min(1.0, 2 * step / steps)
        worst = y * (x @ w) - share * ball.tau * torch.linalg.vector_norm(w, ord=dual)
        loss = torch.nn.functional.softplus(-worst).mean()
        optimiser.step(loss)
    return Linear(w.detach())
