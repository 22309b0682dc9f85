"""Checks on the net of adversarial training: purification, robustness, movement, and the l_inf version."""

import math
from collections.abc import Callable, Sequence

from karat.papers.purification.checks.readings import (
    PURER,
    SMALL,
    at_least,
    at_most,
    average,
    both_must_hold,
    each,
    largest_standard,
    mean,
    measured,
    mixture_fall,
    robust_hypotheses,
    up_to_a_constant,
    worst_case,
)
from karat.papers.purification.experiments.l2 import L2, NetMeasures, TwoTrainingsResult
from karat.papers.purification.experiments.linf import LINF
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.claim import Check, Finding
from karat.study.run import Run

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


def _complement(values: Sequence[float]) -> list[float]:
    return [1 - value for value in values]


def _upper_ends(certified: Sequence[float | None]) -> list[float]:
    """Upper ends of the robust error from certified accuracies; none if some run was not certified."""
    known = [share for share in certified if share is not None]
    return _complement(known) if len(known) == len(certified) else []


def _certified_error(runs: TwoTrainings) -> list[float]:
    return _upper_ends([run.result.robust.certified for run in runs])


def _robust_error(every: TwoTrainings) -> Finding:
    """Strongest attack and certificate on the robust net, beside the oracles and the floor."""
    runs = largest_standard(every)
    attacked = average(measured(runs, "hard_attacked", lambda r: r.hard.attacked))
    certified = average(measured(runs, "hard_certified", lambda r: r.hard.certified))
    return worst_case(
        each(runs, lambda r: 1 - r.robust.pgd),
        _certified_error(runs),
        SMALL,
        f"o(1) is read as at most {SMALL:g}.",
        _bracket(runs),
        f"Before: {1 - mean(runs, lambda r: r.clean.pgd):.2f}. Exact features: soft threshold >= "
        f"{1 - mean(runs, lambda r: r.pure.pgd):.2f}, hard threshold in "
        f"[{1 - attacked:.2f}, {1 - certified:.2f}]; every classifier >= "
        f"{mean(runs, lambda r: r.error_floor):.3f}.",
    )


def _bracket(runs: TwoTrainings) -> str:
    """The robust error of both nets between attack and certificate, if they were certified."""
    if not _certified_error(runs):
        return ""

    def ends(stage: str, net: Callable[[TwoTrainingsResult], NetMeasures]) -> str:
        unbroken = average(measured(runs, f"{stage}_pgd_few", lambda r: net(r).pgd_few))
        certified = average(measured(runs, f"{stage}_certified", lambda r: net(r).certified))
        return f"[{1 - unbroken:.2f}, {1 - certified:.2f}]"

    before, after = ends("clean", lambda r: r.clean), ends("robust", lambda r: r.robust)
    return f"Robust error in [attack, certificate]: {before} before, {after} after."


def _purify(every: TwoTrainings) -> Finding:
    """The factor by which the mixture falls, while accuracy under the strongest attack rises."""
    runs = largest_standard(every)
    factors = each(runs, lambda r: mixture_fall(r.clean.ratio, r.robust.ratio))
    gains = each(runs, lambda r: r.robust.pgd - r.clean.pgd)
    note = (
        f"beta/alpha {mean(runs, lambda r: r.clean.ratio):.4f} -> "
        f"{mean(runs, lambda r: r.robust.ratio):.4f}, accuracy under "
        f"attack {mean(runs, lambda r: r.clean.pgd):.3f} -> "
        f"{mean(runs, lambda r: r.robust.pgd):.3f} (pure features "
        f"{mean(runs, lambda r: r.pure.pgd):.3f}). "
        f"{_hubs(runs)}"
    )
    first = at_least(factors, PURER, f"Judged against a factor of {PURER:g}.")
    return both_must_hold(first, at_least(gains, 0.0), note)


def _hubs(runs: TwoTrainings) -> str:
    """What deleting the densest neurons does instead of adversarial training."""
    count = runs[0].result.ablation_deleted[-1]
    _, without_hubs, _ = zip(*(run.result.ablation[-1] for run in runs), strict=True)
    return (
        f"Deleting the {count} densest neurons of the clean net instead lifts the universal direction's "
        f"accuracy from {mean(runs, lambda r: r.clean.universal):.2f} to "
        f"{average(without_hubs):.2f}: hubs carry much of the fragility."
    )


def _density(every: TwoTrainings) -> Finding:
    runs = largest_standard(every)
    note = (
        f"|c|_1^2/(d |c|_2^2) of PGD's perturbations: {mean(runs, lambda r: r.clean.density):.2f} -> "
        f"{mean(runs, lambda r: r.robust.density):.2f}; cosine with M w*: "
        f"{mean(runs, lambda r: r.clean.cosine):.2f} -> "
        f"{mean(runs, lambda r: r.robust.cosine):.2f}. Judged by a fall to less than half."
    )
    return at_most(each(runs, lambda r: r.robust.density / r.clean.density), 0.5, note)


def _linear_in_ball(every: TwoTrainings) -> Finding:
    runs = largest_standard(every)
    bound = 1 / math.log(runs[0].config.d)
    gaps = each(runs, lambda r: r.robust.gap_mean)
    # Ascent finds lower ends only, so a gap below the bound shows nothing.
    return up_to_a_constant(
        worst_case(gaps, [], bound),
        average(gaps) / bound,
        f"Before adversarial training the gap is {mean(runs, lambda r: r.clean.gap_mean):.2f}. Both "
        "are lower bounds on the supremum, found by ascent.",
    )


