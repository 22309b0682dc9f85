"""Checks of the lemmas' explicit bounds: loose, vacuous or violated at the sizes that can be run."""

import math
from collections.abc import Callable, Sequence

from karat.papers.lazy import bounds
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, select, vacuous, with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.study.record import Record


def _d(record: Record) -> int:
    return int(record.config["side"] ** 2)


def _slack(ratio: float) -> str:
    """How far the measured quantity stays from its bound, or how far it is beyond it.

    >>> _slack(0.5), _slack(2.0)
    ('holds, loose by a factor 2.00', 'violated by a factor 2.00')
    """
    if ratio > 1:
        return f"violated by a factor {ratio:.2f}"
    return f"holds, loose by a factor {1 / ratio if ratio else math.inf:.2f}"


def _below(name: str, bound: Callable[[Record], float], what: str) -> Callable[[Sequence[Record]], Finding]:
    """A measured quantity against its bound, cell by cell; the tightest cell is shown."""

    def evaluate(records: Sequence[Record]) -> Finding:
        ratios = [float(r.values[name]) / bound(r) for r in records]
        tightest = max(range(len(records)), key=ratios.__getitem__)
        record = records[tightest]
        finding = upper_bound_finding([float(record.values[name])], bound(record), deterministic=True)
        where = f"d = {_d(record)}, m = {record.config['m']}"
        return with_caveat(finding, f"{what}; tightest cell {where}: {_slack(ratios[tightest])}.")

    return evaluate


def _switch_bound(record: Record, tau: float = 0.0) -> float:
    config = record.config
    radius = config["C0"] / math.sqrt(config["m"])
    return bounds.sign_change_bound(config["m"], radius, config["p_fail"], tau)


def _nearby(records: Sequence[Record]) -> Finding:
    """Both halves of the lemma; the second quantifies over delta inside the count."""
    first = _below("can_switch", _switch_bound, "At x")(records)
    second = _below(
        "can_switch_nearby",
        lambda r: _switch_bound(r, r.config["C1"] / math.sqrt(_d(r))),
        "Near x, 'exists delta' taken neuron by neuron as printed",
    )(records)
    return with_caveat(
        second if second.verdict == "fails" else first,
        first.caveat if second.verdict == "fails" else second.caveat,
        "The proof fixes delta first.",
    )


def _flip_probability(records: Sequence[Record]) -> Finding:
    """Exact probability at radius 1/sqrt d against the bound (3), and (4) at the proof's own spacing."""
    pairs, switches = {}, []
    for record in records:
        d, m, tau = _d(record), record.config["m"], record.config["C1"] / math.sqrt(_d(record))
        pairs[d] = (bounds.sign_flip_probability(tau), bounds.sign_flip_bound(d, tau))
        radius, spacing = record.config["C0"] / math.sqrt(m), (m * d) ** (-4 / 7)
        chance = bounds.sign_switch_probability(d, radius, spacing)
        switches.append(bounds.sign_switch_bound(d, tau, radius, spacing) / chance)
    d = max(pairs, key=lambda at: pairs[at][0] / pairs[at][1])
    finding = upper_bound_finding([pairs[d][0]], pairs[d][1], deterministic=True)
    notes = ", ".join(
        f"{value:.3f} of {bound:.2f} at d = {at}" for at, (value, bound) in sorted(pairs.items())
    )
    return with_caveat(
        finding,
        f"Exact probability, arcsin(tau)/pi, against the bound (3): {notes}; tightest at d = {d}: "
        f"{_slack(pairs[d][0] / pairs[d][1])}.",
        f"(4), rows within C0/sqrt m and spacing (m d)^(-4/7), is {min(switches):.1f} to "
        f"{max(switches):.1f} times the probability it bounds (first order in the spacing).",
    )


