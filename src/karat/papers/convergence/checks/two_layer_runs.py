"""What the checks of two-layer training share: assumptions, a certified reference, made-up runs."""

import math

from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.two_layer import TwoLayerConfig, TwoLayerResult
from karat.study.finding import Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided
from karat.study.run import Run

TwoLayerRun = Run[TwoLayerConfig, TwoLayerResult]

GAP = Unit("difference of losses")

START_LOSS = math.sqrt(2) - 1
"""Loss of a paired start, which is zero at every input."""


def assumptions(config: TwoLayerConfig) -> list[Condition]:
    """Return what all statements about unprojected two-layer training assume.

    Args:
        config: of a run.
    """
    return [
        is_so("Asm 3.1: the loss is convex, smooth and 1-Lipschitz", True),
        is_so("Asm 5.1: phi' is Lipschitz", config.activation in SLOPE_LIPSCHITZ),
        is_so("no projection", not config.projected),
    ]


def certified_optimum(run: TwoLayerRun) -> float:
    r"""Return a lower bound on the robust loss of every net of the ball.

    A net differs from its linearisation by at most :math:`C R^2/(2 \sqrt{m})` there, and the loss is
    1-Lipschitz; without a Lipschitz slope only 0 is certain.

    Args:
        run: whose ball it is.
    """
    config, result = run.config, run.result
    curvature = SLOPE_LIPSCHITZ.get(config.activation, math.inf)
    lower = result.reference_bound - curvature * config.R**2 / (2 * math.sqrt(config.m))
    if lower > result.target_loss + 1e-9 or result.reference_bound > result.reference + 1e-9:
        raise Undecided("a net of the ball has a smaller loss than the bound that should lie below all")
    return max(0.0, lower)


EXAMPLE = TwoLayerConfig(m=1600, R=2.0, tol=0.1, lr=0.1, steps=400)
MEASURED = TwoLayerResult(
    reference=0.201,
    reference_bound=0.2,
    target_loss=0.2,
    steps=[10, 100, 300],
    gap=[0.15, 0.05, 0.01],
    final_gap=0.01,
    best_loss=0.21,
    robust_loss=0.21,
    attack_shortfall=0.0,
    frobenius=1.0,
    rows=0.1,
    pattern_change=0.1,
    left_ball=None,
    left_triple=None,
    loss_before_exit=0.21,
    regret_constant=-0.5,
)
"""A run near the best robust loss of its ball, as the theorem wants it."""
