"""The budget of an attack: how far its perturbations may go, and how much of that is rounding."""

import math

import torch
from torch import Tensor

from karat.core.norms import norm
from karat.core.region import Region

# However coarse the number format, a perturbation longer than this share beyond tau is no rounding.
CAP = 0.01


class BudgetError(AssertionError):
    """An attack returned a perturbation outside its ball, box or sphere, or one that is not finite."""


def is_half(dtype: torch.dtype) -> bool:
    """Whether numbers of this type have fewer than 32 bits, so that x + delta may differ from it visibly."""
    return torch.finfo(dtype).bits < 32


def tolerance(dtype: torch.dtype, d: int) -> float:
    r"""Share of tau that rounding may add to the norm: :math:`4 (2 + \sqrt d)` rounding units, at most 1 %.

    That is what scaling and summing d numbers in this type can do.

    >>> round(tolerance(torch.float32, 784), 6), tolerance(torch.bfloat16, 784)
    (1.4e-05, 0.01)
    """
    return min(4 * (2 + math.sqrt(d)) * torch.finfo(dtype).eps, CAP)


def check_budget(x: Tensor, delta: Tensor, ball: Region, name: str) -> Tensor:
    r"""The excess :math:`\|\delta\|_p - \tau`, (n,) in float64; a BudgetError where it is more than rounding.

    Perturbed inputs must also lie in the domain of the set, its box or its sphere. In half precision the
    perturbation counts as the model sees it, too: (x + delta) - x, rounded as x is.

    Args:
        x: (n, ...) inputs.
        delta: perturbations of their shape.
        ball: the allowed perturbations.
        name: of the attack, for the message.
    """
    wide = delta.double()
    radius = ball.radius(wide)
    excess = norm(wide, ball.p) - radius
    if not bool(torch.isfinite(excess).all()):
        raise BudgetError(f"{name} returned a perturbation that is not finite.")
    if is_half(delta.dtype):
        excess = torch.maximum(excess, norm((x + delta).double() - x.double(), ball.p) - radius)
    over = excess - tolerance(delta.dtype, max(1, wide[:1].numel())) * radius
    if bool((over > 0).any()):
        worst = int(over.argmax())
        raise BudgetError(
            f"{name} exceeds the l_{ball.p:g} radius {float(radius[worst]):g} "
            f"by {float(over[worst]):.3g} at sample {worst}."
        )
    if ball.domain is not None:
        moved = (x + delta).double() if is_half(delta.dtype) else x.double() + wide
        _check_domain(moved, ball, min(4 * torch.finfo(delta.dtype).eps, CAP), name)
    return excess


def _check_domain(moved: Tensor, ball: Region, rounding: float, name: str) -> None:
    beyond = ball.outside(moved, rounding)
    if bool((beyond > 0).any()):
        worst = int(beyond.argmax())
        raise BudgetError(f"{name} leaves {ball.domain} by {float(beyond[worst]):.3g} at sample {worst}.")
