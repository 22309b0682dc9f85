"""Checks on the clean and the robust net: fragility, purification, movement, and the l_inf version."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from karat.papers.purification.checks.settings import (
    SMALL,
    at_least,
    at_most,
    both,
    clean_hypotheses,
    fragile_hypotheses,
    hidden,
    mean,
    plain,
    regime_of,
    robust_hypotheses,
    started,
    worst_case,
)
from karat.study.claim import Check, Finding
from karat.study.evaluate import values_of
from karat.study.record import Record

PURER = 3.0
"""By which factor the mixture must fall to be called removed."""


def _complement(records: Sequence[Record], name: str) -> list[float]:
    return [1 - value for value in values_of(records, name)]


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _features(records: Sequence[Record]) -> Finding:
    """Alignment with the start and coherence of the weights, both o(1)."""
    own = plain(records)
    first = at_most(values_of(own, "start_alignment"), SMALL, f"o(1) is read as at most {SMALL:g}.")
    second = at_most(values_of(own, "clean_coherence"), SMALL)
    note = (
        f"Second ratio: {mean(own, 'clean_coherence'):.3f} before, "
        f"{mean(own, 'robust_coherence'):.3f} after adversarial training."
    )
    return both(first, second, note)


def _clean_error(records: Sequence[Record]) -> Finding:
    own = plain(records)
    best = 1 - mean(own, "pure_accuracy")
    note = f"o(1) is read as at most {SMALL:g}; the pure net itself errs on {best:.3f}."
    return at_most(_complement(own, "clean_accuracy"), SMALL, note)


def _universal(bound: float, read: str) -> Callable[[Sequence[Record]], Finding]:
    """Share of inputs that fall along -y M w*."""

    def evaluate(records: Sequence[Record]) -> Finding:
        own = plain(records)
        far = 1 - mean(own, "clean_universal_far")
        note = f"{read}; at 1.5 tau the share is {far:.2f}."
        return at_least(_complement(own, "clean_universal"), bound, note)

    return evaluate


def _paper_mixture(records: Sequence[Record]) -> Finding:
    """The smallest c for which every clause holds up to d^(+-c): mean and largest beta, sizes of N_i."""
    own = plain(records)
    regime = regime_of(own[0].config)
    unit = regime.d / regime.k
    ratios = {
        "mean of beta over k/d": [value * unit for value in values_of(own, "clean_paper_beta")],
        "largest beta over k/d": [max(1.0, value * unit) for value in values_of(own, "clean_largest_beta")],
        "largest |N_i|": values_of(own, "clean_largest_own"),
        "neurons of one feature over d": [
            min(1.0, single * live * regime.m / regime.d)
            for single, live in zip(*(values_of(own, f"clean_{n}") for n in ("single", "live")), strict=True)
        ],
    }
    powers = {
        name: [abs(math.log(max(value, 1e-300))) / math.log(regime.d) for value in values]
        for name, values in ratios.items()
    }
    needed = [max(found) for found in zip(*powers.values(), strict=True)]
    told = ", ".join(
        f"{name} {_average(ratios[name]):.2g} (c = {_average(powers[name]):.2f})" for name in ratios
    )
    allowed = regime.setting().c0
    return hidden(
        at_most(needed, allowed),
        regime.d ** (_average(needed) - allowed),
        f"Judged by the smallest c that d^(+-c) needs, against c0 = {allowed:.2f} of m = d^(1 + c0): {told}. "
        "Dead neurons count in the mean of beta. On live ones beta/alpha is "
        f"{mean(own, 'clean_ratio') / mean(own, 'support_ratio'):.2f} of E|z|_0/d, median "
        f"{mean(own, 'clean_ratio_median') / mean(own, 'support_ratio'):.2f}.",
    )


def _robust_error(records: Sequence[Record]) -> Finding:
    """Strongest attack and certificate on the robust net, beside the oracles and the floor."""
    own = plain(records)
    return worst_case(
        _complement(own, "robust_pgd"),
        _certified(own, "robust_certified"),
        SMALL,
        f"o(1) is read as at most {SMALL:g}.",
        _bracket(own),
        f"Before: {1 - mean(own, 'clean_pgd'):.2f}. Exact features: soft threshold >= "
        f"{1 - mean(own, 'pure_pgd'):.2f}, hard threshold in [{1 - mean(own, 'hard_attacked'):.2f}, "
        f"{1 - mean(own, 'hard_certified'):.2f}]; every classifier >= {mean(own, 'error_floor'):.3f}.",
    )


def _certified(own: Sequence[Record], name: str) -> list[float]:
    """Upper ends of the robust error; none if some record was not certified."""
    return _complement(own, name) if all(name in record.values for record in own) else []


def _bracket(own: Sequence[Record]) -> str:
    if not _certified(own, "robust_certified"):
        return ""
    low, high = (
        f"[{1 - mean(own, f'{s}_pgd_few'):.2f}, {1 - mean(own, f'{s}_certified'):.2f}]"
        for s in ("clean", "robust")
    )
    return f"Robust error in [attack, certificate]: {low} before, {high} after."


def _purify(records: Sequence[Record]) -> Finding:
    """The factor by which the mixture falls, while accuracy under the strongest attack rises."""
    own = plain(records)
    # A ratio that has passed through zero is gone: the factor is then as large as one likes.
    factor = [
        c / max(abs(r), 1e-6)
        for c, r in zip(*(values_of(own, f"{s}_ratio") for s in ("clean", "robust")), strict=True)
    ]
    gain = [r - c for c, r in zip(*(values_of(own, f"{s}_pgd") for s in ("clean", "robust")), strict=True)]
    first = at_least([min(value, 100.0) for value in factor], PURER, f"Judged against a factor of {PURER:g}.")
    note = (
        f"beta/alpha {mean(own, 'clean_ratio'):.4f} -> {mean(own, 'robust_ratio'):.4f}, accuracy under "
        f"attack {mean(own, 'clean_pgd'):.3f} -> {mean(own, 'robust_pgd'):.3f} (pure features "
        f"{mean(own, 'pure_pgd'):.3f}). "
        f"{_hubs(own)}"
    )
    return both(first, at_least(gain, 0.0), note)


def _hubs(own: Sequence[Record]) -> str:
    rows = [record.values["ablation"][-1] for record in own]
    count = own[0].values["ablation_deleted"][-1]
    universal = sum(row[1] for row in rows) / len(rows)
    return (
        f"Deleting the {count} densest neurons of the clean net instead lifts the universal direction's "
        "accuracy "
        f"from {mean(own, 'clean_universal'):.2f} to {universal:.2f}: hubs carry much of the fragility."
    )


def _density(records: Sequence[Record]) -> Finding:
    own = plain(records)
    ratio = [
        r / c for c, r in zip(*(values_of(own, f"{s}_density") for s in ("clean", "robust")), strict=True)
    ]
    note = (
        f"|c|_1^2/(d |c|_2^2) of PGD's perturbations: {mean(own, 'clean_density'):.2f} -> "
        f"{mean(own, 'robust_density'):.2f}; cosine with M w*: {mean(own, 'clean_cosine'):.2f} -> "
        f"{mean(own, 'robust_cosine'):.2f}. Judged by a fall to less than half."
    )
    return at_most(ratio, 0.5, note)


def _blindness(records: Sequence[Record]) -> Finding:
    """How much more a mixture sees of the dense direction than of a natural input of the same length."""
    own = plain(records)
    regime = regime_of(own[0].config)
    names = ("along", "on_data_high", "on_data")
    along, high, data = (values_of(own, f"clean_mixture_{name}") for name in names)
    alpha = mean(own, "clean_alpha")
    small, large = regime.k / regime.d * alpha, regime.k / math.sqrt(regime.d) * alpha
    note = (
        f"|<v, x>|/|x| is at most {_average(high) / small:.2f} k/d on 95% of neurons and inputs (mean "
        f"{_average(data) / small:.2f} k/d), |<v, delta>|/|delta| is {_average(along) / large:.2f} k/sqrt(d) "
        "along M w*. The gain is at least sqrt(d) up to a power of log d, read as sqrt(d)/log(d)."
    )
    gains = [first / second for first, second in zip(along, high, strict=True)]
    return at_least(gains, math.sqrt(regime.d) / math.log(regime.d), note)


def _linear_in_ball(records: Sequence[Record]) -> Finding:
    own = plain(records)
    bound = 1 / math.log(regime_of(own[0].config).d)
    finding = worst_case(values_of(own, "robust_gap_mean"), [], bound)
    return hidden(
        finding,
        mean(own, "robust_gap_mean") / bound,
        f"Before adversarial training the gap is {mean(own, 'clean_gap_mean'):.2f}. Both are lower bounds "
        "on the supremum, found by ascent.",
    )


def _threshold(records: Sequence[Record]) -> Finding:
    """Robust error of the oracle between its best perturbation and its certificate."""
    own = plain(records)
    return worst_case(
        _complement(own, "hard_attacked"),
        _certified(own, "hard_certified"),
        SMALL,
        f"o(1) is read as at most {SMALL:g}; without attack it is {1 - mean(own, 'hard_accuracy'):.3f}.",
    )


def _not_small(config: Mapping[str, Any]) -> list[str]:
    return [f"Sec 3: radius o(1/sqrt(k)), here {config['tau_factor']:g}/sqrt(k)"] if config["p"] == 2 else []


def _movement(records: Sequence[Record]) -> Finding:
    """The largest share of the clean weights' energy that adversarial training has moved, over its steps."""
    own = plain(records)
    along = mean(own, "movement_along") / mean(own, "movement")
    note = (
        f"o(1) is read as at most {SMALL:g}; at the last step {mean(own, 'movement'):.3f}, {along:.0%} of it "
        "along M w*."
    )
    return at_most([max(record.values["movement_curve"]) for record in own], SMALL, note)


