"""Attack any model: a karat net, a torch.nn.Module or a callable."""

from typing import Any

import torch
from torch import Tensor

from karat.attacks import METHODS, AttackResult, Method, judge
from karat.attacks.fastest import fastest_perturbations
from karat.attacks.method import method_name
from karat.core.ball import Ball
from karat.core.checks import require_choice
from karat.yours.attack_task import AttackTask, prepared


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
        model: a karat net, a torch.nn.Module (in eval mode while it is attacked) or any callable on tensors.
        x: (n, ...) inputs, taken in the type of the model's weights.
        y: (n,) labels, +-1 or 0 and 1 for a scalar output, class indices for logits.
        ball: allowed perturbations.
        method: an attack or its name.
        knobs: settings of the named attack.
        generator: needed by attacks that draw random numbers; seeded with 0 when left out.

    On a two-layer ReLU net, karat's own or Linear, ReLU, Linear in a Sequential, PGD is several times faster
    than by gradients, with the same result: from zero in an l2 ball on inner products, in an l_inf ball by
    changes of sign. A model in half precision is attacked in float32, and x + delta is what it sees.

    Equal calls give equal numbers on equally many threads. With another number the last bits may differ: the
    matrix products of small batches in float32 are then added up in another order; nothing else is. Call
    `torch.set_num_threads(1)` first where that matters.

    Returns:
        delta, margin of x + delta (y f, or logit margin) and success (margin <= 0), from the judge. |delta|_p
        is at most tau when summed in float64, and in half precision so is the norm of (x + delta) - x.

    Raises:
        OverflowError: when an l2 attack leaves the range of the model's numbers. BudgetError: when a method
            leaves the ball.

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
    with prepared(model, x, y, ball) as task:
        _require_finite_margins(task, ball)
        if generator is None:
            generator = torch.Generator(device=task.x.device).manual_seed(0)
        delta = fastest_perturbations(
            method, task.attacked, task.x, task.attacked_labels, ball, net=task.twin, generator=generator
        )
        name = method_name(method)
        return judge(task.classifier, task.x, task.y, delta, ball, name=name, trim=True)


def _require_finite_margins(task: AttackTask, ball: Ball) -> None:
    """Refuse a radius at which the model's own numbers overflow: NaN would pass for a model that stands firm.

    Asked only of radii above the square root of the largest number, at two perturbations of full length.
    """
    limits = torch.finfo(task.x.dtype)
    wide = task.x.float() if limits.bits < 32 else task.x
    largest = float(ball.radius(wide).max())
    if ball.box is not None or largest <= limits.max**0.5:
        return
    for sign in (1.0, -1.0):
        moved = (wide + ball.extreme_point(torch.full_like(wide, sign))).to(task.x.dtype)
        if not bool(torch.isfinite(task.classifier.margin(moved, task.y)).all()):
            raise OverflowError(
                f"the model's margins are not finite numbers at perturbations of radius {largest:g} in "
                f"{task.x.dtype}: no attack can judge such a ball."
            )
