"""Checks on attackers: perturbations that transfer, weak attackers, and attacks from the first step on."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.purification.checks.controls import NO_ADVERSARIAL_TRAINING, NO_TRAINING, SMALL_NET
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    PURER,
    SMALL,
    average,
    data_conditions,
    largest_standard,
    mean,
    mixture_fall,
)
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.random_init import RANDOM_INIT, RandomInitResult
from karat.papers.purification.experiments.transfer import TRANSFER, TransferConfig, TransferResult
from karat.papers.purification.experiments.weak_attackers import (
    WEAK_ATTACKERS,
    AttackerMeasures,
    WeakAttackersResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ACCURACY, RATIO, SHARE, Finding
from karat.study.judging import all_of, bound, noted
from karat.study.run import Run, examples

WeakAttackerRuns = Sequence[Run[OddNetConfig, WeakAttackersResult]]


def _transfer(every: Sequence[Run[TransferConfig, TransferResult]]) -> Finding:
    """The share of flips that transfer, beyond what a random direction flips, between nets that are right."""
    runs = largest_standard(every)
    beyond = [run.result.mean_rate - average(run.result.random) for run in runs]
    right = [min(run.result.accuracy[:-1]) for run in runs]
    return noted(
        all_of(bound(beyond, "at least", 0.5, SHARE), bound(right, "at least", 1 - SMALL, ACCURACY)),
        f"Of FGM's flips on one clean net {mean(runs, lambda r: r.mean_rate):.3f} also flip another, a "
        f"random direction flips {mean(runs, lambda r: average(r.random)):.3f}; the same perturbations flip "
        f"{mean(runs, lambda r: average(r.to_robust)):.2f} on a robust net; cosine "
        f"{mean(runs, lambda r: r.cosine):.2f}.",
    )


def _random_start(every: Sequence[Run[OddNetConfig, RandomInitResult]]) -> Finding:
    """The largest mixture ever met under attack, over the one that clean training ends with."""
    runs = largest_standard(every)
    peaks = [max(run.result.robust.ratio_curve) / run.result.clean.ratio for run in runs]
    end = mean(runs, lambda r: r.robust.ratio) / mean(runs, lambda r: r.clean.ratio)
    return noted(
        bound(peaks, "at most", 0.5, RATIO),
        f"At the end {end:.2f}. Accuracy under attack {mean(runs, lambda r: r.robust.pgd):.3f} against "
        f"{mean(runs, lambda r: r.clean.pgd):.3f}, without {mean(runs, lambda r: r.robust.accuracy):.3f} "
        f"against {mean(runs, lambda r: r.clean.accuracy):.3f}.",
    )


def _weak(every: WeakAttackerRuns) -> Finding:
    """The factor by which training against every attacker lowers the mixture."""
    runs = largest_standard(every)
    findings = []
    for name in runs[0].result.trained:
        factors = [mixture_fall(run.result.clean.ratio, run.result.trained[name].ratio) for run in runs]
        finding = bound(factors, "at least", PURER, RATIO)
        pgd = average([run.result.trained[name].pgd for run in runs])
        findings.append(noted(finding, f"{name}: factor {finding}, accuracy under PGD {pgd:.2f}."))
    return noted(
        all_of(*findings),
        f"Before: beta/alpha {mean(runs, lambda r: r.clean.ratio):.4f}, accuracy under PGD "
        f"{mean(runs, lambda r: r.clean.pgd):.2f}.",
    )


def _nets(rate: float) -> tuple[TransferConfig, TransferResult]:
    result = made_up(
        TransferResult, mean_rate=rate, random=[0.1, 0.1], to_robust=[0.2], accuracy=[0.9, 0.9, 0.9]
    )
    return TransferConfig(d=200, k=14), result


def _arms(peak: float) -> tuple[OddNetConfig, RandomInitResult]:
    clean, robust = {"ratio": 0.02}, {"ratio": 0.5 * peak, "ratio_curve": [0.0, peak]}
    return OddNetConfig(d=100, k=9), made_up(RandomInitResult, clean=clean, robust=robust)


def _trained(ratio: float, own_error: float) -> tuple[OddNetConfig, WeakAttackersResult]:
    nets = {name: made_up(AttackerMeasures, ratio=ratio, own_error=own_error) for name in ("fgm", "random")}
    result = made_up(WeakAttackersResult, clean={"ratio": 0.02}, trained=nets)
    return OddNetConfig(d=100, k=9), result


_UNTRAINED_NETS = replace(NO_TRAINING, cheap=SMALL_NET)
_NO_ADVERSARIAL_TRAINING = replace(NO_ADVERSARIAL_TRAINING, cheap=SMALL_NET)

CHECKS = (
    Check(
        claim_id="purification.sec6.transfer",
        experiment=TRANSFER,
        evaluate=_transfer,
        conditions=data_conditions,
        satisfied=examples(_nets(0.9)),
        violated=examples(_nets(0.3)),
        controls=(_UNTRAINED_NETS,),
        reading="Among points that FGM flips on the source and that the target gets right when clean; fools: "
        "one half more than a random direction of the same length, between nets that err on at most a "
        "quarter.",
        headline=True,
    ),
    Check(
        claim_id="purification.fig9.random",
        experiment=RANDOM_INIT,
        evaluate=_random_start,
        conditions=data_conditions,
        satisfied=examples(_arms(0.005)),
        violated=examples(_arms(0.018)),
        controls=(
            Control(
                name="no attack",
                removes="attack",
                settings={"tau_factor": 0.0},
                cheap=SMALL_NET,
                why="Adversarial training without perturbations is clean training and builds the mixture.",
            ),
        ),
        reading="'Never builds' is read as less than half of clean training's mixture at every step; the "
        "radius grows over 80% of training, which is ours.",
    ),
    Check(
        claim_id="purification.thm5.3a.weak",
        experiment=WEAK_ATTACKERS,
        evaluate=_weak,
        conditions=data_conditions,
        satisfied=examples(_trained(0.002, 0.1)),
        violated=examples(_trained(0.019, 0.5)),
        controls=(_NO_ADVERSARIAL_TRAINING,),
        reading=f"Purified means what it means for FGM, a mixture lower by a factor {PURER:g}, for each of "
        "six attackers; the weaker ones see half of the gradient, a frozen net, M w* alone, or nothing. "
        "Footnote 12 concedes that a bad attacker may leave mixtures.",
    ),
)