def _gradient_bound(records: Sequence[Record]) -> Finding:
    """The explicit lower bound against the smallest gradient an adversary reaches."""
    cells = {(r.config["m"], _d(r)): r for r in records}
    found = {
        key: bounds.gradient_bound(key[1], key[0], r.config["C0"], r.config["p_fail"])
        for key, r in cells.items()
    }
    usable = {key: value for key, value in found.items() if value > 0}
    if usable:
        key = max(usable, key=lambda k: usable[k])
        own = [float(r.values["gradient_infimum"]) for r in records if (r.config["m"], _d(r)) == key]
        return lower_bound_finding(own, usable[key], deterministic=True)
    record = records[-1]
    C0, p = record.config["C0"], record.config["p_fail"]
    d = max(key[1] for key in cells)
    widths = [round(10 ** (k / 4)) for k in range(8, 60)]
    wide = next((m for m in widths if bounds.gradient_bound(d, m, C0, p) > 0), None)
    reach = "no m up to 1e15" if wide is None else f"m >= {wide:.1g}"
    limit = bounds.gradient_bound(d, 10**40, C0, p)
    listed = ", ".join(
        f"d = {d_}, m = {m}: " + ("undefined" if math.isnan(value) else f"{value:.1f}")
        for (m, d_), value in sorted(found.items())
    )
    smallest = min(values_of(records, "gradient_infimum"))
    return vacuous(
        smallest,
        max((v for v in found.values() if not math.isnan(v)), default=math.nan),
        f"the lower bound is negative or undefined ({listed}); at d = {d} it turns positive for {reach} and "
        f"tends to {limit:.1f} as m grows, against sqrt(d)/4 = {math.sqrt(d) / 4:.1f}.",
    )


def _gradient_change(uniform: bool) -> Callable[[Sequence[Record]], Finding]:
    """The bounds on the change of the gradient against the largest change found."""

    def bound(record: Record) -> float:
        config, d = record.config, _d(record)
        if uniform:
            return bounds.gradient_change_uniform(d, config["m"], config["C0"], config["C1"])
        tau = config["C1"] / math.sqrt(d)
        return bounds.gradient_change_fixed(d, config["m"], config["C0"], tau, config["p_fail"])

    def evaluate(records: Sequence[Record]) -> Finding:
        record = max(records, key=lambda r: float(r.values["gradient_change"]) / bound(r))
        reached, limit = float(record.values["gradient_change"]), bound(record)
        size = math.sqrt(_d(record) / 2)
        note = f"it allows {limit:.3g} where {reached:.2f} was found and |grad f| is about {size:.1f}"
        if uniform:
            first = bounds.biting_dimension(record.config["C0"])
            note += f"; with m = d^2.4 it falls below sqrt(d)/4 first at d = {first:.0e}"
        if reached > limit:
            return upper_bound_finding([reached], limit, deterministic=True)
        return vacuous(reached, limit, note + ".")

    return evaluate


def _small_change(records: Sequence[Record]) -> Finding:
    """The change of the gradient within C1/sqrt d grows slower than sqrt d."""
    m = min(record.config["m"] for record in records)
    x, table = curves(
        select(records, m=m), lambda r: float(_d(r)), lambda r: float(r.values["gradient_change"])
    )
    finding = power(x, table, 0.5, side="at most")
    first, last = (sum(row[at] for row in table) / len(table) / math.sqrt(x[at]) for at in (0, -1))
    return with_caveat(
        finding,
        f"Exponent of the largest change found, in d; its mean is {first:.2f} sqrt d at the smallest and "
        f"{last:.2f} sqrt d at the largest dimension.",
    )


def _subset(records: Sequence[Record]) -> Finding:
    """The printed bound on switched neurons against the worst subset, at every width."""
    rows = {}
    for m in sorted({record.config["m"] for record in records}):
        own = [r for r in records if r.config["m"] == m and r.config["d"] == records[0].config["d"]]
        config = own[0].config
        limit = bounds.subset_bound(config["d"], m, config["C0"], config["p_fail"])
        rows[m] = (sum(values_of(own, "subset")) / len(own), limit, own)
    widest = max(rows)
    finding = upper_bound_finding(values_of(rows[widest][2], "subset"), rows[widest][1])
    config = records[0].config
    listed = ", ".join(f"{found:.2f} of {limit:.2f} at m = {m:.0e}" for m, (found, limit, _) in rows.items())
    return with_caveat(
        finding,
        f"Worst subset against the bound at d = {config['d']}, C0 = {config['C0']:g}: {listed}.",
        f"As m grows the bound tends to 0 and the subset to C0/pi = {bounds.subset_limit(config['C0']):.2f}:",
        "an O(C0) term is missing, which leaves Omega(sqrt d) gradients intact.",
        f"The proof's union bound allows "
        f"{bounds.subset_union_bound(widest, config['C0'], config['p_fail']):.3g}.",
    )


