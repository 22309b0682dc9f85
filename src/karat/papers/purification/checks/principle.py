"""A check of feature purification in the model: angles between start, clean and robust net."""

from collections.abc import Sequence

from karat.papers.purification.checks.controls import NO_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    ONE_SIZE,
    data_conditions,
    largest_standard,
    mean,
    vanishes,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import COSINE, Finding
from karat.study.judging import all_of, noted
from karat.study.run import Run, examples


def _angles(every: Sequence[Run[OddNetConfig, TwoTrainingsResult]]) -> Finding:
    """Angles with the start and between neurons are o(1), those between clean and robust net 1 - o(1)."""
    runs = largest_standard(every)
    return noted(
        all_of(
            vanishes(every, lambda r: r.start_theta, COSINE),
            vanishes(every, lambda r: r.clean.pairwise, COSINE),
            vanishes(every, lambda r: 1 - r.theta, COSINE),
        ),
        f"At the largest d: theta(w0, w) {mean(runs, lambda r: r.start_theta):.3f}, theta(w, w') "
        f"{mean(runs, lambda r: r.theta):.3f} (a tenth of the neurons below "
        f"{mean(runs, lambda r: r.theta_low):.3f}), theta(w_i, w_j) "
        f"{mean(runs, lambda r: r.clean.pairwise):.3f}; the text names 0.2 and 0.8.",
    )


def _cells(power: float) -> list[tuple[OddNetConfig, TwoTrainingsResult]]:
    return [
        (
            OddNetConfig(d=d, k=k),
            made_up(
                TwoTrainingsResult,
                start_theta=2 * d**power,
                theta=1 - d**power,
                theta_low=0.9,
                clean={"pairwise": d**power},
            ),
        )
        for d, k in ((50, 7), (100, 9), (200, 14))
    ]


CHECKS = (
    Check(
        claim_id="purification.sec1.principle",
        experiment=L2,
        evaluate=_angles,
        conditions=data_conditions,
        satisfied=examples(*_cells(-0.5)),
        violated=examples(*_cells(-0.1)),
        controls=(NO_TRAINING,),
        reading="theta is the mean |cos| over live neurons and over pairs of them, c = o(1) and C = 1 - o(1) "
        f"as the section says of this model. {ONE_SIZE}",
    ),
)
