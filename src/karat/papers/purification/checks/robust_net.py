"""Checks on the net of adversarial training: its robustness, why it is robust, and the l_inf version."""

import math
from collections.abc import Sequence
from typing import Any

from karat.core.statistics import fit_power_law
from karat.papers.purification.checks.controls import NO_ADVERSARIAL_TRAINING, NO_TRAINING
from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    SMALL,
    average,
    each,
    halfway,
    largest_standard,
    mean,
    measured,
    over_d,
    robust_conditions,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.linf import LINF
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.check import Check
from karat.study.finding import ACCURACY, ERROR, EXPONENT, RATIO, Finding
from karat.study.judging import Undecided, all_of, bound, certified, noted
from karat.study.judging.common import LEVEL
from karat.study.run import Run, examples

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


def _complement(values: Sequence[float]) -> list[float]:
    return [1 - value for value in values]


def _upper_ends(shares: Sequence[float | None]) -> list[float]:
    """Upper ends of the robust error from certified accuracies; none if some run was not certified."""
    known = [share for share in shares if share is not None]
    return _complement(known) if len(known) == len(shares) else []


def _robust_error(every: TwoTrainings) -> Finding:
    """Strongest attack and certificate on the robust net, beside the oracles and the floor."""
    runs = largest_standard(every)
    attacked = average(measured(runs, "hard_attacked", lambda r: r.hard.attacked))
    proven = average(measured(runs, "hard_certified", lambda r: r.hard.certified))
    return noted(
        certified(
            each(runs, lambda r: 1 - r.robust.pgd),
            _upper_ends([run.result.robust.certified for run in runs]),
            SMALL,
            ERROR,
        ),
        f"Before: {1 - mean(runs, lambda r: r.clean.pgd):.2f}. Exact features: soft threshold >= "
        f"{1 - mean(runs, lambda r: r.pure.pgd):.2f}, hard threshold in "
        f"[{1 - attacked:.2f}, {1 - proven:.2f}]; every classifier >= "
        f"{mean(runs, lambda r: r.error_floor):.3f}.",
    )


def _linear_in_ball(every: TwoTrainings) -> Finding:
    """The exponent in d of the deviation from the tangent over 1/log d, and that it is less than before."""
    d, below = over_d(every, lambda run: run.result.robust.gap_mean * math.log(run.config.d))
    _, above = over_d(every, lambda run: run.result.robust.gap_bound * math.log(run.config.d))
    if len(d) < 3 or not below or min(map(min, below)) <= 0:
        raise Undecided("an exponent needs three d, with a deviation at each")
    runs = largest_standard(every)
    # Ascent finds lower ends only: it can refute that one constant serves, the upper ends can show it.
    low, high = ([fit_power_law(d, row, LEVEL).exponent for row in table] for table in (below, above))
    return noted(
        all_of(
            certified(low, high, halfway(0.25, "a deviation that grows like sqrt(k)").size, EXPONENT),
            bound(each(runs, lambda r: r.robust.gap_mean / r.clean.gap_mean), "at most", 0.5, RATIO),
        ),
        f"Deviation at the largest d in [{mean(runs, lambda r: r.robust.gap_mean):.2f}, "
        f"{mean(runs, lambda r: r.robust.gap_bound):.2f}], ascent and upper bound; before adversarial "
        f"training [{mean(runs, lambda r: r.clean.gap_mean):.2f}, "
        f"{mean(runs, lambda r: r.clean.gap_bound):.2f}].",
    )


