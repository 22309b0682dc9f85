"""Checks on the lottery: who wins, and the sets of winners over the phases of training."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from karat.papers.purification.checks.controls import SMALL_NET
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    data_conditions,
    each,
    largest_standard,
    lottery_conditions,
    mean,
)
from karat.papers.purification.experiments.lottery import LOTTERY, LotteryResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import Run, examples

LotteryRun = Run[OddNetConfig, LotteryResult]
Time = Literal["0", "T_a", "T_b", "T_e", "end"]

TIMES = (
    "Times are counted in units of h = lr/d with constants 1: T_a = sigma_0 log(d)^2.5, T_b = d sigma_0/k."
)


def _favourites(every: Sequence[LotteryRun]) -> Finding:
    """Live neurons that end on their favourite feature, and on it alone."""
    runs = largest_standard(every)
    return noted(
        bound(each(runs, lambda r: r.singleton_won), "at least", 0.5, SHARE),
        f"Share of live neurons that end on the feature their start leaned on most, with every other "
        f"coefficient below 0.3 of it; {mean(runs, lambda r: r.favourite_won):.2f} end on it with or without "
        f"others (chance {mean(runs, lambda r: r.chance):.3f}), {mean(runs, lambda r: r.within_two):.2f} on "
        f"one of two favourites. Clear tickets (one coefficient above b0, the next below 0.85 b0) live with "
        f"{mean(runs, lambda r: r.clear_live):.2f} and keep their feature with "
        f"{mean(runs, lambda r: r.clear_kept):.2f}.",
    )


@dataclass(frozen=True)
class Inclusion:
    """One set that is claimed to lie in another over a phase, by the paper's times.

    Args:
        name: for the caveat.
        share: of the first set that lies in the second, over the stops.
        since: beginning of the phase, None for its end alone.
        until: end of the phase.
    """

    name: str
    share: Callable[[LotteryResult], list[float]]
    since: Time | None
    until: Time

    def smallest(self, run: LotteryRun) -> float:
        """Smallest share over the stops of the phase, NaN if it has none."""
        times = vars(run.config.phases()) | {"0": 0.0, "end": math.inf}
        curve = zip(run.result.time, self.share(run.result), strict=True)
        up_to_end = [(time, share) for time, share in curve if time <= times[self.until]]
        if self.since is None:
            return up_to_end[-1][1]
        first = times[self.since]
        return min((share for time, share in up_to_end if time >= first), default=math.nan)


def _all_over_their_phases(inclusions: Sequence[Inclusion]) -> Callable[[Sequence[LotteryRun]], Finding]:
    """Smallest share over the phase of every inclusion; those without a step at this size are named."""

    def evaluate(every: Sequence[LotteryRun]) -> Finding:
        runs = largest_standard(every)
        findings, empty = [], []
        for inclusion in inclusions:
            smallest = [inclusion.smallest(run) for run in runs]
            if np.isnan(smallest).any():
                empty.append(f"{inclusion.name} ({inclusion.since} to {inclusion.until})")
                continue
            last = np.mean([inclusion.share(run.result)[-1] for run in runs])
            finding = bound(smallest, "at least", 1.0, SHARE)
            findings.append(
                noted(finding, f"{inclusion.name}: {np.mean(smallest):.2f} ({last:.2f} at the end).")
            )
        if not findings:
            raise Undecided("no step falls into any of the phases")
        phases = vars(runs[0].config.phases())
        ends = ", ".join(f"{name} = {phases[name]:.3g}" for name in ("T_a", "T_b", "T_e"))
        return noted(
            all_of(*findings),
            f"Smallest shares over their phases, with {ends}.",
            f"No step in the phase of: {', '.join(empty)}." if empty else "",
        )

    return evaluate


FIRST_PHASE = (
    Inclusion("sure_kept", lambda r: r.sure_kept, "0", "T_b"),
    Inclusion("no_new_potential", lambda r: r.no_new_potential, "0", "T_b"),
    Inclusion("ept", lambda r: r.ept, "0", "T_b"),
    Inclusion("ept_plus", lambda r: r.ept_plus, "T_a", "T_b"),
    Inclusion("ept_plus_plus", lambda r: r.ept_plus_plus, None, "T_b"),
    Inclusion("potential_plus_old", lambda r: r.potential_plus_old, None, "T_b"),
)

SECOND_PHASE = (
    Inclusion("sure_kept", lambda r: r.sure_kept, "T_b", "end"),
    Inclusion("potential_plus_old", lambda r: r.potential_plus_old, "T_b", "end"),
    Inclusion("potential_in_plus", lambda r: r.potential_in_plus, "T_b", "end"),
    Inclusion("ept_plus", lambda r: r.ept_plus, "T_b", "end"),
    Inclusion("ept_plus_plus", lambda r: r.ept_plus_plus, "T_b", "end"),
    Inclusion("sure_grown", lambda r: r.sure_grown, "T_e", "end"),
)

_SHARES = (
    "sure_kept",
    "no_new_potential",
    "ept",
    "ept_plus",
    "ept_plus_plus",
    "potential_plus_old",
    "potential_in_plus",
    "sure_grown",
)


def _outcome(won: float) -> tuple[OddNetConfig, LotteryResult]:
    return OddNetConfig(d=200, k=14), made_up(LotteryResult, singleton_won=won, clear_live=1.0)


def _sets(share: float) -> tuple[OddNetConfig, LotteryResult]:
    shares: dict[str, Any] = {name: [share, share] for name in _SHARES}
    return OddNetConfig(d=200, k=14), made_up(LotteryResult, time=[0.0, 9.0], **shares)


_NO_TRAINING = Control(
    name="no training",
    removes="training",
    settings={"clean_steps": 0},
    cheap=SMALL_NET,
    why="Before training every neuron leans on many features, and none has won.",
)
CHECKS = (
    Check(
        claim_id="purification.sec6.lottery",
        experiment=LOTTERY,
        evaluate=_favourites,
        conditions=data_conditions,
        satisfied=examples(_outcome(0.8)),
        violated=examples(_outcome(0.2)),
        controls=(_NO_TRAINING,),
        reading="Judged against one half of the live neurons.",
        headline=True,
    ),
    Check(
        claim_id="purification.thmC.1",
        experiment=LOTTERY,
        evaluate=_all_over_their_phases(FIRST_PHASE),
        conditions=lottery_conditions,
        satisfied=examples(_sets(1.0)),
        violated=examples(_sets(0.9)),
        controls=(_NO_TRAINING,),
        reading=f"{TIMES} Levels b(t) sqrt(1 +- c2/c1) move with the bias; S_pot has no sign condition; O(1) "
        "is 3.",
    ),
    Check(
        claim_id="purification.thmC.2",
        experiment=LOTTERY,
        evaluate=_all_over_their_phases(SECOND_PHASE),
        conditions=lottery_conditions,
        satisfied=examples(_sets(1.0)),
        violated=examples(_sets(0.9)),
        controls=(
            replace(_NO_TRAINING, why="A net that takes no step passes through no phase.", unanswered=True),
        ),
        reading=f"{TIMES} beta = 1/(sqrt(k) Xi2^10), where the text prints one root over both.",
    ),
)
