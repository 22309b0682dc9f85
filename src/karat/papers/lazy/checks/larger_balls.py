"""Check of the remark that 1/sqrt m is the largest radius for which |f| stays bounded over the ball."""

from collections.abc import Sequence

from karat.papers.lazy.checks.lemmas import OnePointRun
from karat.papers.lazy.checks.made_up import one_point_cell
from karat.papers.lazy.experiments.one_point import LARGER_BALLS, OnePointConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import Finding, Margin
from karat.study.judging import Undecided, all_of, noted, rate
from karat.study.run import Run, examples, grouped

HALF_WAY = Margin(0.05, "half-way between the exponents 0 and 0.1 of the two radii")


def _growth(runs: Sequence[OnePointRun]) -> Finding:
    """Exponent over m of the supremum of |f|, radius by radius: what m^(1/2) V has."""
    findings = []
    for power, of_radius in sorted(grouped(runs, lambda run: run.config.power).items(), reverse=True):
        m, table = curves(of_radius, lambda run: run.config.m, mean_supremum)
        finding = rate(m, table, 0.5 - power, HALF_WAY)
        findings.append(noted(finding, f"V = C0/m^{power:g}: sup |f| has exponent {finding} in m."))
    if len(findings) < 2:
        raise Undecided("one radius shows no difference.")
    return all_of(*findings)


def mean_supremum(run: OnePointRun) -> float:
    """Return the mean over starts of sup |f|."""
    return sum(run.result.supremum) / len(run.result.supremum)


def _example(growth: float) -> list[Run]:
    cells = [
        one_point_cell(
            OnePointConfig(d=196, m=m, power=power),
            supremum=5.0 * m ** (growth if power == 0.4 else 0.0),
        )
        for power in (0.5, 0.4)
        for m in (1000, 10_000, 100_000)
    ]
    return examples(*cells)


CHECKS = (
    Check(
        claim_id="lazy.sec3.radius",
        experiment=LARGER_BALLS,
        evaluate=_growth,
        satisfied=_example(0.1),
        violated=_example(0.0),
        controls=(
            Control(
                name="rows that do not move",
                removes="ball",
                settings={"reach": 0.0},
                why="|f| of the start does not grow with m.",
                seeds=3,
            ),
        ),
        reading="At one fixed x, where the supremum is exact: it is |f| of the start and about sqrt(m) V/2.",
    ),
)