def _threshold(every: TwoTrainings) -> Finding:
    """Robust error of the oracle between its best perturbation and its certificate."""
    runs = largest_standard(every)
    clean = 1 - mean(runs, lambda r: r.hard.accuracy)
    return worst_case(
        _complement(measured(runs, "hard_attacked", lambda r: r.hard.attacked)),
        _upper_ends([run.result.hard.certified for run in runs]),
        SMALL,
        f"o(1) is read as at most {SMALL:g}; without attack it is {clean:.3f}.",
    )


def _radius_not_small(run: Run[OddNetConfig, TwoTrainingsResult]) -> list[str]:
    factor = run.config.tau_factor
    return [f"Sec 3: radius o(1/sqrt(k)), here {factor:g}/sqrt(k)"] if run.config.p == 2 else []


def _movement(every: TwoTrainings) -> Finding:
    """The largest share of the clean weights' energy that adversarial training has moved, over its steps."""
    runs = largest_standard(every)
    last = mean(runs, lambda r: r.movement)
    along = mean(runs, lambda r: r.movement_along) / last
    note = f"o(1) is read as at most {SMALL:g}; at the last step {last:.3f}, {along:.0%} of it along M w*."
    return at_most(each(runs, lambda r: max(r.movement_curve)), SMALL, note)


def _l_inf(every: TwoTrainings) -> Finding:
    """The clean net falls at k^-2, the robust one holds at k^-1.75."""
    from_pure = [run for run in every if run.config.start == "pure"]
    runs = largest_standard(from_pure or every)
    at_fall = measured(runs, "clean_at_fall", lambda r: r.clean_at_fall)
    low = _complement(measured(runs, "robust_at_hold", lambda r: r.robust_at_hold))
    high = _upper_ends([run.result.robust_certified_at_hold for run in runs])
    fall = average(measured(runs, "fall_radius", lambda r: r.fall_radius))
    hold = average(measured(runs, "hold_radius", lambda r: r.hold_radius))
    tau = mean(runs, lambda r: r.tau)
    certified = f", at most {average(high):.3f}" if high else ""
    note = (
        f"Accuracy of the clean net at k^-2 = {fall:.4f}. At k^-1.75 = {hold:.4f} the robust net errs on at "
        f"least {average(low):.3f}{certified}. Trained and attacked at {tau:.4f}, {tau / fall:.0f} "
        f"and {tau / hold:.0f} times these rates, the clean net keeps "
        f"{mean(runs, lambda r: r.clean.pgd):.3f} and the "
        f"robust one {mean(runs, lambda r: r.robust.pgd):.3f} (pure features "
        f"{mean(runs, lambda r: r.pure.pgd):.3f}); the weights "
        f"move by {max(max(run.result.movement_curve) for run in runs):.3f}."
    )
    return both_must_hold(
        at_most(at_fall, SMALL), worst_case(low, high, SMALL), note, _random_starts(every), _bracket(runs)
    )


def _random_starts(every: TwoTrainings) -> str:
    """What the same attacks do to nets from random starts, if some were run."""
    runs = [run for run in every if run.config.start == "random"]
    if not runs:
        return ""
    return (
        f"From random starts: {mean(runs, lambda r: r.clean.pgd):.3f} -> "
        f"{mean(runs, lambda r: r.robust.pgd):.3f}, moved by "
        f"{mean(runs, lambda r: r.movement):.2f}."
    )


CHECKS = (
    Check(
        claim_id="purification.sec5.purify",
        experiment=L2,
        evaluate=_purify,
        reading="beta/alpha over live neurons, N_i read off the trained weights (at least 0.3 of the "
        "largest).",
        headline=True,
    ),
    Check(claim_id="purification.sec5.density", experiment=L2, evaluate=_density),
    Check(
        claim_id="purification.thm5.3b",
        experiment=L2,
        evaluate=_robust_error,
        hypotheses=robust_hypotheses,
        reading="Every perturbation: it fails if the strongest attack exceeds the bound, and holds only if "
        "the certified upper end of the error stays below it.",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.3c",
        experiment=L2,
        evaluate=_movement,
        hypotheses=robust_hypotheses,
        reading="The largest over eleven steps of adversarial training, from the clean net of a random "
        "start.",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.4",
        experiment=LINF,
        evaluate=_l_inf,
        hypotheses=robust_hypotheses,
        reading="Row and column sums with absolute values; c0 = c1 = 0 in both radii, attacked from w = M. "
        "Training uses the radius 0.2 sqrt(V)/E|z|_0.",
        headline=True,
    ),
    Check(
        claim_id="purification.eqF.17",
        experiment=L2,
        evaluate=_linear_in_ball,
        hypotheses=robust_hypotheses,
    ),
    Check(
        claim_id="purification.sec3.threshold",
        experiment=L2,
        evaluate=_threshold,
        hypotheses=_radius_not_small,
        reading="Hard threshold at 1/(2 sqrt k), sign(0) = +1; the worst case is bracketed in the "
        "dictionary's basis.",
    ),
)
