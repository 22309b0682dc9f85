"""Checks on the net of clean training: it learns features, with mixtures that make it fragile."""

import math
from collections.abc import Callable, Sequence

from karat.papers.purification.checks.readings import (
    SMALL,
    at_least,
    at_most,
    average,
    both_must_hold,
    clean_hypotheses,
    each,
    fragile_hypotheses,
    largest_standard,
    mean,
    up_to_a_constant,
)
from karat.papers.purification.experiments.l2 import L2, TwoTrainingsResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.claim import Check, Finding
from karat.study.run import Run

TwoTrainings = Sequence[Run[OddNetConfig, TwoTrainingsResult]]


def _feature_learning(every: TwoTrainings) -> Finding:
    """Alignment with the start and coherence of the weights, both o(1)."""
    runs = largest_standard(every)
    alignment = each(runs, lambda r: r.start_alignment)
    coherence = each(runs, lambda r: r.clean.coherence)
    note = (
        f"Second ratio: {average(coherence):.3f} before, "
        f"{mean(runs, lambda r: r.robust.coherence):.3f} after adversarial training."
    )
    first = at_most(alignment, SMALL, f"o(1) is read as at most {SMALL:g}.")
    return both_must_hold(first, at_most(coherence, SMALL), note)


def _clean_error(every: TwoTrainings) -> Finding:
    runs = largest_standard(every)
    # The pure net shows which part of the error no training can remove.
    best = 1 - mean(runs, lambda r: r.pure.accuracy)
    note = f"o(1) is read as at most {SMALL:g}; the pure net itself errs on {best:.3f}."
    return at_most(each(runs, lambda r: 1 - r.clean.accuracy), SMALL, note)


def _universal(bound: float, reading: str) -> Callable[[TwoTrainings], Finding]:
    """Share of inputs that fall along -y M w*, against a bound."""

    def evaluate(every: TwoTrainings) -> Finding:
        runs = largest_standard(every)
        far = 1 - mean(runs, lambda r: r.clean.universal_far)
        note = f"{reading}; at 1.5 tau the share is {far:.2f}."
        return at_least(each(runs, lambda r: 1 - r.clean.universal), bound, note)

    return evaluate


def _paper_mixture(every: TwoTrainings) -> Finding:
    """The smallest c for which every clause holds up to d^(+-c): mean and largest beta, sizes of N_i."""
    runs = largest_standard(every)
    config = runs[0].config
    unit = config.d / config.k
    # What each clause says is of order one.
    ratios = {
        "mean of beta over k/d": each(runs, lambda r: r.clean.paper_beta * unit),
        "largest beta over k/d": each(runs, lambda r: max(1.0, r.clean.largest_beta * unit)),
        "largest |N_i|": each(runs, lambda r: r.clean.largest_own),
        "neurons of one feature over d": each(
            runs, lambda r: min(1.0, r.clean.single * r.clean.live * config.m / config.d)
        ),
    }
    powers = {
        name: [abs(math.log(max(value, 1e-300))) / math.log(config.d) for value in values]
        for name, values in ratios.items()
    }
    needed = [max(clauses) for clauses in zip(*powers.values(), strict=True)]
    listed = ", ".join(
        f"{name} {average(ratios[name]):.2g} (c = {average(powers[name]):.2f})" for name in ratios
    )
    allowed = config.theorem_setting().c0
    predicted = mean(runs, lambda r: r.support_ratio)
    ratio = mean(runs, lambda r: r.clean.ratio) / predicted
    median = mean(runs, lambda r: r.clean.ratio_median) / predicted
    return up_to_a_constant(
        at_most(needed, allowed),
        config.d ** (average(needed) - allowed),
        f"Judged by the smallest c that d^(+-c) needs, against c0 = {allowed:.2f} of m = d^(1 + c0): "
        f"{listed}. Dead neurons count in the mean of beta. On live ones beta/alpha is {ratio:.2f} of "
        f"E|z|_0/d, median {median:.2f}.",
    )


def _blindness(every: TwoTrainings) -> Finding:
    """How much more a mixture sees of the dense direction than of a natural input of the same length."""
    runs = largest_standard(every)
    config = runs[0].config
    along = each(runs, lambda r: r.clean.mixture_along)
    high = each(runs, lambda r: r.clean.mixture_on_data_high)
    data = mean(runs, lambda r: r.clean.mixture_on_data)
    alpha = mean(runs, lambda r: r.clean.alpha)
    small, large = config.k / config.d * alpha, config.k / math.sqrt(config.d) * alpha
    note = (
        f"|<v, x>|/|x| is at most {average(high) / small:.2f} k/d on 95% of neurons and inputs (mean "
        f"{data / small:.2f} k/d), |<v, delta>|/|delta| is {average(along) / large:.2f} k/sqrt(d) "
        "along M w*. The gain is at least sqrt(d) up to a power of log d, read as sqrt(d)/log(d)."
    )
    gains = [dense / natural for dense, natural in zip(along, high, strict=True)]
    return at_least(gains, math.sqrt(config.d) / math.log(config.d), note)


CHECKS = (
    Check(
        claim_id="purification.sec6.universal",
        experiment=L2,
        evaluate=_universal(0.5, "'A lot' is read as: most inputs change their class"),
        reading="Moved by -tau y M w*/|M w*|_2: the printed f(x - delta) would carry the sign twice.",
        headline=True,
    ),
    Check(
        claim_id="purification.eq6.2",
        experiment=L2,
        evaluate=_blindness,
        reading="v is the mixture of neurons of one feature, in units of that feature's coefficient; with "
        "high probability is read as on 95% of neurons and inputs.",
    ),
    Check(
        claim_id="purification.thm5.1a",
        experiment=L2,
        evaluate=_feature_learning,
        hypotheses=clean_hypotheses,
        reading="Weighted sums over all neurons, diagonal included.",
    ),
    Check(
        claim_id="purification.thm5.1b",
        experiment=L2,
        evaluate=_clean_error,
        hypotheses=clean_hypotheses,
        reading="Error of sign(E_rho f), which is deterministic; Thm 5.1 draws rho. sign(0) = +1 as printed: "
        "a net that sleeps on an input predicts +1, here and under attack.",
    ),
    Check(
        claim_id="purification.thm5.1c",
        experiment=L2,
        evaluate=_universal(1 - SMALL, f"1 - o(1) is read as at least {1 - SMALL:g}"),
        hypotheses=fragile_hypotheses,
        reading="f != y is read as sign(f) != y.",
    ),
    Check(
        claim_id="purification.thm5.2",
        experiment=L2,
        evaluate=_paper_mixture,
        hypotheses=clean_hypotheses,
        reading="beta_ij = <w_i, M_j>/w*_j, averaged over all m neurons and all d features off N_i; N_i is "
        "read off the trained weights (at least 0.3 of the largest), live neurons only for the largest ones.",
    ),
)
