"""Checks on attackers: perturbations that transfer, weak attackers, and attacks from the first step on."""

from collections.abc import Sequence

import numpy as np

from karat.papers.purification.checks.readings import (
    PURER,
    SMALL,
    at_least,
    at_most,
    average,
    each,
    largest_standard,
    mean,
    mixture_fall,
    robust_hypotheses,
)
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.random_init import RANDOM_INIT, RandomInitResult
from karat.papers.purification.experiments.transfer import TRANSFER, TransferConfig, TransferResult
from karat.papers.purification.experiments.weak_attackers import WEAK_ATTACKERS, WeakAttackersResult
from karat.study.claim import Check, Finding
from karat.study.run import Run

WeakAttackerRuns = Sequence[Run[OddNetConfig, WeakAttackersResult]]


def _transfer(every: Sequence[Run[TransferConfig, TransferResult]]) -> Finding:
    runs = largest_standard(every)
    random = float(np.mean([run.result.random for run in runs]))
    robust = float(np.mean([run.result.to_robust for run in runs]))
    note = (
        f"Share of FGM's flips on one clean net that also flip another; a random direction flips "
        f"{random:.3f}, the same perturbations flip {robust:.2f} on a robust net; cosine "
        f"{mean(runs, lambda r: r.cosine):.2f}. Judged against one half."
    )
    return at_least(each(runs, lambda r: r.mean_rate), 0.5, note)


def _random_start(every: Sequence[Run[OddNetConfig, RandomInitResult]]) -> Finding:
    """The largest mixture ever met under attack, over the one that clean training ends with."""
    runs = largest_standard(every)
    peaks = each(runs, lambda r: max(r.robust.ratio_curve) / r.clean.ratio)
    end = mean(runs, lambda r: r.robust.ratio) / mean(runs, lambda r: r.clean.ratio)
    note = (
        "Largest beta/alpha during adversarial training over clean training's last, judged against one "
        f"half; at the end {end:.2f}. Accuracy under attack {mean(runs, lambda r: r.robust.pgd):.3f} against "
        f"{mean(runs, lambda r: r.clean.pgd):.3f}."
    )
    return at_most(peaks, 0.5, note)


def _own_attack(every: WeakAttackerRuns) -> Finding:
    """The largest error over the attackers, each on the net trained against it."""
    runs = largest_standard(every)
    worst = each(runs, lambda r: max(net.own_error for net in r.trained.values()))
    listed = ", ".join(
        f"{name} {average([run.result.trained[name].own_error for run in runs]):.2f}"
        for name in runs[0].result.trained
    )
    return at_most(worst, SMALL, f"o(1) is read as at most {SMALL:g}, for every attacker: {listed}.")


def _weak(every: WeakAttackerRuns) -> Finding:
    """The least factor by which training against some attacker lowers the mixture."""
    runs = largest_standard(every)
    factors = each(runs, lambda r: min(mixture_fall(r.clean.ratio, net.ratio) for net in r.trained.values()))
    listed = ", ".join(
        f"{name} {average([run.result.trained[name].ratio for run in runs]):.4f} "
        f"({average([run.result.trained[name].pgd for run in runs]):.2f})"
        for name in runs[0].result.trained
    )
    note = (
        f"Smallest factor over all attackers, judged against {PURER:g}. beta/alpha from "
        f"{mean(runs, lambda r: r.clean.ratio):.4f} (accuracy under PGD "
        f"{mean(runs, lambda r: r.clean.pgd):.2f}) to: {listed}. "
        "Footnote 12 concedes that a bad attacker leaves mixtures: random directions do."
    )
    return at_least(factors, PURER, note)


CHECKS = (
    Check(
        claim_id="purification.sec6.transfer",
        experiment=TRANSFER,
        evaluate=_transfer,
        reading="Among points that FGM flips on the source and that the target gets right when clean.",
        headline=True,
    ),
    Check(
        claim_id="purification.fig9.random",
        experiment=RANDOM_INIT,
        evaluate=_random_start,
        reading="'Never builds' is read as less than half of clean training's mixture at every step; the "
        "radius grows over 80% of training, at full radius from the start most neurons never wake.",
    ),
    Check(
        claim_id="purification.thm5.3a",
        experiment=WEAK_ATTACKERS,
        evaluate=_own_attack,
        hypotheses=robust_hypotheses,
        reading="Six attackers, from PGD to random directions: each is judged by its own error on the net "
        "trained against it, and the worst one counts.",
    ),
    Check(
        claim_id="purification.thm5.3a.weak",
        experiment=WEAK_ATTACKERS,
        evaluate=_weak,
        hypotheses=robust_hypotheses,
        reading="Purified means what it means for FGM, a mixture lower by a factor 3, for each of six "
        "attackers; the weaker ones see half of the gradient, a frozen net, M w* alone, or nothing.",
    ),
)
