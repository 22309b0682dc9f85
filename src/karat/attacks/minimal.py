"""The smallest radius at which an attack succeeds, per sample."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.judge import run_attack
from karat.attacks.method import Method
from karat.core.checks import require_number
from karat.core.classifier import Classifier
from karat.core.norms import dual_exponent, norm
from karat.core.region import Region

_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class MinimalRadius:
    """What a search over radii knows of every sample's distance to the decision boundary.

    Args:
        failed: (n,) largest radius below `broken` at which every attack tried failed. No certificate.
        broken: (n,) length of the shortest perturbation found, inf if none: an upper bound on the distance.
        delta: (n, ...) that perturbation; zero where none was found.
    """

    failed: Tensor
    broken: Tensor
    delta: Tensor


def minimal_radius(
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Region,
    *,
    method: Method,
    rtol: float = 1e-3,
    growth: float = 2.0,
    generator: torch.Generator | None = None,
) -> MinimalRadius:
    """Grow the radius until the attack succeeds, then bisect between failure and success.

    The first radius tried is the first-order distance margin / |grad|_q. A perturbation counts with its own
    length rather than the radius it was allowed, and a success stands for all larger radii, even those at
    which the attack failed (monotone envelope).

    Args:
        classifier: what is attacked.
        x: (n, ...) inputs.
        y: (n,) labels.
        ball: norm and box, its tau the largest radius to try.
        method: any attack.
        rtol: relative width at which failure and success are near enough.
        growth: factor between radii before the first success.
        generator: needed by attacks that draw random numbers.
    """
    require_number(rtol, "rtol", "minimal_radius", positive=True)
    if require_number(growth, "growth", "minimal_radius") <= 1:
        raise ValueError(f"`growth` of `minimal_radius` must be a finite number > 1, got {growth!r}.")
    margin, gradient = classifier.margin_and_gradient(x, y)
    largest = ball.radius(x)
    failed, delta = torch.zeros_like(largest), torch.zeros_like(x)
    broken = torch.where(margin > 0, torch.inf, 0.0).to(x.dtype)
    guess = margin / norm(gradient, dual_exponent(ball.p))
    radius = torch.where(torch.isfinite(guess) & (guess > 0), torch.minimum(guess, largest), largest)

    for _ in range(_ROUNDS):
        has_witness = torch.isfinite(broken)
        open_ = torch.where(has_witness, broken - failed > rtol * broken, failed < largest)
        rows = open_.nonzero().squeeze(1)
        if len(rows) == 0:
            break
        tried = radius[rows]
        result = run_attack(method, classifier, x[rows], y[rows], ball.with_tau(tried), generator=generator)
        length = norm(result.delta, ball.p)
        won, lost = result.success & (length < broken[rows]), ~result.success
        broken[rows[won]], delta[rows[won]] = length[won], result.delta[won]
        failed[rows[lost]] = tried[lost]
        # A witness shorter than a radius that failed: the failures above it say nothing.
        failed = torch.where(failed < broken, failed, 0.0)
        middle = (failed + broken) / 2
        radius = torch.where(torch.isfinite(broken), middle, torch.minimum(radius * growth, largest))
    return MinimalRadius(failed, broken, delta)
