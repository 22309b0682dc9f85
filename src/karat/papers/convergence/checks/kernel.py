"""Checks of the tangent kernel: closed forms, robust interpolants, parity, the network of the proof."""

import math
from collections.abc import Sequence

from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, say, select, setting, with_caveat
from karat.study.evaluate import upper_bound_finding, values_of
from karat.study.record import Record

SPREAD = {"relu": 0.5, "smoothed_relu": 0.5, "softplus": 0.5, "smooth_leaky_relu": 0.5, "quadratic_relu": 4.5}
"""Largest standard deviation of <x, x'> phi' phi' over w: phi' in [0, 1], or 4 relu relu."""


def _closed_form(records: Sequence[Record]) -> Finding:
    """Largest deviation from the Monte-Carlo kernel, in standard errors of a single entry."""
    scores: dict[str, float] = {}
    for record in records:
        name = record.config["activation"]
        score = float(record.values["kernel_error"]) / SPREAD[name]
        scores[name] = max(scores.get(name, 0.0), score)
    worst = max(scores.values())
    entries = max(record.config["n"] for record in records) ** 2
    # Largest of `entries` Gaussian deviations stays below this with probability 1 - 1e-4 in every record.
    limit = math.sqrt(2 * math.log(entries * len(records) / 1e-4))
    finding = upper_bound_finding([worst], limit, deterministic=True)
    return with_caveat(
        finding,
        "Largest deviation of the closed form from Monte-Carlo, in standard errors: "
        + ", ".join(f"{name} {score:.1f}" for name, score in sorted(scores.items()))
        + ".",
    )


TOL = 0.2
"""Target of the robust function, that of the net built from one."""


def _robust_function(records: Sequence[Record]) -> Finding:
    """Supremum on fresh points of covered caps: falls below tol with the cover while the norm settles."""
    own = select(records, activation="relu") or list(records)
    covers = sorted({record.config["cover"] for record in own})
    sup = {c: values_of(select(own, cover=c), "supremum") for c in covers}
    norm = {c: sum(values_of(select(own, cover=c), "norm")) / len(sup[c]) for c in covers}
    finding = upper_bound_finding(sup[covers[-1]], TOL)
    robust = max(values_of(select(own, cover=covers[-1]), "robust_error"))
    listed = ", ".join(f"{c}: {sum(sup[c]) / len(sup[c]):.2f} (norm {norm[c]:.1f})" for c in covers)
    others = [
        f"{name.replace('_', ' ')} "
        f"{max(values_of(select(records, activation=name, cover=covers[-1]), 'supremum')):.2f}"
        for name in sorted({r.config["activation"] for r in records} - {"relu"})
    ]
    return with_caveat(
        finding,
        f"sup |f - y| over the caps by points covered per cap, ReLU kernel: {listed}; robust error at the "
        f"largest cover {robust:g}.",
        f"Largest of the other kernels there: {', '.join(others)}." if others else "",
        "For any tol is a limit: the supremum keeps falling, with a norm that grows ever more slowly.",
    )


def _parity(records: Sequence[Record]) -> Finding:
    """Share of odd degrees among the quadratic ReLU's degrees above 3."""
    own = select(records, activation="quadratic_relu", lift=False)
    odd, even = (sum(values_of(own, name)) / len(own) for name in ("odd_weight", "even_weight"))
    share = odd / (odd + even)
    finding = upper_bound_finding([share], 0.0, deterministic=True)
    rows = []
    for name in ("relu", "quadratic_relu"):
        for labels in ("same", "opposite"):
            cells = select(records, activation=name, antipodes=labels)
            plain, lifted = (
                [v for r in cells if r.config["lift"] is flag for v in [float(r.values["supremum"])]]
                for flag in (False, True)
            )
            text = f"{name}, {labels}: {max(plain):.2f}"
            rows.append(text + (f" (lifted {max(lifted):.2f})" if lifted else ""))
    return with_caveat(
        finding,
        f"Odd share of the weight of degrees >= 4. sup |f - y| on antipodal caps: {'; '.join(rows)}.",
        "The quadratic ReLU's kernel keeps degrees 0, 1, 2, 3, 5, 7, ...: odd functions, where the "
        "text says even.",
    )


