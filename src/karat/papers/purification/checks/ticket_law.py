"""Checks on lucky neurons at the start, by exact tails."""

import math
from collections.abc import Sequence

from karat.papers.purification.bounds_tickets import LuckyShares, every_feature_from
from karat.papers.purification.experiments.ticket_law import TICKET_LAW, TicketLawConfig, TicketLawResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import COUNT, EXPONENT, SHARE, Finding, Unit
from karat.study.judging import Undecided, all_of, exact_bound, noted
from karat.study.run import Run, examples

LawRuns = Sequence[Run[TicketLawConfig, TicketLawResult]]

TAILS = "Gaussian tails"
C3, C4 = 0.02, 0.005
"""Exponents of the shares: half of what the levels exceed 2 by, and twice the limit of the other."""
ROOM = Unit("logarithm of what is expected over what is needed")


def _of_width(every: LawRuns, width: float) -> list[Run[TicketLawConfig, TicketLawResult]]:
    """Runs of one width, by dimension; a control that sets the width is judged on what it has."""
    chosen = [run for run in every if run.config.width == width] or list(every)
    if not chosen:
        raise Undecided("no dimension has finished")
    return sorted(chosen, key=lambda run: run.config.digits)


def _fractions(every: LawRuns) -> Finding:
    """The three shares: most are usual, at most d^-c4 potentially lucky, at least d^-c3 surely lucky."""
    runs = _of_width(every, 1.01)
    logs = [run.result.log for run in runs]
    sure = [-log.sure / run.config.log_d for log, run in zip(logs, runs, strict=True)]
    potential = [-log.potential / run.config.log_d for log, run in zip(logs, runs, strict=True)]
    first = next((run.config.digits for run, c in zip(runs, sure, strict=True) if c <= C3), math.inf)
    return noted(
        all_of(
            exact_bound([1 - math.exp(log.unusual) for log in logs], "at least", 0.5, SHARE, TAILS),
            exact_bound(potential, "at least", C4, EXPONENT, TAILS),
            exact_bound(sure[-1:], "at most", C3, EXPONENT, TAILS),
        ),
        f"The exponent of the surely lucky share falls from {sure[0]:.3f} at d = 1e{runs[0].config.digits:g} "
        f"to {sure[-1]:.4f} at 1e{runs[-1].config.digits:g}; of the dimensions run 1e{first:g} is the first "
        f"with c3 <= {C3:g}.",
    )


def _one_each(every: LawRuns) -> Finding:
    """Expected sure neurons per feature with m = d^1.001, which must be one at least for all to have one."""
    runs = _of_width(every, 1.001)
    expected = [math.exp(run.result.log.sure_per_feature) for run in runs]
    return noted(
        exact_bound(expected, "at least", 1.0, COUNT, TAILS),
        f"With m = d^{runs[0].config.width:g} a feature expects {expected[0]:.3g} sure neurons at d = "
        f"1e{runs[0].config.digits:g} and {expected[-1]:.3g} at 1e{runs[-1].config.digits:g}; below 1 there "
        "are fewer sure neurons than features.",
    )


def _enough(every: LawRuns) -> Finding:
    """With a larger width: 4 log d sure neurons per feature, and half of d^0.01 potential ones at most."""
    runs = _of_width(every, 1.0125)
    sure = [run.result.log.sure_per_feature - math.log(4 * run.config.log_d) for run in runs]
    potential = [0.01 * run.config.log_d - math.log(2) - run.result.log.potential_per_feature for run in runs]
    width = runs[0].config.width
    return noted(
        all_of(
            exact_bound(sure, "at least", 0.0, ROOM, TAILS),
            exact_bound(potential, "at least", 0.0, ROOM, TAILS),
        ),
        f"With m = d^{width:g} every feature has a sure neuron from d = "
        f"1e{every_feature_from(width):.0f} on.",
    )


def _cell(
    digits: float, width: float, *, sure: float = -0.015, potential: float = -0.01, number: float = 9.0
) -> tuple[TicketLawConfig, TicketLawResult]:
    config = TicketLawConfig(digits=digits, width=width)
    log = LuckyShares(
        unusual=-2.0,
        potential=potential * config.log_d,
        sure=sure * config.log_d,
        sure_per_feature=number,
        potential_per_feature=0.005 * config.log_d,
    )
    return config, TicketLawResult(log=log)


_LOW = Control(
    name="lower levels",
    removes="scale",
    settings={"shift": -0.2},
    why="Below sqrt(2 log d) nearly every neuron has a large coefficient.",
)
_NARROW = Control(
    name="m = d^1.001",
    removes="scale",
    settings={"width": 1.001},
    why="So few neurons leave most features without a sure one.",
)

CHECKS = (
    Check(
        claim_id="purification.sec6.tickets",
        experiment=TICKET_LAW,
        evaluate=_fractions,
        satisfied=examples(*(_cell(digits, 1.01) for digits in (2.0, 8.0, 300.0))),
        violated=examples(*(_cell(digits, 1.01, sure=-0.05) for digits in (2.0, 8.0, 300.0))),
        controls=(_LOW,),
        reading="Exact shares from d = 1e2 to 1e300. 'Most' is at least half at every d; c4 = 0.005 at every "
        "d; c3 = 0.02 at the largest d, since the tails carry a factor 1/sqrt(log d) besides their power.",
    ),
    Check(
        claim_id="purification.sec6.one-each",
        experiment=TICKET_LAW,
        evaluate=_one_each,
        satisfied=examples(*(_cell(digits, 1.001) for digits in (2.0, 8.0, 300.0))),
        violated=examples(*(_cell(digits, 1.001, number=-1.0) for digits in (2.0, 8.0, 300.0))),
        controls=(_LOW,),
        reading="With the levels 2.02 and 2.01 of the same section. Every feature can only have a sure "
        "neuron if there are at least d of them; one is expected per feature then.",
    ),
    Check(
        claim_id="purification.sec6.one-each.repaired",
        experiment=TICKET_LAW,
        evaluate=_enough,
        satisfied=examples(*(_cell(digits, 1.0125, number=15.0) for digits in (3000.0, 6000.0, 12_000.0))),
        violated=examples(*(_cell(digits, 1.0125, number=5.0) for digits in (3000.0, 6000.0, 12_000.0))),
        controls=(_NARROW,),
        reading="4 log d expected sure neurons give every feature one with probability 1 - d^-3; half of "
        "d^0.01 expected potential ones leave room for their fluctuations.",
    ),
)
