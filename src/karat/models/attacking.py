"""Attack any model: a karat net, a torch.nn.Module or a callable."""

from typing import Any

import torch
from torch import Tensor

from karat.attacks import METHODS, PGD, AttackResult, Method, judge, run_attack
from karat.attacks.hinges import WORTH
from karat.core.ball import Ball
from karat.core.checks import require_choice
from karat.nets.module import as_classifier
from karat.nets.two_layer import TwoLayer


def attack(
    model: Any,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    method: str | Method = "strongest",
    *,
    generator: torch.Generator | None = None,
    **knobs: Any,
) -> AttackResult:
    """Search the ball for perturbations that make the model err.

    Args:
        model: a karat net, a torch.nn.Module (put it in eval mode yourself) or any callable on tensors;
        x: (n, ...) inputs; y: (n,) labels, +-1 for a scalar output, class indices for logits;
        ball: allowed perturbations; method: an attack or its name; knobs: settings of the named attack;
        generator: needed by attacks that draw random numbers; seeded with 0 when left out.

    On a two-layer ReLU net PGD is several times faster than by gradients, with the same result: from zero in
    an l2 ball on inner products, in an l_inf ball by changes of sign.

    Returns:
        delta, margin of x + delta (y f, or logit margin) and success (margin <= 0), from the judge.

    >>> import karat
    >>> net = karat.nets.Linear(torch.tensor([3.0, 4.0]))
    >>> x, y = torch.tensor([[1.0, 0.0]]), torch.tensor([1.0])
    >>> karat.attack(net, x, y, karat.Ball(p=2, tau=0.3)).margin
    tensor([1.5000])
    """
    if isinstance(method, str):
        method = METHODS[require_choice(method, "method", "attack", list(METHODS))](**knobs)
    elif knobs:
        raise TypeError(f"an attack object takes no further settings, got {', '.join(knobs)}.")
    if generator is None:
        generator = torch.Generator(device=x.device).manual_seed(0)
    delta = _by_inner_products(model, x, y, ball, method)
    if delta is not None:
        return judge(as_classifier(model), x, y, delta, ball, name="PGD")
    return run_attack(method, as_classifier(model), x, y, ball, generator=generator)


def _by_inner_products(model: Any, x: Tensor, y: Tensor, ball: Ball, method: Method) -> Tensor | None:
    """Perturbations of an attack that stays in the span of the weights; None if it does not or is small."""
    if not isinstance(method, PGD) or not isinstance(model, TwoLayer) or x.device.type != "cpu":
        return None
    if x.numel() * model.m * method.steps < WORTH:
        return None
    from karat.training.reduction import attack_obstacle, attacked_perturbations  # Numba takes a second

    return None if attack_obstacle(method, ball) else attacked_perturbations(model, x, y, method, ball)
