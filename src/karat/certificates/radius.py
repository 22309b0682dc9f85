"""The smallest adversarial radius of every sample, as a bracket."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.attacks.minimal import minimal_radius as attacked_radius
from karat.attacks.pgd import PGD
from karat.certificates.certificate import Certificate
from karat.certificates.ladder import certify
from karat.certificates.target import target_of
from karat.core.ball import Ball
from karat.core.checks import require_number
from karat.core.norms import norm, per_sample

_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class RadiusBracket:
    """certified <= smallest radius with a margin <= 0 <= broken, per sample.

    Args:
        certified: (n,) a radius proven robust, 0 if none (also for misclassified samples).
        broken: (n,) length of a witness whose margin is negative beyond rounding, inf if none was found.
        delta: that witness.
    """

    certified: Tensor
    broken: Tensor
    delta: Tensor


def minimal_radius_bracket(
    model: Any,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    seconds_per_sample: float = 3.0,
    *,
    rtol: float = 0.01,
    generator: torch.Generator | None = None,
) -> RadiusBracket:
    """Bisect between the largest radius certified and the shortest witness known.

    Every certificate that finds a shorter witness lowers the upper end, and each round starts its attack from
    the best witness shrunk to the new radius. A sample undecided at a radius is next tried at a smaller one.

    Args:
        model: karat net or torch.nn.Module.
        x: (n, ...) samples.
        y: (n,) labels +-1, or class indices for logits.
        ball: norm and box, its tau the largest radius looked at.
        seconds_per_sample: for all rounds together.
        rtol: relative width at which a bracket is narrow enough.
        generator: of the attack's restarts, seeded with 0 when left out.
    """
    require_number(rtol, "rtol", "minimal_radius_bracket", positive=True)
    generator = generator or torch.Generator().manual_seed(0)
    target = target_of(model, x, y, ball)
    largest = target.ball.radius(target.x)
    attacked = attacked_radius(
        target.classifier, target.x, target.y, target.ball, method=PGD(steps=30), generator=generator
    )
    delta, broken = _beyond_rounding(target, attacked.delta)
    certified, ceiling = torch.zeros_like(largest), torch.minimum(broken, largest)
    budget = seconds_per_sample / 8
    for _ in range(_ROUNDS):
        rows = ((ceiling - certified) > rtol * ceiling).nonzero().squeeze(1)
        if len(rows) == 0:
            break
        # First the ceiling itself, when nothing is known to break there; then the middle.
        fresh = (certified[rows] == 0) & torch.isinf(broken[rows]) & (ceiling[rows] == largest[rows])
        radius = torch.where(fresh, ceiling[rows], (certified[rows] + ceiling[rows]) / 2)
        length = norm(delta[rows], ball.p).clamp_min(1e-300)
        start = delta[rows] * per_sample((radius / length).clamp_max(1), delta[rows])
        result: Certificate = certify(
            model,
            x[rows],
            y[rows],
            target.ball.with_tau(radius),
            budget,
            attack=PGD(steps=10),
            start=start,
            generator=generator,
        )
        robust, hit = result.mask("robust"), result.mask("broken")
        certified[rows[robust]] = radius[robust]
        size = norm(result.delta, ball.p)
        shorter = hit & (size < broken[rows])
        broken[rows[shorter]], delta[rows[shorter]] = size[shorter], result.delta[shorter]
        ceiling[rows[~robust]] = radius[~robust]
        ceiling = torch.minimum(ceiling, broken)
    return RadiusBracket(certified, broken, delta.reshape(x.shape))


def _beyond_rounding(target: Any, delta: Tensor) -> tuple[Tensor, Tensor]:
    """Push the attack's witnesses out until their margins are negative whatever rounding does."""
    length = norm(delta, target.ball.p)
    broken = torch.full_like(length, torch.inf)
    best = delta.clone()
    for factor in (1.0, 1 + 1e-9, 1 + 1e-7, 1 + 1e-5, 1 + 1e-3):
        moved = delta * factor
        if target.ball.box is not None:
            moved = target.ball.with_tau(length * factor).project(moved, target.x)
        inside = norm(moved, target.ball.p) <= target.ball.radius(target.x)
        margin = target.classifier.margin(target.x + moved, target.y).detach()
        wins = (margin < -target.margin_error(moved)) & inside & torch.isinf(broken)
        broken = torch.where(wins, norm(moved, target.ball.p), broken)
        best = torch.where(per_sample(wins, best), moved, best)
    return best, broken