def _single_step(records: Sequence[Record]) -> Finding:
    """All certified steps land beyond -|f|; how many samples are certified, at which length."""
    landed = [share for share in values_of(records, "landed") if not math.isnan(share)]
    if not landed:
        raise ValueError("no sample had kappa below 1, so the certificate applied nowhere.")
    finding = lower_bound_finding(landed, 1.0, deterministic=True)
    notes = []
    for m, side in sorted({(r.config["m"], r.config["side"]) for r in records}):
        own = select(records, m=m, side=side)
        share, kappa, ball = (
            sum(values_of(own, name)) / len(own) for name in ("usable", "kappa_on_ray", "kappa")
        )
        lengths = [v for v in values_of(own, "step_length") if not math.isnan(v)]
        at = f" at a median length {sum(lengths) / len(lengths):.2f}" if lengths else ""
        notes.append(
            f"d = {side**2}, m = {m}: {share:.0%} of the samples certified{at}, kappa {kappa:.2f} on the ray "
            f"and {ball:.2f} over the ball"
        )
    certified = min(values_of(records, "kappa_certified"))
    return with_caveat(
        finding,
        "; ".join(notes) + ".",
        f"Over the ball kappa comes from an ascent; its certified upper bound is >= {certified:.1f}, "
        "useless.",
    )


CHECKS = (
    Check(
        claim_id="lazy.lem4.1",
        experiment="lazy.lemmas",
        evaluate=_below(
            "value_supremum",
            lambda r: bounds.value_bound_informal(r.config["C0"], r.config["p_fail"]),
            "Exact supremum of |f| over the ball",
        ),
        reading="The supremum separates over neurons and is computed exactly.",
    ),
    Check(
        claim_id="lazy.lemB.5",
        experiment="lazy.lemmas",
        evaluate=_below(
            "value_supremum",
            lambda r: bounds.value_bound(r.config["m"], r.config["C0"], r.config["p_fail"]),
            "Exact supremum of |f| over the ball",
        ),
        reading="As for the informal lemma.",
    ),
    Check(
        claim_id="lazy.lem4.3",
        experiment="lazy.lemmas",
        evaluate=_below("can_switch", _switch_bound, "Neurons within C0/sqrt m of their kink"),
        reading="Counted exactly; the largest over test images.",
    ),
    Check(
        claim_id="lazy.lemB.4",
        experiment="lazy.lemmas",
        evaluate=_nearby,
        reading="Second half as printed: a neuron counts if any delta of length C1/sqrt d lets it "
        "change sign.",
    ),
    Check(
        claim_id="lazy.lemB.6",
        experiment="lazy.lemmas",
        evaluate=_flip_probability,
        reading="The worst delta is orthogonal to x + delta.",
    ),
    Check(
        claim_id="lazy.lemB.7",
        experiment="lazy.lemmas",
        evaluate=_gradient_bound,
        reading="Evaluated with the lemma's own constants.",
    ),
    Check(
        claim_id="lazy.lem4.4",
        experiment="lazy.lemmas",
        evaluate=_small_change,
        reading="The supremum over delta by ascent, on trained nets at the smallest width.",
    ),
    Check(
        claim_id="lazy.lemB.8",
        experiment="lazy.lemmas",
        evaluate=_gradient_change(uniform=False),
        reading="With the '+ 3' that the proof ends with; the change is the largest over directions "
        "and delta.",
    ),
    Check(
        claim_id="lazy.lemB.9",
        experiment="lazy.lemmas",
        evaluate=_gradient_change(uniform=True),
        reading="Evaluated with the lemma's own constants.",
    ),
    Check(
        claim_id="lazy.eq7.subset",
        experiment="lazy.subset",
        evaluate=_subset,
        reading="Alternating maximisation over subsets: a lower bound on the maximum, so a "
        "violation is certain.",
        headline=True,
    ),
    Check(
        claim_id="lazy.proof3.1",
        experiment="lazy.lemmas",
        evaluate=_single_step,
        reading="The printed denominator has a difference of norms where the norm of the difference is "
        "needed. kappa is taken on the step's own ray, where it is exact and all that the proof needs.",
    ),
)
