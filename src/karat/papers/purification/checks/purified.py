"""Checks on purification itself: mixtures go, perturbations become sparse, weights hardly move."""

from collections.abc import Sequence

from karat.papers.purification.checks.controls import NO_ADVERSARIAL_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    FACTOR,
    PURER,
    average,
    data_conditions,
    each,
    largest_standard,
    mean,
    mixture_fall,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import ACCURACY, RATIO, Finding
from karat.study.judging import all_of, bound, noted
from karat.study.run import Run, examples

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


def _purify(every: TwoTrainings) -> Finding:
    """A mixture that is there and goes, fragility that comes with it, and no few neurons that explain it."""
    runs = largest_standard(every)
    # Without its densest neurons the clean net shows what the mixture of all the others does alone.
    _, without_hubs, _ = zip(*(run.result.ablation[-1] for run in runs), strict=True)
    back = [
        share - (run.result.clean.universal + run.result.robust.universal) / 2
        for share, run in zip(without_hubs, runs, strict=True)
    ]
    return noted(
        all_of(
            bound(
                each(runs, lambda r: mixture_fall(r.clean.ratio, r.robust.ratio)), "at least", PURER, RATIO
            ),
            bound(each(runs, lambda r: r.clean.ratio / r.support_ratio), "at least", 1 / FACTOR, RATIO),
            bound(each(runs, lambda r: r.clean.pgd / r.clean.accuracy), "at most", 0.5, ACCURACY),
            bound(
                each(runs, lambda r: r.robust.pgd - (r.clean.pgd + r.pure.pgd) / 2), "at least", 0.0, RATIO
            ),
            bound(back, "at most", 0.0, RATIO),
        ),
        f"beta/alpha {mean(runs, lambda r: r.clean.ratio):.4f} -> "
        f"{mean(runs, lambda r: r.robust.ratio):.4f}, accuracy under attack "
        f"{mean(runs, lambda r: r.clean.pgd):.3f} -> {mean(runs, lambda r: r.robust.pgd):.3f} (pure features "
        f"{mean(runs, lambda r: r.pure.pgd):.3f}).",
        f"Deleting the {runs[0].result.ablation_deleted[-1]} densest neurons of the clean net instead moves "
        f"the universal direction's accuracy from {mean(runs, lambda r: r.clean.universal):.2f} to "
        f"{average(without_hubs):.2f}, adversarial training to "
        f"{mean(runs, lambda r: r.robust.universal):.2f}.",
    )


def _density(every: TwoTrainings) -> Finding:
    """The density of perturbations: at least one half before, less than half of that after."""
    runs = largest_standard(every)
    return noted(
        all_of(
            bound(each(runs, lambda r: r.robust.density / r.clean.density), "at most", 0.5, RATIO),
            bound(each(runs, lambda r: r.clean.density), "at least", 0.5, RATIO),
        ),
        f"|c|_1^2/(d |c|_2^2) of PGD's perturbations: {mean(runs, lambda r: r.clean.density):.2f} -> "
        f"{mean(runs, lambda r: r.robust.density):.2f}; cosine with M w*: "
        f"{mean(runs, lambda r: r.clean.cosine):.2f} -> {mean(runs, lambda r: r.robust.cosine):.2f}.",
    )


def _purified(factor: float, robust: float) -> tuple[OddNetConfig, TwoTrainingsResult]:
    result = made_up(
        TwoTrainingsResult,
        movement_curve=[0.1],
        clean={"ratio": 0.02, "pgd": 0.2, "universal": 0.2, "accuracy": 0.9, "density": 0.6},
        robust={"ratio": 0.02 / factor, "pgd": robust, "universal": robust, "density": 0.6 / factor},
        pure={"pgd": 0.8},
        support_ratio=0.02,
        ablation=[[0.9, 0.25, 0.2]],
        ablation_deleted=[20],
    )
    return OddNetConfig(d=200, k=14), result


CHECKS = (
    Check(
        claim_id="purification.sec5.purify",
        experiment=L2,
        evaluate=_purify,
        conditions=data_conditions,
        satisfied=examples(_purified(5.0, 0.7)),
        violated=examples(_purified(1.1, 0.25)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="beta/alpha over live neurons, N_i read off the trained weights (at least 0.3 of the "
        f"largest). Removed: lower by a factor {PURER:g}, from at least half of E|z|_0/d. Fragile: attacks "
        "take half of the accuracy. Returns: nearer to the pure net than to the clean one. By the mixture, "
        "not by a few hubs: without its densest neurons the clean net stays nearer to itself than to the "
        "robust one.",
        headline=True,
    ),
    Check(
        claim_id="purification.sec5.density",
        experiment=L2,
        evaluate=_density,
        conditions=data_conditions,
        satisfied=examples(_purified(5.0, 0.7)),
        violated=examples(_purified(1.1, 0.25)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="Density |c|_1^2/(d |c|_2^2) in the dictionary; dense: at least one half, where all "
        "features alike have 1 and a Gaussian direction 2/pi; sparse: less than half of what it was.",
    ),
)
