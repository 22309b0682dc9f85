"""The one judge of attacks: is the perturbation allowed, and does the classifier err on it?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.budget import BudgetError, check_budget
from karat.attacks.method import Method, method_name
from karat.attacks.precision import perturbations, trimmed
from karat.core.checks import ShapeError
from karat.core.classifier import Classifier
from karat.core.region import Region

__all__ = ["AttackResult", "BudgetError", "judge", "run_attack"]


@dataclass(frozen=True, eq=False)
class AttackResult:
    """Perturbations with their re-evaluated margins; success means margin <= 0.

    Args:
        delta: (n, ...) perturbations.
        margin: (n,) margins of x + delta.
        success: (n,) booleans.
    """

    delta: Tensor
    margin: Tensor
    success: Tensor

    @property
    def error(self) -> float:
        """Share of samples misclassified under attack, a lower bound on the robust error."""
        return float(self.success.double().mean())


def judge(
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    delta: Tensor,
    ball: Region,
    *,
    name: str = "the attack",
    trim: bool = False,
) -> AttackResult:
    """Check the budget and evaluate the margins of x + delta anew; no flag of an attack is trusted.

    Args:
        classifier: what was attacked.
        x: (n, ...) inputs.
        y: (n,) labels.
        delta: (n, ...) perturbations.
        ball: the allowed perturbations.
        name: of their attack, for messages.
        trim: take off what rounding had added to |delta|_p, once the budget is checked, so that the result
            lies in the ball itself.

    Reading: |delta|_p, summed in float64, may exceed tau by 4 (2 + sqrt d) rounding units of delta's dtype,
    relative: what scaling and summing d numbers in that dtype can do, and never more than 1 %. In half
    precision the perturbation also counts as the model sees it, (x + delta) - x. A wall of the box or the
    sphere may be passed by 4 rounding units of its size, and by 1 % at most; inputs may lie 1e-4 off the
    sphere themselves. A margin that is not a number is an error of the classifier, neither a success nor a
    failure of the attack.

    Raises:
        BudgetError: naming the attack and its worst excess.
        ArithmeticError: on NaN margins.
    """
    if delta.shape != x.shape:
        raise ShapeError(f"{name} must return perturbations {tuple(x.shape)}, got {tuple(delta.shape)}.")
    excess = check_budget(x, delta, ball, name)
    if trim:
        delta = trimmed(delta, excess, ball)
    margin = classifier.margin(x + delta, y).detach()
    if bool(margin.isnan().any()):
        raise ArithmeticError(f"the margin of {int(margin.isnan().sum())} of {len(x)} samples is NaN.")
    return AttackResult(delta, margin, margin <= 0)


def run_attack(
    method: Method,
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Region,
    *,
    generator: torch.Generator | None = None,
) -> AttackResult:
    """Attack and judge in one call; in half precision the attack computes in float32.

    Args:
        method: the attack.
        classifier: what it attacks.
        x: (n, ...) inputs.
        y: (n,) labels.
        ball: the allowed perturbations.
        generator: needed by attacks that draw random numbers.
    """
    delta = perturbations(method, classifier, x, y, ball, generator=generator)
    return judge(classifier, x, y, delta, ball, name=method_name(method))
