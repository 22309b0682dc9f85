"""Check of the radius of Theorem 5.2: how far from the start a robust net is, at every width."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import two_layer_width
from karat.papers.convergence.experiments.radius import RADIUS, RadiusConfig, RadiusResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import Finding, Margin
from karat.study.hypothesis import Condition, at_least, is_so, not_checkable
from karat.study.judging import Undecided, all_of, noted, one_constant
from karat.study.run import Run, examples, grouped

RadiusRun = Run[RadiusConfig, RadiusResult]

MARGIN = Margin(0.25, "a radius that grows like sqrt m has the exponent 1/2, a bounded one has 0")


def _assumptions(config: RadiusConfig) -> list[Condition]:
    return [
        is_so("Asm 5.1: phi' is Lipschitz", True),
        is_so("Asm 5.3: |phi'| <= 1", config.activation != "quadratic_relu"),
    ]


def _width(run: RadiusRun) -> list[Condition]:
    """The theorem's width, at the radius that was found."""
    name, R = "m >= R^4/tol^2", run.result.sufficient
    if R is None:
        return [not_checkable(name, "no radius that was looked at is known to be enough")]
    return [at_least(name, run.config.m, two_layer_width(R, run.config.tol), "the hidden constant read as 1")]


def _flat(runs: Sequence[RadiusRun]) -> Finding:
    """Both ends of the enclosed radius: one constant for all widths, on every kind of data set."""
    if not runs:
        raise Undecided("no run was found")
    groups = grouped(runs, lambda run: replace(run.config, m=2)).values()
    return all_of(*map(_one_kind, groups))


def _one_kind(runs: Sequence[RadiusRun]) -> Finding:
    m, radii = curves(runs, lambda run: run.config.m, _sufficient)
    _, certified = curves(runs, lambda run: run.config.m, _insufficient)
    upper, lower = (one_constant(m, ends, "at most", MARGIN) for ends in (radii, certified))
    if "fails" in {upper.outcome, lower.outcome} and upper.outcome != lower.outcome:
        raise Undecided(f"the ends of the enclosure disagree: sufficient {upper}, insufficient {lower}")
    widest = [run.result for run in runs if run.config.m == m[-1]]
    enclosures = ", ".join(f"{one.insufficient:.3g} to {one.sufficient:.3g}" for one in widest)
    return noted(
        all_of(upper, lower),
        f"Smallest radii for tol = {runs[0].config.tol:g} at m = {m[-1]:g} by data set: {enclosures}.",
    )


def _sufficient(run: RadiusRun) -> float:
    if run.result.sufficient is None:
        raise Undecided("no ball that was looked at holds a robust net on some data set")
    return run.result.sufficient


def _insufficient(run: RadiusRun) -> float:
    if run.result.insufficient == 0:
        raise Undecided("no ball that was looked at is certified to hold no robust net")
    return run.result.insufficient


def _made_up(power: float) -> list[RadiusRun]:
    cells = []
    for m in (1024, 4096, 8192):
        R = (m / 1024) ** power
        cells.append((RadiusConfig(m=m), RadiusResult(sufficient=R, insufficient=0.75 * R)))
    return examples(*cells)


CHECKS = (
    Check(
        claim_id="convergence.thm5.2.radius",
        experiment=RADIUS,
        evaluate=_flat,
        conditions=_assumptions,
        observed=_width,
        satisfied=_made_up(0.0),
        violated=_made_up(0.5),
        controls=(
            Control(
                name="mean-field outputs",
                removes="scale",
                settings={"scaling": "mean-field"},
                why="outputs divided by m instead of sqrt m need weights that move sqrt m times as far",
                unanswered=True,  # perhaps beyond all radii that are looked at
            ),
        ),
        reading="Finite perturbation sets. A radius is sufficient if the net at the best linearised "
        "displacement is robust; the lower end of an enclosure is certified for every net. Both ends are "
        "judged, and the R of the width is the sufficient one.",
    ),
)
