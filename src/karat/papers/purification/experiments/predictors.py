"""Predictors of low complexity: linear, tangent-kernel and polynomial ones, trained by autograd."""

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
from karat.training.optimisers import Adam

Parameters = dict[str, Tensor]
Function = Callable[[Parameters, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Predictor:
    """f(parameters, x) with a start: anything autograd can follow.

    Args:
        start: parameters before training.
        f: parameters, inputs (n, d) -> outputs (n,).
        rate: learning rate of Adam.
    """

    start: Parameters
    f: Function
    rate: float = 0.01

    def at(self, parameters: Parameters) -> Callable[[Tensor], Tensor]:
        """The predictor with its parameters fixed."""
        return lambda x: self.f(parameters, x)


def tangent_kernel(
    d: int,
    m: int,
    bias: float,
    sigma: float,
    sign: float,
    generator: torch.Generator,
    *,
    start_scale: float = 0.0,
    gates: Tensor | None = None,
) -> Predictor:
    r"""The tangent kernel of the odd net, with fixed random gates and trained directions.

    .. math:: p(x) = \sum_{i \le m} \langle x, v_i \rangle \,
        E_\rho\big[1[\langle w_i, x \rangle + \rho \ge b] + s \, 1[-\langle w_i, x \rangle + \rho \ge b]\big],
        \qquad w_i \sim N(0, I)

    Args:
        d: input dimension.
        m: pairs of neurons.
        bias: the threshold b.
        sigma: standard deviation of rho.
        sign: s, +1 for the gradient's own features, -1 as printed, which makes p even and the error 1/2.
        generator: of the gates.
        start_scale: standard deviation of the first directions; p is linear in them, so that the worst-case
            loss is convex and all starts must end alike.
        gates: (m, d) rows :math:`w_i`, drawn by default.

    Ref: purification, Def 5.5
    """
    W = torch.randn(m, d, generator=generator) if gates is None else gates

    def gate(u: Tensor) -> Tensor:
        return torch.special.erfc((bias - u) / (sigma * math.sqrt(2))) / 2

    def f(parameters: Parameters, x: Tensor) -> Tensor:
        u = x @ W.T
        return ((gate(u) + sign * gate(-u)) * (x @ parameters["V"].T)).sum(dim=1)

    V = start_scale * torch.randn(m, d, generator=generator) if start_scale else torch.zeros(m, d)
    return Predictor({"V": V}, f, rate=0.003)


def informed_polynomial(model: SparseCoding, degree: int, generator: torch.Generator) -> Predictor:
    r"""An odd polynomial that knows dictionary and label vector.

    With :math:`v = M^\top x` and :math:`s = \langle w^*, v \rangle` its features are

    .. math:: \sum_j w^*_j v_j^r, \qquad s \, \|v\|^{r - 1}, \qquad s^r, \qquad r = 1, 3, \dots

    Only coefficients are trained; features are divided by their root mean square.

    Args:
        model: gives dictionary and label vector.
        degree: largest r, odd.
        generator: of the sample that gives the root mean squares.
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
    return Predictor({"c": c}, f, rate=0.03)


def free_polynomial(d: int, rank: int, degree: int, generator: torch.Generator) -> Predictor:
    r"""An odd polynomial that is told nothing, with all of it trained.

    .. math:: f(x) = \langle v, x \rangle + \sum_{i \le \mathtt{rank}} \sum_{r = 3, 5, \dots}
        a_{ir} \langle u_i, x \rangle^r

    Args:
        d: input dimension.
        rank: number of directions u_i.
        degree: largest r, odd.
        generator: of the first directions.
    """
    powers = list(range(3, degree + 1, 2))

    def f(parameters: Parameters, x: Tensor) -> Tensor:
        u = x @ parameters["U"].T
        value = x @ parameters["v"]
        for index, r in enumerate(powers):
            value = value + u**r @ parameters["a"][index]
        return value

    U = torch.randn(rank, d, generator=generator)
    return Predictor({"v": torch.zeros(d), "U": U, "a": torch.zeros(len(powers), rank)}, f, rate=0.01)


def train(
    predictor: Predictor,
    batches: FreshBatches,
    ball: Ball,
    *,
    steps: int,
    inner: int,
    generator: torch.Generator,
) -> Callable[[Tensor], Tensor]:
    """Adversarial training with Adam: PGD inside, the radius grows over the first half, then the rate falls.

    Args:
        predictor: with its start.
        batches: step -> points.
        ball: of the perturbations at the end.
        steps: of Adam.
        inner: of PGD.
        generator: of the attacks.
    """
    parameters = {name: tensor.clone().requires_grad_() for name, tensor in predictor.start.items()}
    optimiser = Adam(parameters)
    method = PGD(steps=inner, step_ratio=1.0 if inner == 1 else 0.5, keep="last")
    for step in range(steps):
        x, y = batches(step)
        share = min(1.0, 2 * step / steps)
        if share > 0:
            frozen = {name: tensor.detach() for name, tensor in parameters.items()}
            now = ball.with_tau(share * float(ball.tau))
            x = x + method(as_classifier(predictor.at(frozen)), x, y, now, generator=generator)
        loss = torch.nn.functional.softplus(-y * predictor.f(parameters, x)).mean()
        if not bool(torch.isfinite(loss)):
            raise Diverged(step, "the loss of a predictor is not finite")
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        # Once the radius stands, the rate falls to zero: what is convex then ends at its optimum.
        rate = predictor.rate * min(1.0, 2 * (1 - step / steps))
        optimiser.step(dict(zip(parameters, gradients, strict=True)), rate)
    return predictor.at({name: tensor.detach() for name, tensor in parameters.items()})


def train_linear(d: int, batches: FreshBatches, ball: Ball, *, steps: int) -> Linear:
    r"""The linear classifier, trained on its exact worst case.

    .. math:: y \langle w, x \rangle - \tau \|w\|_q, \qquad \tfrac1p + \tfrac1q = 1

    Args:
        d: input dimension.
        batches: step -> points.
        ball: of the perturbations at the end; the radius grows over the first half.
        steps: of Adam.
    """
    w = torch.zeros(d, requires_grad=True)
    optimiser = Adam({"w": w})
    dual = dual_exponent(ball.p)
    for step in range(steps):
        x, y = batches(step)
        share = min(1.0, 2 * step / steps)
        worst = y * (x @ w) - share * ball.tau * torch.linalg.vector_norm(w, ord=dual)
        loss = torch.nn.functional.softplus(-worst).mean()
        optimiser.step({"w": torch.autograd.grad(loss, w)[0]}, 0.02)
    return Linear(w.detach())
