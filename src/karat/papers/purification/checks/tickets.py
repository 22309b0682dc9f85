"""A check on the tickets of a random start, over the dimension."""

from collections.abc import Sequence

import numpy as np

from karat.papers.purification.bounds import GAMMA, sure_winners_from, xi2
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.experiments.tickets import TICKETS, StartCounts, TicketsConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import COUNT, Finding
from karat.study.hypothesis import Condition, at_least, at_most
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import Run, examples, grouped

TicketRuns = Sequence[Run[TicketsConfig, StartCounts]]


def _geometry(every: TicketRuns) -> Finding:
    """The smallest number of sure and the largest number of potential winners of a feature, per dimension."""
    findings = []
    for d, runs in sorted(grouped(every, lambda run: run.config.d).items()):
        c0 = runs[0].config.c0
        least = bound([run.result.start_sure_least for run in runs], "at least", d ** (GAMMA * c0 / 4), COUNT)
        most = bound([run.result.start_potential_most for run in runs], "at most", xi2(d, c0, GAMMA), COUNT)
        sure, potential = (
            np.mean([value(run.result) for run in runs])
            for value in (lambda r: r.start_sure, lambda r: r.start_potential)
        )
        findings.append(
            noted(
                all_of(least, most),
                f"d = {d}: {sure:.3f} sure winners per feature in the mean (Gaussian tails "
                f"{runs[0].result.predicted_sure:.3f}), {potential:.3f} potential ones "
                f"({runs[0].result.predicted_potential:.3f}).",
            )
        )
    if not findings:
        raise Undecided("no run has finished")
    config = every[0].config
    return noted(
        all_of(*findings),
        f"By exact tails a feature first expects 4 log d sure winners at d = 10^"
        f"{sure_winners_from(config.c0, GAMMA):.0f} with c0 = {config.c0:.2f} and gamma = {GAMMA:g}, with "
        f"c0 = 1 and "
        f"gamma = 0.1, the largest allowed, at d = 10^{sure_winners_from(1.0, 0.1):.0f}.",
    )


def _constants(config: TicketsConfig) -> list[Condition]:
    """The constants that the lemma allows; its event itself is what it concludes."""
    return [
        at_most("Lem B.2: c0 < 1", config.c0, 1.0),
        at_least("Lem B.2: c0 > 0", config.c0, 0.0),
        at_most("Lem B.2: gamma < 0.1", GAMMA, 0.1),
    ]


def _starts(power: float, *, sure: int = 0, potential: int = 9) -> list[tuple[TicketsConfig, StartCounts]]:
    return [
        (
            TicketsConfig(d=d),
            made_up(
                StartCounts,
                ordinary_share=0.8,
                lucky_share=d**power,
                surely_lucky_share=0.5 * d**power,
                start_sure_least=sure,
                start_potential_most=potential,
            ),
        )
        for d in (100, 400, 1600)
    ]


_EQUAL_SIZES = Control(
    name="coefficients of one size",
    removes="structure",
    settings={"rows": "signs"},
    why="Where all coefficients have the same size no neuron is lucky, and a share of 0 falls like no power.",
    unanswered=True,
)

CHECKS = (
    Check(
        claim_id="purification.lemB.2",
        experiment=TICKETS,
        evaluate=_geometry,
        conditions=_constants,
        satisfied=examples(*_starts(-0.1, sure=2, potential=1)),
        violated=examples(*_starts(-0.1)),
        controls=(_EQUAL_SIZES,),
        reading=f"|S_sure| >= d^(gamma c0/4), not the printed d^(7 c0/4), and |S_pot| <= d^(2 gamma c0) with "
        f"constants 1; c0 from m = d^(1 + c0), gamma = {GAMMA:g}.",
    ),
)
