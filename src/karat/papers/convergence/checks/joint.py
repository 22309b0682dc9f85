"""Checks of the question that lazy and convergence answer differently: a robust net near the start."""

import math
from collections.abc import Sequence

from karat.study.claim import Check, Finding, Outcome
from karat.study.curves import curves, power, say, select, with_caveat
from karat.study.evaluate import lower_bound_finding, values_of
from karat.study.record import Record

PLAIN = math.log(2)
"""Loss of the zero function: a robust loss above it proves that some training point is misclassified."""


def _padded(records: Sequence[Record], start: str) -> list[Record]:
    return [r for r in select(records, start=start) if r.config["padded_from"] is not None]


def _images(records: Sequence[Record], start: str, ball: str = "rows") -> list[Record]:
    return [r for r in select(records, start=start, ball=ball) if r.config["padded_from"] is None]


def _slope(records: Sequence[Record], name: str, predicted: float) -> Finding:
    x, table = curves(records, lambda r: float(r.config["side"] ** 2), lambda r: float(r.values[name]))
    return power(x, table, predicted, resolution=0.15)


HALFWAY = -0.25
"""Between the exponents in question, 0 and -1/2."""


def _nearer_zero(paired: Finding, unpaired: Finding) -> Outcome:
    """Holds if the paired exponent is surely nearer to 0 than to -1/2, and surely above the unpaired one."""
    if paired.interval is None or unpaired.interval is None:
        return "inconclusive"
    if paired.interval.high < HALFWAY:
        return "fails"
    apart = paired.interval.low > unpaired.interval.high
    return "holds" if apart and paired.interval.low > HALFWAY else "inconclusive"


def _dissolved(records: Sequence[Record]) -> Finding:
    """Exponent of the smallest flip radius in the network's d, paired against unpaired."""
    paired = _slope(_padded(records, "paired"), "flip_radius", 0.0)
    unpaired = _slope(_padded(records, "gaussian"), "flip_radius", -0.5)
    local = [_slope(_padded(records, start), "flip_ratio", 0.0) for start in ("paired", "gaussian")]
    verdict = _nearer_zero(paired, unpaired)
    C0 = _padded(records, "paired")[0].config["C0"]
    return with_caveat(
        paired,
        f"Smallest flip radius of the most robust net found, C0 = {C0:g}, the same data zero-padded: "
        f"exponent {say(paired, 2)} in d for the paired start, {say(unpaired, 2)} for the unpaired one.",
        f"|f|/|grad f| at the input itself: {say(local[0], 2)} and {say(local[1], 2)}; twins that part near "
        "their kink leave a local gradient of order sqrt(d C0/sqrt m), which attacks cannot follow.",
        verdict=verdict,
    )


def _exists(records: Sequence[Record]) -> Finding:
    """Robust training accuracy at the smallest C0 of the paired ball, and losses against the kernel's."""
    own = _images(records, "paired")
    smallest = min(record.config["C0"] for record in own)
    cells = select(own, C0=smallest)
    finding = lower_bound_finding(values_of(cells, "largest_train_accuracy"), 1.0, deterministic=True)
    above = [r.config["C0"] for r in own if r.values["loss"] > r.values["convergence_loss"] * (1 + 1e-6)]
    test = sum(values_of(cells, "test_accuracy")) / len(cells)
    tau, d = cells[0].config["tau"], cells[0].config["side"] ** 2
    unpaired = values_of(select(_images(records, "gaussian"), C0=smallest), "train_accuracy")
    other = f" (unpaired: {max(unpaired):.2f})" if unpaired else ""
    return with_caveat(
        finding,
        f"Smallest over {len(cells)} data sets of the robust training accuracy at tau = {tau:g} = "
        f"{tau * math.sqrt(d):.1f}/sqrt d in the (2, inf) ball C0 = {smallest:g}{other}; the net of smallest "
        f"loss has {test:.2f} on test images.",
        f"The loss is below that of the scaled kernel function in {len(own) - len(above)} of {len(own)} cells"
        + (f"; the others have C0 >= {min(above):g}, where the solver has not converged." if above else "."),
        "Accuracies are PGD's.",
    )


def _none(records: Sequence[Record]) -> Finding:
    """Certified lower bounds on the robust loss of every net of the unpaired ball, below the threshold."""
    own = _images(records, "gaussian")
    config = own[0].config
    limit = config["tau"] * math.sqrt(2 * config["side"] ** 2)
    inside = [r for r in own if r.config["C0"] <= limit] or [min(own, key=lambda r: r.config["C0"])]
    largest = max(r.config["C0"] for r in inside)
    bounds = values_of(select(inside, C0=largest), "bound")
    finding = lower_bound_finding(bounds, PLAIN, deterministic=True)
    rows = []
    for C0 in sorted({r.config["C0"] for r in own}):
        cells = select(own, C0=C0)
        low, high = (sum(values_of(cells, name)) / len(cells) for name in ("bound", "loss"))
        rows.append(f"C0 = {C0:g}: [{low:.2f}, {high:.2f}]")
    wide = _images(records, "gaussian", "frobenius")
    frobenius = [
        f"R = {R:g}: {min(values_of(select(wide, C0=R), 'bound')):.2f}"
        for R in sorted({r.config["C0"] for r in wide})
    ]
    return with_caveat(
        finding,
        f"Best robust loss of the unpaired ball, certified below and found above: "
        f"{', '.join(rows)}; the threshold "
        f"tau sqrt(2 d) is {limit:.1f}.",
        f"Certified in the Frobenius ball: {', '.join(frobenius)}." if frobenius else "",
    )


CHECKS = (
    Check(
        claim_id="convergence.vs-lazy",
        experiment="convergence.vs-lazy",
        evaluate=_dissolved,
        reading="The quantity lazy's proof lives on is |grad f(W0)| ~ sqrt(d/2); pairing makes it 0. The "
        "flip radius is the smallest one at which PGD changes the prediction, its median over test images. "
        "Exponents 0 and -1/2 are in question: it holds if the interval lies above -1/4 and above the "
        "unpaired one.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.exists",
        experiment="convergence.vs-lazy",
        evaluate=_exists,
        reading="A net found is a net that exists; robust accuracy by PGD. In a paired ball the linearised "
        "net scales with C0, so that the sign of a robust function fits into every ball.",
        headline=True,
    ),
    Check(
        claim_id="convergence.vs-lazy.none",
        experiment="convergence.vs-lazy",
        evaluate=_none,
        reading="Certified for every net of the ball, not only linearised ones: a convex problem over "
        "finitely many attacked points, with the largest gain that switching neurons can bring.",
        headline=True,
    ),
)
