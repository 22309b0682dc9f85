"""Checks of convergence's side against lazy: the nets that a paired ball holds."""

from collections.abc import Sequence
from dataclasses import replace

from karat.core.extended import power
from karat.papers.convergence.checks.vs_lazy_runs import (
    EXAMPLE,
    MEASURED,
    SMALL,
    VsLazyRun,
    images,
    radius,
    started,
)
from karat.papers.convergence.experiments.ball_search import VsLazyConfig
from karat.papers.convergence.experiments.vs_lazy import VS_LAZY
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ERROR, Finding, Unit
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import Undecided, exact_bound, noted
from karat.study.run import examples

DIFFERENCE = Unit("difference of losses")


def _exists(runs: Sequence[VsLazyRun]) -> Finding:
    """Training points on which no certificate says that a net of the ball keeps its label."""
    paired = started(images(runs), "paired")
    if not paired:
        raise Undecided("no run has images as they are")
    errors = [1 - run.result.certified_accuracy for run in paired]
    smallest = min(map(radius, paired))
    cells = [run for run in paired if radius(run) == smallest]
    config, accuracy = cells[0].config, sum(run.result.train_accuracy for run in cells) / len(cells)
    return noted(
        exact_bound(errors, "at most", 0.0, ERROR, "a certificate for every ball"),
        f"Training points without a certificate at tau = {config.tau:g} = "
        f"{config.tau * config.side:.1f}/sqrt d; the certificate does not look at the radius of the ball. "
        f"The net of smallest loss in the (2, inf) ball C0 = {smallest:g} withstands PGD on a share "
        f"{accuracy:.3f}.",
    )


def _separable(run: VsLazyRun) -> list[Condition]:
    """The fact about the data, and that about the start, on which the net rests."""
    tau = run.config.tau
    return [
        at_least("some unit v has min_i y_i <v, x_i> > tau", run.result.linear_margin, tau),
        at_least("some pair is active at every point of every ball", run.result.lit_radius, tau),
    ]


def _kernel(runs: Sequence[VsLazyRun]) -> Finding:
    """Loss under the attack less that of the scaled kernel function, in paired balls inside the regime."""
    paired = started([run for run in runs if run.config.padded_from is None], "paired")
    inside = [run for run in paired if _width_needed(run.config) <= run.config.m]
    if not inside:
        raise Undecided("no paired ball is small enough for the width")
    excess = [run.result.loss - run.result.convergence_loss for run in inside]
    radii = ", ".join(f"{C0:g}" for C0 in sorted(set(map(radius, inside))))
    return noted(
        exact_bound(excess, "at most", 0.0, DIFFERENCE, "losses at the points that the attack picks"),
        f"Largest excess over {len(inside)} cells of both balls, radii {radii}.",
    )


def _width_needed(config: VsLazyConfig) -> float:
    return power(config.C0, 4)


def _kernel_regime(config: VsLazyConfig) -> list[Condition]:
    """The width of Theorem 5.2, its tolerance read as 1."""
    return [*_paired_start(config), at_least("m >= C0^4", config.m, _width_needed(config))]


def _paired_start(config: VsLazyConfig) -> list[Condition]:
    return [is_so("paired start", config.start == "paired")]


CHECKS = (
    Check(
        claim_id="convergence.vs-lazy.exists",
        experiment=VS_LAZY,
        evaluate=_exists,
        conditions=_paired_start,
        observed=_separable,
        satisfied=examples((EXAMPLE, MEASURED)),
        violated=examples((EXAMPLE, replace(MEASURED, certified_accuracy=0.9))),
        controls=(
            Control(
                name="permuted labels",
                removes="labels",
                settings={"labels": "permuted"},
                # A smaller tau keeps the caps apart.
                cheap={**SMALL, "m": 600, "n": 32, "tau": 0.12, "C0": 1.0, "side": 28, "padded_from": None},
                why="no linear function gives the labels with a margin of tau, and the net has its sign",
            ),
        ),
        reading="Certified for one net that is built: where all twins move along the widest linear "
        "direction the net has the sign of this linear function, however little they move; so the data must "
        "be linear with a margin over tau. Balls, as lazy has them; for bias-free nets caps of the angle "
        "arcsin tau are the same.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.loss",
        experiment=VS_LAZY,
        evaluate=_kernel,
        conditions=_kernel_regime,
        satisfied=examples((EXAMPLE, MEASURED)),
        violated=examples((EXAMPLE, replace(MEASURED, loss=0.7))),
        controls=(
            Control(
                name="no pairs",
                removes="structure",
                settings={"start": "gaussian"},
                cheap={**SMALL, "C0": 1.0, "side": 28, "padded_from": None},
                why="an unpaired start has a loss of its own, which a small ball cannot undo",
            ),
        ),
        reading="The surrogate loss L_A with A = PGD, which is what the theorem speaks of. Constants read "
        "as 1.",
    ),
)