def _built_error(records: Sequence[Record]) -> Finding:
    """The built net's distance from its kernel function against (19), and its power of m."""
    ratios = [float(r.values["error"]) / float(r.values["bound"]) for r in records]
    record = records[ratios.index(max(ratios))]
    finding = upper_bound_finding([record.values["error"]], record.values["bound"], deterministic=True)
    x, table = curves(records, setting("m"), lambda r: float(r.values["error"]))
    slope = power(x, table, -0.5)
    radius = [float(r.values["row_radius"]) / float(r.values["random_feature_norm"]) for r in records]
    return with_caveat(
        finding,
        f"Tightest cell m = {record.config['m']}, loose by a factor {1 / max(ratios):.0f}; exponent "
        f"in m {say(slope)}.",
        f"(2, inf) radius times sqrt m over |g|_RF: {max(radius):.2f}, twice the printed half.",
    )


def _built_robust(records: Sequence[Record]) -> Finding:
    """Certified robust loss of the widest built net against tol."""
    m = max(record.config["m"] for record in records)
    own = select(records, m=m)
    finding = upper_bound_finding(values_of(own, "certified_loss"), own[0].config["tol"])
    radius = sum(values_of(own, "frobenius")) / len(own)
    rows = sum(values_of(own, "row_radius")) / len(own)
    found = sum(values_of(own, "robust_loss")) / len(own)
    widths = sorted({record.config["m"] for record in records})
    losses = {w: max(values_of(select(records, m=w), "certified_loss")) for w in widths}
    enough = next((w for w in widths if losses[w] <= own[0].config["tol"]), None)
    return with_caveat(
        finding,
        f"m = {m}: robust loss {found:.3f} on a grid, certified over the whole caps as shown; |W - W0|_F "
        f"{radius:.1f}, rows within {rows:.0f}/sqrt m: on lazy's axis C0 = {rows:.0f}.",
        f"RKHS norm {sum(values_of(own, 'kernel_norm')) / len(own):.1f}; certified on every data set from "
        f"m = {enough} of the widths tried."
        if enough
        else "",
    )


def _finite_sum(records: Sequence[Record]) -> Finding:
    ratios = [float(r.values["finite_sum_error"]) / float(r.values["finite_sum_bound"]) for r in records]
    record = records[ratios.index(max(ratios))]
    finding = upper_bound_finding(
        [record.values["finite_sum_error"]], record.values["finite_sum_bound"], deterministic=True
    )
    x, table = curves(records, setting("m"), lambda r: float(r.values["finite_sum_error"]))
    slope = power(x, table, -0.5)
    return with_caveat(
        finding, f"Loose by a factor {1 / max(ratios):.0f} at the tightest cell; exponent in M {say(slope)}."
    )


CHECKS = (
    Check(
        claim_id="convergence.def5.1",
        experiment="convergence.kernel",
        evaluate=_closed_form,
        reading="Closed forms for ReLU, smoothed and quadratic ReLU, Gauss-Hermite quadrature otherwise.",
    ),
    Check(
        claim_id="convergence.asm5.2",
        experiment="convergence.kernel",
        evaluate=_robust_function,
        reading="Kernel interpolation of covered caps, measured on fresh points of the caps; tol = 0.2.",
    ),
    Check(
        claim_id="convergence.fn14",
        experiment="convergence.parity",
        evaluate=_parity,
        reading="Eigenvalues of the kernel by degree, and interpolation on antipodal caps.",
        headline=True,
    ),
    Check(
        claim_id="convergence.thm5.2",
        experiment="convergence.built",
        evaluate=_built_robust,
        reading="The proof's net, with corrected signs and factors: an existence shown by construction, so "
        "that the width of the statement need not be met. Certified by a grid, gradients on it and a bound "
        "on curvature.",
        headline=True,
    ),
    Check(
        claim_id="convergence.thm5.2.built",
        experiment="convergence.built",
        evaluate=_built_error,
        reading="Equation (19) with the curvature term of rows |g|_RF/sqrt m; |g|_RF over the rows drawn.",
    ),
    Check(
        claim_id="convergence.propC.1",
        experiment="convergence.built",
        evaluate=_finite_sum,
        reading="M = m/2 features; C = max(1, Lipschitz constant of phi').",
    ),
)
