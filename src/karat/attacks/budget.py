"""The budget of an attack: how far its perturbations may go, and how much of that is rounding."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from karat.core.ball import Ball

# However coarse the number format, a perturbation longer than this share beyond tau is no rounding.
CAP = 0.01


class BudgetError(AssertionError):
    """An attack returned a perturbation outside its ball or its box, or one that is not finite."""


def is_half(dtype: torch.dtype) -> bool:
    """Whether numbers of this type have fewer than 32 bits, so that x + delta may differ from it visibly."""
    return torch.finfo(dtype).bits < 32


def tolerance(dtype: torch.dtype, d: int) -> float:
    """Share of tau that rounding may add to |delta|_p: 4 (2 + sqrt d) rounding units, and at most 1 %.

    That is what scaling and summing d numbers in this type can do.

    >>> round(tolerance(torch.float32, 784), 6), tolerance(torch.bfloat16, 784)
    (1.4e-05, 0.01)
    """
    return min(4 * (2 + math.sqrt(d)) * torch.finfo(dtype).eps, CAP)


def check_budget(x: Tensor, delta: Tensor, ball: Ball, name: str) -> Tensor:
    """The excess |delta|_p - tau, (n,) in float64; a BudgetError where it is more than rounding.

    In half precision the perturbation counts as the model sees it, too: (x + delta) - x, rounded as x is.

    Args:
        x: (n, ...) inputs.
        delta: perturbations of their shape.
        name: of the attack, for the message.
    """
    wide, plain = delta.double(), replace(ball, box=None)
    excess, radius = plain.excess(wide), ball.radius(wide)
    if not bool(torch.isfinite(excess).all()):
        raise BudgetError(f"{name} returned a perturbation that is not finite.")
    if is_half(delta.dtype):
        excess = torch.maximum(excess, plain.excess((x + delta).double() - x.double()))
    over = excess - tolerance(delta.dtype, max(1, wide[:1].numel())) * radius
    if bool((over > 0).any()):
        worst = int(over.argmax())
        raise BudgetError(
            f"{name} exceeds the l_{ball.p:g} radius {float(radius[worst]):g} "
            f"by {float(over[worst]):.3g} at sample {worst}."
        )
    if ball.box is not None:
        moved = (x + delta).double() if is_half(delta.dtype) else x.double() + wide
        _check_box(moved, ball.box, min(4 * torch.finfo(delta.dtype).eps, CAP), name)
    return excess


def _check_box(moved: Tensor, box: tuple[float, float], allowed: float, name: str) -> None:
    low, high = box
    beyond = torch.maximum(low - moved, moved - high).flatten(1).amax(dim=1)
    if bool((beyond > allowed * max(abs(low), abs(high))).any()):
        worst = int(beyond.argmax())
        raise BudgetError(
            f"{name} leaves the box ({low:g}, {high:g}) by {float(beyond[worst]):.3g} at sample {worst}."
        )
