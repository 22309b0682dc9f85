"""Check of the number of activation signs that change within a ball."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.patterns import PATTERNS, PatternsConfig, PatternsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import Finding, Margin
from karat.study.judging import Undecided, all_of, noted, one_constant, rate
from karat.study.run import Run, examples, grouped

PatternsRun = Run[PatternsConfig, PatternsResult]

MARGIN = Margin(1 / 24, "an exponent 1/4 in m instead of 1/3 would show as 1/12, half of it is not seen")


def _patterns(runs: Sequence[PatternsRun]) -> Finding:
    """The worst share over (R/sqrt m)^(2/3) in every ball: one constant serves all widths."""
    by_radius = sorted(grouped(runs, lambda run: run.config.R).items())
    if not by_radius:
        raise Undecided("no run was found")
    findings, exponents = [], []
    for radius, cells in by_radius:
        m, shares = curves(cells, lambda run: run.config.m, lambda run: run.result.share)
        formula = [(radius**2 / width) ** (1 / 3) for width in m]
        ratios = [[share / allowed for share, allowed in zip(row, formula, strict=True)] for row in shares]
        findings.append(one_constant(m, ratios, "at most", MARGIN))
        exponents.append(f"{rate(m, shares, -1 / 3, MARGIN)} at R = {radius:g}")
    return noted(all_of(*findings), f"Exponent of the share in m: {', '.join(exponents)} (theory -1/3).")


def _widths(power: float) -> list[PatternsRun]:
    config = PatternsConfig(m=1)
    return examples(
        *((replace(config, m=4**k), PatternsResult(share=4.0 ** (power * k))) for k in range(1, 5))
    )


CHECKS = (
    Check(
        claim_id="convergence.eq10",
        experiment=PATTERNS,
        evaluate=_patterns,
        satisfied=_widths(-1 / 3),
        violated=_widths(-0.2),
        controls=(
            Control(
                name="crowded kinks",
                removes="structure",
                settings={"law": "cubed"},
                why="preactivations that crowd at 0 change sign for less, so that the share falls too slowly",
            ),
        ),
        reading="One hidden layer, no shift of the input: the worst weights of the ball by a sort, at a unit "
        "input.",
    ),
)
