"""Checks of the capacity lower bound: the shattering construction and the smallest nets."""

from collections.abc import Sequence

from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, say, select, setting, with_caveat
from karat.study.evaluate import lower_bound_finding, values_of
from karat.study.record import Record


def _shattered(records: Sequence[Record]) -> Finding:
    own = select(records, printed=False)
    finding = lower_bound_finding(values_of(own, "shattered"), 1.0, deterministic=True)
    gap = max(abs(r.values["ratio_measured"] / r.values["ratio"] - 1) for r in own)
    largest = max(int(r.values["points"]) for r in own)
    tried = sum(int(r.config["labellings"]) for r in own)
    return with_caveat(
        finding,
        f"Share of {tried} random labellings of up to {largest} points for which all balls hold their "
        "points, lie on their sides and have centres more than 2 tau apart.",
        f"gamma_k = sqrt d (1 - 1/k + 1/d)/2, met by bisection to {gap:.0e}.",
    )


def _printed(records: Sequence[Record]) -> Finding:
    own = select(records, printed=True)
    finding = lower_bound_finding(values_of(own, "shattered"), 1.0, deterministic=True)
    rows = {r.config["d"]: r.values["shattered"] for r in own if r.seed == 0}
    return with_caveat(
        finding,
        "Share of labellings shattered with the printed maximum, by d: "
        + ", ".join(f"{d}: {share:.2f}" for d, share in sorted(rows.items()))
        + "; with the minimum it is 1.",
    )


def _capacity(records: Sequence[Record]) -> Finding:
    """Exponent in d of the smallest number of parameters found, robust against ordinary."""
    share = max(record.config["share"] for record in records)

    def slope(at: float, predicted: float) -> tuple[Finding, str]:
        own = [r for r in select(records, share=at) if r.values["parameters"] is not None]
        x, table = curves(own, setting("d"), lambda r: float(r.values["parameters"]))
        means = [sum(column) / len(column) for column in zip(*table, strict=True)]
        listed = ", ".join(f"{d:g}: {value:.0f}" for d, value in zip(x, means, strict=True))
        return power(x, table, predicted, resolution=0.5), listed

    robust, robust_list = slope(share, 1.0)
    clean, clean_list = slope(0.0, 0.0)
    missing = sum(r.values["parameters"] is None for r in select(records, share=share))
    n = records[0].values["n"]
    return with_caveat(
        robust,
        f"Parameters of the smallest certified robust net by d: {robust_list}; of the smallest interpolating "
        f"net: {clean_list} (exponents {say(robust, 2)} and {say(clean, 2)}; n = {n}).",
        f"{missing} point sets were never certified." if missing else "",
        "Upper bounds by an optimiser on random points, no VC dimension; tau grows with d.",
    )


CHECKS = (
    Check(
        claim_id="convergence.thm6.1",
        experiment="convergence.shattering",
        evaluate=_shattered,
        reading="Offset below tau min(1/gamma_1, ..., 1), the minimum where the text prints a maximum; balls "
        "shifted outwards so that centres are strictly more than 2 tau apart.",
        headline=True,
    ),
    Check(
        claim_id="convergence.appD.constant",
        experiment="convergence.shattering",
        evaluate=_printed,
        reading="As printed, with the maximum.",
    ),
    Check(
        claim_id="convergence.thm6.1.capacity",
        experiment="convergence.capacity",
        evaluate=_capacity,
        reading="Robust interpolation counts when every ball is certified, not when an attack fails.",
    ),
)