def _l_inf(every: TwoTrainings) -> Finding:
    """The clean net falls at k^-2, the robust one holds at k^-1.75."""
    runs = largest_standard([run for run in every if run.config.start == "pure"] or every)
    at_fall = measured(runs, "clean_at_fall", lambda r: r.clean_at_fall)
    low = _complement(measured(runs, "robust_at_hold", lambda r: r.robust_at_hold))
    high = _upper_ends([run.result.robust_certified_at_hold for run in runs])
    fall = average(measured(runs, "fall_radius", lambda r: r.fall_radius))
    hold = average(measured(runs, "hold_radius", lambda r: r.hold_radius))
    tau = mean(runs, lambda r: r.tau)
    return noted(
        all_of(bound(at_fall, "at most", SMALL, ACCURACY), certified(low, high, SMALL, ERROR)),
        f"Accuracy of the clean net at k^-2 = {fall:.4f} is {average(at_fall):.3f}; the robust net errs on "
        f"at least {average(low):.3f} at k^-1.75 = {hold:.4f}.",
        f"Trained and attacked at {tau:.4f}, {tau / fall:.0f} and {tau / hold:.0f} times these rates, the "
        f"clean net keeps {mean(runs, lambda r: r.clean.pgd):.3f} and the robust one "
        f"{mean(runs, lambda r: r.robust.pgd):.3f} (pure features {mean(runs, lambda r: r.pure.pgd):.3f}); "
        f"the weights move by {mean(runs, lambda r: max(r.movement_curve)):.3f}.",
    )


def _cell(d: int = 200, k: int = 14, **values: Any) -> tuple[OddNetConfig, TwoTrainingsResult]:
    whole = {
        "hard": {"accuracy": 1.0, "attacked": 0.9, "certified": 0.9},
        "movement_curve": [0.1],
        "tau": 0.1,
    }
    return OddNetConfig(d=d, k=k), made_up(TwoTrainingsResult, **(whole | values))


def _deviations(power: float) -> list[tuple[OddNetConfig, TwoTrainingsResult]]:
    return [
        _cell(
            d,
            k,
            clean={"gap_mean": 5.0 * d**power, "gap_bound": 9.0 * d**power},
            robust={"gap_mean": d**power, "gap_bound": 2 * d**power},
        )
        for d, k in ((50, 7), (100, 9), (200, 14))
    ]


def _printed(fallen: float, held: float) -> tuple[OddNetConfig, TwoTrainingsResult]:
    return _cell(
        fall_radius=0.005,
        hold_radius=0.01,
        clean_at_fall=fallen,
        robust_at_hold=held,
        robust_certified_at_hold=held,
    )


CHECKS = (
    Check(
        claim_id="purification.thm5.3b",
        experiment=L2,
        evaluate=_robust_error,
        conditions=robust_conditions,
        satisfied=examples(_cell(robust={"pgd": 0.9, "certified": 0.85})),
        violated=examples(_cell(robust={"pgd": 0.5, "certified": 0.4})),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading=f"o(1) is read as at most {SMALL:g}. Every perturbation: it fails if the strongest attack "
        "exceeds the bound, and holds only if the certified upper end of the error, on the few points that "
        "are certified, stays below it.",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.4",
        experiment=LINF,
        evaluate=_l_inf,
        conditions=robust_conditions,
        satisfied=examples(_printed(0.1, 0.9)),
        violated=examples(_printed(0.9, 0.9)),
        controls=(NO_TRAINING,),
        reading="Row and column sums with absolute values; c0 = c1 = 0 in both radii, attacked from w = M. "
        f"o(1) is read as at most {SMALL:g}.",
        headline=True,
    ),
    Check(
        claim_id="purification.eqF.17",
        experiment=L2,
        evaluate=_linear_in_ball,
        conditions=robust_conditions,
        satisfied=examples(*_deviations(-0.3)),
        violated=examples(*_deviations(0.5)),
        controls=(NO_ADVERSARIAL_TRAINING,),
        reading="One constant over d read as an exponent of deviation times log d nearer to 0 than to 1/4 "
        "(sqrt(k)), means over inputs; refuted by ascent, shown by the sum over neurons of the largest "
        "deviation of each. That it is the purified net: at most half of the clean net's deviation.",
    ),
)
