"""Checks on the lottery: tickets at the start, and the sets of winners over the phases of training."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from karat.papers.purification.checks.readings import (
    at_least,
    clean_hypotheses,
    each,
    largest_standard,
    mean,
)
from karat.papers.purification.experiments.lottery import LOTTERY, LotteryResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import tight_finding
from karat.study.run import Run

LotteryRun = Run[OddNetConfig, LotteryResult]
Time = Literal["0", "T_a", "T_b", "T_e", "end"]

TIMES = (
    "Times are counted in units of h = lr/d with constants 1: T_a = sigma_0 log(d)^2.5, T_b = d sigma_0/k."
)


def _favourites(every: Sequence[LotteryRun]) -> Finding:
    runs = largest_standard(every)
    note = (
        f"Share of live neurons that end on the feature their start leaned on most (chance "
        f"{mean(runs, lambda r: r.chance):.3f}); among its two favourites "
        f"{mean(runs, lambda r: r.within_two):.2f}. Clear tickets "
        f"(one coefficient above b0, the next below 0.85 b0) live with "
        f"{mean(runs, lambda r: r.clear_live):.2f} and "
        f"keep their feature with {mean(runs, lambda r: r.clear_kept):.2f}. Judged against one half."
    )
    return at_least(each(runs, lambda r: r.favourite_won), 0.5, note)


def _tickets(every: Sequence[LotteryRun]) -> Finding:
    """Counts at initialisation against Gaussian tails, and how large d must be for the lemma to bite."""
    runs = largest_standard(every)
    predicted = mean(runs, lambda r: r.predicted_sure)
    finding = tight_finding(each(runs, lambda r: r.start_sure), predicted, resolution=predicted)
    least = min(each(runs, lambda r: r.start_sure_least))
    note = (
        "Sure winners per feature against exact tails; the lemma's 'at least d^(gamma c0/4)' fails here, "
        f"some features have {least:.0f}, and the mean grows only as d^(gamma "
        f"c0/2). Potential winners: {mean(runs, lambda r: r.start_potential):.2f} (tails "
        f"{mean(runs, lambda r: r.predicted_potential):.2f})."
    )
    # That the tails are right is arithmetic; the lemma itself speaks of sizes that nobody can run.
    return with_caveat(finding, note, verdict="inconclusive" if finding.verdict == "holds" else None)


def _fractions(every: Sequence[LotteryRun]) -> Finding:
    runs = largest_standard(every)
    note = (
        f"Share with no coefficient above sqrt(2 log d) sigma_0; {mean(runs, lambda r: r.lucky_share):.2f} "
        f"have one above sqrt(2.01 log d), {mean(runs, lambda r: r.surely_lucky_share):.2f} exactly one. "
        "'Most' is read as more than half; the powers d^-c3, d^-c4 are not judged."
    )
    return at_least(each(runs, lambda r: r.ordinary_share), 0.5, note)


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
    """Smallest share over the phases of some inclusions; those without a step at this size are named."""

    def evaluate(every: Sequence[LotteryRun]) -> Finding:
        runs = largest_standard(every)
        listed, empty, shares = [], [], []
        for inclusion in inclusions:
            smallest = [inclusion.smallest(run) for run in runs]
            if np.isnan(smallest).any():
                empty.append(f"{inclusion.name} ({inclusion.since} to {inclusion.until})")
                continue
            last = np.mean([inclusion.share(run.result)[-1] for run in runs])
            listed.append(f"{inclusion.name} {np.mean(smallest):.2f} ({last:.2f})")
            shares.append(smallest)
        phases = vars(runs[0].config.phases())
        ends = ", ".join(f"{name} = {phases[name]:.3g}" for name in ("T_a", "T_b", "T_e"))
        return at_least(
            [min(values) for values in zip(*shares, strict=True)],
            1.0,
            f"Smallest share over its phase (at the end of training), per inclusion: {', '.join(listed)}. "
            f"Times: {ends}.",
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

CHECKS = (
    Check(claim_id="purification.sec6.lottery", experiment=LOTTERY, evaluate=_favourites, headline=True),
    Check(claim_id="purification.sec6.tickets", experiment=LOTTERY, evaluate=_fractions),
    Check(
        claim_id="purification.lemB.2",
        experiment=LOTTERY,
        evaluate=_tickets,
        reading="|S_sure| >= d^(gamma c0/4), not the printed d^(7 c0/4); c0 from m = d^(1 + c0), gamma = "
        "0.05.",
    ),
    Check(
        claim_id="purification.thmC.1",
        experiment=LOTTERY,
        evaluate=_all_over_their_phases(FIRST_PHASE),
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} Levels b(t) sqrt(1 +- c2/c1) move with the bias; S_pot has no sign condition; O(1) "
        "is 3.",
    ),
    Check(
        claim_id="purification.thmC.2",
        experiment=LOTTERY,
        evaluate=_all_over_their_phases(SECOND_PHASE),
        hypotheses=clean_hypotheses,
        reading=f"{TIMES} beta = 1/(sqrt(k) Xi2^10), where the text prints one root over both.",
    ),
)
