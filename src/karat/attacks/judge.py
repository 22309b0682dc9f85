"""The one judge of attacks: is the perturbation allowed, and does the classifier err on it?"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from karat.attacks.method import Method, method_name
from karat.core.ball import Ball
from karat.core.checks import ShapeError
from karat.core.classifier import Classifier


class BudgetError(AssertionError):
    """An attack returned a perturbation outside its ball or its box, or one that is not finite."""


@dataclass(frozen=True, eq=False)
class AttackResult:
    """Perturbations with their re-evaluated margins; success means margin <= 0.

    Args:
        delta: (n, ...) perturbations; margin: (n,) margins of x + delta; success: (n,) booleans.
    """

    delta: Tensor
    margin: Tensor
    success: Tensor

    @property
    def error(self) -> float:
        """Share of samples misclassified under attack, a lower bound on the robust error."""
        return float(self.success.double().mean())


def judge(
    classifier: Classifier, x: Tensor, y: Tensor, delta: Tensor, ball: Ball, *, name: str = "the attack"
) -> AttackResult:
    """Check the budget and evaluate the margins of x + delta anew; no flag of an attack is trusted.

    Reading: |delta|_p, summed in float64, may exceed tau by 4 (2 + sqrt d) rounding units of delta's dtype,
    relative: what scaling and summing d numbers in that dtype can do. A wall may be passed by 4 rounding
    units of the box's size. A margin that is not a number is an error of the classifier, neither a success
    nor a failure of the attack.

    Raises:
        BudgetError: naming the attack and its worst excess. ArithmeticError: on NaN margins.
    """
    if delta.shape != x.shape:
        raise ShapeError(f"{name} must return perturbations {tuple(x.shape)}, got {tuple(delta.shape)}.")
    _check_budget(x, delta, ball, name)
    margin = classifier.margin(x + delta, y).detach()
    if bool(margin.isnan().any()):
        raise ArithmeticError(f"the margin of {int(margin.isnan().sum())} of {len(x)} samples is NaN.")
    return AttackResult(delta, margin, margin <= 0)


def _check_budget(x: Tensor, delta: Tensor, ball: Ball, name: str) -> None:
    if not bool(torch.isfinite(delta).all()):
        raise BudgetError(f"{name} returned a perturbation that is not finite.")
    rounding = torch.finfo(delta.dtype).eps
    wide = delta.double()
    d = max(1, wide[:1].numel())
    over = replace(ball, box=None).excess(wide) - 4 * (2 + d**0.5) * rounding * ball.radius(wide)
    if bool((over > 0).any()):
        worst = int(over.argmax())
        raise BudgetError(
            f"{name} exceeds the l_{ball.p:g} radius {float(ball.radius(wide)[worst]):g} "
            f"by {float(over[worst]):.3g} at sample {worst}."
        )
    if ball.box is not None:
        low, high = ball.box
        moved = x.double() + wide
        beyond = torch.maximum(low - moved, moved - high).flatten(1).amax(dim=1)
        if bool((beyond > 4 * rounding * max(abs(low), abs(high))).any()):
            worst = int(beyond.argmax())
            raise BudgetError(
                f"{name} leaves the box ({low:g}, {high:g}) by {float(beyond[worst]):.3g} at sample {worst}."
            )


def run_attack(
    method: Method,
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    *,
    generator: torch.Generator | None = None,
) -> AttackResult:
    """Attack and judge in one call."""
    delta = method(classifier, x, y, ball, generator=generator)
    return judge(classifier, x, y, delta, ball, name=method_name(method))
