"""Checks on the clean and the robust net: fragility, purification, movement, and the l_inf version."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from karat.claims.claim import Check, Finding
from karat.claims.evaluate import values_of
from karat.claims.purification.settings import (
    SMALL,
    at_least,
    at_most,
    both,
    clean_hypotheses,
    hidden,
    mean,
    plain,
    regime_of,
    robust_hypotheses,
    started,
)
from karat.experiments.record import Record

PURER = 3.0
"""By which factor the mixture must fall to be called removed."""


def _complement(records: Sequence[Record], name: str) -> list[float]:
    return [1 - value for value in values_of(records, name)]


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


def _universal(records: Sequence[Record]) -> Finding:
    """Error along -y M w*: most inputs fall."""
    own = plain(records)
    far = 1 - mean(own, "clean_universal_far")
    return at_least(
        _complement(own, "clean_universal"),
        0.5,
        f"1 - o(1) is read as most inputs; at 1.5 tau the share is {far:.2f}.",
    )


def _paper_mixture(records: Sequence[Record]) -> Finding:
    """Mean of beta over all m d pairs in units of k/d, with the exponent that d^c would need."""
    own = plain(records)
    regime = regime_of(own[0].config)
    values = [value * regime.d / regime.k for value in values_of(own, "clean_paper_beta")]
    power = abs(math.log(sum(values) / len(values))) / math.log(regime.d)
    finding = at_least(values, 1.0)
    return hidden(
        finding,
        sum(values) / len(values),
        f"Within d^(+-c) for c >= {power:.2f}; dead neurons count in the mean. On live ones beta/alpha is "
        f"{mean(own, 'clean_ratio') / mean(own, 'support_ratio'):.2f} of E|z|_0/d, median "
        f"{mean(own, 'clean_ratio_median') / mean(own, 'support_ratio'):.2f}; a share "
        f"{mean(own, 'clean_single'):.2f} leans on one feature, the largest hub on "
        f"{max(values_of(own, 'clean_largest_own')):.0f}.",
    )


def _training_attack(records: Sequence[Record]) -> Finding:
    own = plain(records)
    note = f"o(1) is read as at most {SMALL:g}; before: {1 - mean(own, 'clean_fgm'):.2f}."
    return at_most(_complement(own, "robust_fgm"), SMALL, note)


def _robust_error(records: Sequence[Record]) -> Finding:
    """Strongest attack and certificate on the robust net, beside the oracles and the floor."""
    own = plain(records)
    return at_most(
        _complement(own, "robust_pgd"),
        SMALL,
        f"o(1) is read as at most {SMALL:g}.",
        _bracket(own),
        f"Before: {1 - mean(own, 'clean_pgd'):.2f}. Exact features: soft threshold >= "
        f"{1 - mean(own, 'pure_pgd'):.2f}, hard threshold in [{1 - mean(own, 'hard_attacked'):.2f}, "
        f"{1 - mean(own, 'hard_certified'):.2f}]; every classifier >= {mean(own, 'error_floor'):.3f}.",
    )


def _bracket(own: Sequence[Record]) -> str:
    if not all("robust_certified" in record.values for record in own):
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
        "attack "
        f"{mean(own, 'clean_pgd'):.3f} -> {mean(own, 'robust_pgd'):.3f} (pure features "
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
    seen = zip(values_of(own, "clean_mixture_along"), values_of(own, "clean_mixture_on_data"), strict=True)
    values = [along / data for along, data in seen]
    note = (
        f"Per unit length: {mean(own, 'clean_mixture_on_data'):.4f} on data (k/d = "
        f"{regime.k / regime.d:.3g}), "
        f"{mean(own, 'clean_mixture_along'):.4f} along M w* (k/sqrt(d) = "
        f"{regime.k / math.sqrt(regime.d):.3g}); "
        "the predicted gain is at most sqrt(d), judged by a gain above 2."
    )
    return at_least(values, 2.0, note)


def _linear_in_ball(records: Sequence[Record]) -> Finding:
    own = plain(records)
    bound = 1 / math.log(regime_of(own[0].config).d)
    finding = at_most(values_of(own, "robust_gap_mean"), bound)
    return hidden(
        finding,
        mean(own, "robust_gap_mean") / bound,
        f"Before adversarial training the gap is {mean(own, 'clean_gap_mean'):.2f}. Both are lower bounds "
        "on the "
        "supremum, found by ascent.",
    )


def _threshold(records: Sequence[Record]) -> Finding:
    own = plain(records)
    low = mean(own, "hard_attacked")
    return at_least(
        values_of(own, "hard_certified"),
        1 - SMALL,
        f"1 - o(1) is read as at least {1 - SMALL:g}; certified from below, at most {low:.3f}.",
    )


def _not_small(config: Mapping[str, Any]) -> list[str]:
    return [f"Sec 3: radius o(1/sqrt(k)), here {config['tau_factor']:g}/sqrt(k)"] if config["p"] == 2 else []


def _support(records: Sequence[Record]) -> Finding:
    own = plain(records)
    k = regime_of(own[0].config).k
    low, high = mean(own, "support_low"), mean(own, "support_high")
    return at_least(
        [value / k for value in values_of(own, "support")],
        0.0,
        f"|z|_0 lies between {low:.0f} and {high:.0f} for 90% of the inputs; the constant is set by the "
        "law of z.",
    )


def _small_ball(records: Sequence[Record]) -> Finding:
    """Every model's robust error against the floor that holds for all classifiers."""
    own = plain(records)
    floor = mean(own, "error_floor")
    best = [1 - max(r.values["pure_pgd"], r.values["robust_pgd"], r.values["hard_attacked"]) for r in own]
    mass = own[0].values["boundary_mass"]
    return at_least(
        best,
        floor,
        f"Smallest error of pure, purified and hard-threshold nets against the floor under any classifier. "
        f"P(|<w*, z>| <= t) = {mass[0]:.2f}, {mass[1]:.2f}, {mass[2]:.2f} at t = 0.05, 0.1, 0.2.",
    )