def _l_inf(records: Sequence[Record]) -> Finding:
    """The clean net falls at k^-2, the robust one holds at k^-1.75."""
    own = plain(started(records, "pure"))
    first = at_most(values_of(own, "clean_at_fall"), SMALL)
    errors = _complement(own, "robust_at_hold"), _certified(own, "robust_certified_at_hold")
    second = worst_case(*errors, SMALL)
    fall, hold, tau = (mean(own, name) for name in ("fall_radius", "hold_radius", "tau"))
    certified = f", at most {_average(errors[1]):.3f}" if errors[1] else ""
    others = [r for r in records if r.config["start"] == "random"]
    note = (
        f"Accuracy of the clean net at k^-2 = {fall:.4f}. At k^-1.75 = {hold:.4f} the robust net errs on at "
        f"least {_average(errors[0]):.3f}{certified}. Trained and attacked at {tau:.4f}, {tau / fall:.0f} "
        f"and {tau / hold:.0f} times these rates, the clean net keeps {mean(own, 'clean_pgd'):.3f} and the "
        f"robust one {mean(own, 'robust_pgd'):.3f} (pure features {mean(own, 'pure_pgd'):.3f}); the weights "
        f"move by {max(max(r.values['movement_curve']) for r in own):.3f}."
    )
    more = (
        f"From random starts: {mean(others, 'clean_pgd'):.3f} -> {mean(others, 'robust_pgd'):.3f}, moved by "
        f"{mean(others, 'movement'):.2f}."
        if others
        else ""
    )
    return both(first, second, note, more, _bracket(own))


L2, LINF = "purification.l2", "purification.linf"

CHECKS = (
    Check(
        claim_id="purification.sec5.purify",
        experiment=L2,
        evaluate=_purify,
        reading="beta/alpha over live neurons, N_i read off the trained weights (at least 0.3 of the "
        "largest).",
        headline=True,
    ),
    Check(
        claim_id="purification.sec6.universal",
        experiment=L2,
        evaluate=_universal(0.5, "'A lot' is read as: most inputs change their class"),
        reading="Moved by -tau y M w*/|M w*|_2: the printed f(x - delta) would carry the sign twice.",
        headline=True,
    ),
    Check(claim_id="purification.sec5.density", experiment=L2, evaluate=_density),
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
        evaluate=_features,
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
        hypotheses=_not_small,
        reading="Hard threshold at 1/(2 sqrt k), sign(0) = +1; the worst case is bracketed in the "
        "dictionary's basis.",
    ),
)