def _movement(records: Sequence[Record]) -> Finding:
    own = plain(started(records, "pure"))
    others = [r for r in records if r.config["start"] == "random"]
    note = f"From random starts: {mean(others, 'movement'):.2f}." if others else ""
    along = mean(own, "movement_along") / mean(own, "movement")
    return at_most(
        values_of(own, "movement"),
        0.1,
        f"o(1) is read as below 0.1; {along:.0%} of it lies along M w*.",
        note,
    )


def _l_inf(records: Sequence[Record]) -> Finding:
    """The clean net falls, the robust one holds, at the same radius."""
    own = plain(started(records, "pure"))
    first = at_most(values_of(own, "clean_pgd"), SMALL)
    second = at_least(values_of(own, "robust_pgd"), 0.5)
    others = [r for r in records if r.config["start"] == "random"]
    more = (
        f"From random starts: {mean(others, 'clean_pgd'):.3f} -> {mean(others, 'robust_pgd'):.3f}."
        if others
        else ""
    )
    note = (
        f"Accuracy of the clean net under attack; the robust net keeps {mean(own, 'robust_pgd'):.3f} at "
        "the same "
        f"radius {mean(own, 'tau'):.4f} (pure features {mean(own, 'pure_pgd'):.3f}). {more}"
    )
    return both(first, second, note, _bracket(own))


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
        evaluate=_universal,
        reading="Moved by -tau y M w*/|M w*|_2: the printed f(x - delta) would carry the sign twice.",
        headline=True,
    ),
    Check(claim_id="purification.sec5.density", experiment=L2, evaluate=_density),
    Check(claim_id="purification.eq6.2", experiment=L2, evaluate=_blindness),
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
        reading="Error of sign(E_rho f), which is deterministic; Thm 5.1 draws rho.",
    ),
    Check(
        claim_id="purification.thm5.1c",
        experiment=L2,
        evaluate=_universal,
        hypotheses=clean_hypotheses,
        reading="f != y is read as sign(f) != y.",
    ),
    Check(
        claim_id="purification.thm5.2",
        experiment=L2,
        evaluate=_paper_mixture,
        hypotheses=clean_hypotheses,
        reading="beta_ij = <w_i, M_j>/w*_j, averaged over all m neurons and all d features off N_i.",
    ),
    Check(
        claim_id="purification.thm5.3a",
        experiment=L2,
        evaluate=_training_attack,
        hypotheses=robust_hypotheses,
        reading="The training attack is FGM; other attackers: purification.thm5.3a.weak.",
    ),
    Check(
        claim_id="purification.thm5.3b",
        experiment=L2,
        evaluate=_robust_error,
        hypotheses=robust_hypotheses,
        reading="Every perturbation: error of the strongest attack, with the certificate as upper end.",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.3c",
        experiment=LINF,
        evaluate=_movement,
        hypotheses=robust_hypotheses,
        reading="At the last step, from the clean net trained from w = M; o(1) read as below 0.1.",
        headline=True,
    ),
    Check(
        claim_id="purification.thm5.4",
        experiment=LINF,
        evaluate=_l_inf,
        hypotheses=robust_hypotheses,
        reading="Row and column sums with absolute values; one radius 0.2 sqrt(V)/E|z|_0 instead of two "
        "rates.",
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
        reading="Hard threshold at 1/(2 sqrt k); worst case bracketed in the dictionary's basis.",
    ),
    Check(claim_id="purification.fact2.2", experiment=L2, evaluate=_support),
    Check(
        claim_id="purification.lemH.1",
        experiment=L2,
        evaluate=_small_ball,
        reading="The floor pairs inputs of opposite label by reflecting the sizes of small codes.",
    ),
)
