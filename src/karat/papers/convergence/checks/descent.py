"""Checks of the convergence theorems: gaps to the best robust loss nearby, regret, exits, patterns."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from karat.papers.convergence.bounds import (
    corollary_steps,
    curvature_constant,
    deep_steps,
    deep_width,
    regret_gap,
    two_layer_steps,
    two_layer_width,
)
from karat.papers.convergence.experiments.two_layer import SLOPE_LIPSCHITZ
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, say, select, setting, with_caveat
from karat.study.evaluate import lower_bound_finding, upper_bound_finding, values_of
from karat.study.record import Record


def _two_layer(config: Mapping[str, Any]) -> list[str]:
    """Hypotheses of Theorem 5.1, hidden constants read as 1."""
    needed = two_layer_width(config["R"], config["tol"])
    steps = two_layer_steps(config["m"], config["lr"])
    checks = [
        (config["m"] >= needed, f"Thm 5.1: m >= R^4/tol^2 = {needed:.3g}, m = {config['m']}"),
        (config["steps"] >= steps, f"Thm 5.1: steps >= sqrt(m)/lr = {steps:.0f}, steps = {config['steps']}"),
    ]
    return [text for met, text in checks if not met]


def _corollary(config: Mapping[str, Any]) -> list[str]:
    needed = two_layer_width(config["R"], config["tol"])
    steps = corollary_steps(config["R"], config["tol"], config["lr"])
    checks = [
        (config["m"] >= needed, f"Cor 5.1: m >= R^4/tol^2 = {needed:.3g}, m = {config['m']}"),
        (
            config["steps"] >= steps,
            f"Cor 5.1: steps >= R^2/(tol lr) = {steps:.0f}, steps = {config['steps']}",
        ),
    ]
    return [text for met, text in checks if not met]


def _deep(config: Mapping[str, Any]) -> list[str]:
    depth = config["depth"]
    needed = deep_width(config["R"], depth, config["tol"], config["d"])
    lr = config["step"] / (config["m"] * depth**2)
    steps = deep_steps(config["R"], config["m"], config["tol"], lr)
    checks = [
        (config["m"] >= needed, f"Thm 4.1: m >= R^9 depth^16/tol^7 = {needed:.2g} at depth {depth}"),
        (
            config["steps"] >= steps,
            f"Thm 4.1: steps >= R^2/(m tol lr) = {steps:.0f} at depth {depth}, steps = {config['steps']}",
        ),
    ]
    return [text for met, text in checks if not met]


def _reached(records: Sequence[Record]) -> Finding:
    """Gap of the strongest attack against the target."""
    own = select(records, attack="worst")
    finding = upper_bound_finding(values_of(own, "final_gap"), own[0].config["tol"])
    width = sum(r.values["reference"] - r.values["reference_bound"] for r in own) / len(own)
    return with_caveat(
        finding,
        "min_t L_A less the certified lower bound of the linearised problem in the same ball; negative gaps "
        f"mean that the unprojected run has gone beyond the ball. Width of the certificate {width:.1g}.",
    )


def _any_attack(records: Sequence[Record]) -> Finding:
    """The largest gap over all perturbation functions, and what the robust loss does under weak ones."""
    attacks = sorted({record.config["attack"] for record in records})
    gaps = {name: values_of(select(records, attack=name), "final_gap") for name in attacks}
    worst = max(gaps, key=lambda name: sum(gaps[name]) / len(gaps[name]))
    finding = upper_bound_finding(gaps[worst], records[0].config["tol"])
    robust = {
        name: sum(values_of(select(records, attack=name), "robust_loss")) / len(gaps[name])
        for name in attacks
    }
    listed = ", ".join(
        f"{name} {sum(gaps[name]) / len(gaps[name]):+.3f} ({robust[name]:.2f})" for name in attacks
    )
    return with_caveat(
        finding,
        f"Gap of every perturbation function, in brackets the final robust loss: {listed}.",
        "The guarantee speaks of the loss under the attack used, not of the robust one.",
    )


def _regret(records: Sequence[Record]) -> Finding:
    """The largest c that the recursion needed along any run, against C L."""
    pairs = [
        (float(r.values["regret_constant"]), curvature_constant(SLOPE_LIPSCHITZ[r.config["activation"]]))
        for r in records
        if r.values["regret_constant"] is not None
    ]
    needed, limit = max(pairs, key=lambda pair: pair[0] - pair[1])
    finding = upper_bound_finding([needed], limit, deterministic=True)
    return with_caveat(
        finding,
        "Largest c for which |W_t - W_*|^2 grows as the recursion allows, over all steps and runs, with lr^2 "
        "|grad|^2 as its last term; negative: the recursion held without its curvature term.",
    )


def _exit(records: Sequence[Record]) -> Finding:
    """Share of runs that stay in B(3R) or were within tol of the target before they left."""
    good, left = [], 0
    for record in records:
        values, tol = record.values, record.config["tol"]
        outside = values["left_triple"] is not None
        left += outside
        good.append(not outside or values["loss_before_exit"] <= values["target_loss"] + tol)
    finding = lower_bound_finding([sum(good) / len(good)], 1.0, deterministic=True)
    early = left - sum(
        flag for flag, r in zip(good, records, strict=True) if r.values["left_triple"] is not None
    )
    return with_caveat(
        finding,
        f"{len(records) - left} of {len(records)} runs stayed in B(3R), {left} left it, "
        f"{early or 'none'} of them before it had met the target.",
    )


def _small_loss(records: Sequence[Record]) -> Finding:
    m = max(record.config["m"] for record in records)
    own = select(records, m=m)
    finding = upper_bound_finding(values_of(own, "best_loss"), own[0].config["tol"])
    robust = sum(values_of(own, "robust_loss")) / len(own)
    return with_caveat(
        finding,
        f"m = {m}; robust loss over the finite sets at the end {robust:.3f}, |W - W0|_F "
        f"{sum(values_of(own, 'frobenius')) / len(own):.2f}.",
    )


def _deep_gap(records: Sequence[Record]) -> Finding:
    depth, m = max(r.config["depth"] for r in records), max(r.config["m"] for r in records)
    own = select(records, depth=depth, m=m, attack="worst")
    finding = upper_bound_finding(values_of(own, "final_gap"), own[0].config["tol"])
    rows, slopes = [], []
    for at in sorted({r.config["depth"] for r in records}):
        cells = select(records, depth=at, attack="worst")
        widths = sorted({r.config["m"] for r in cells})
        gaps = [sum(values_of(select(cells, m=w), "final_gap")) / len(select(cells, m=w)) for w in widths]
        rows.append(f"depth {at}: " + ", ".join(f"{gap:+.3f}" for gap in gaps))
        x, table = curves(cells, setting("m"), lambda r: float(r.values["pattern_change"]))
        slopes.append(f"{say(power(x, table, -1 / 3), 2)} at depth {at}")
    return with_caveat(
        finding,
        f"Gaps at m = {', '.join(str(w) for w in widths)}; " + "; ".join(rows) + ".",
        f"Exponent in m of the signs changed: {', '.join(slopes)} (Eq 10: -1/3).",
        f"Shown: depth {depth}, m = {m}.",
    )


def _projected(records: Sequence[Record]) -> list[Record]:
    """Projected runs in the ball that most of them share."""
    own = select(records, projected=True)
    radii = [record.config["R"] for record in own]
    return select(own, R=max(radii, key=radii.count))


def _patterns(records: Sequence[Record]) -> Finding:
    """Exponents in m of pattern change, row movement and Frobenius movement of projected runs."""
    own = _projected(records)

    def slope(name: str, predicted: float, side: Any = "equal") -> Finding:
        x, table = curves(own, setting("m"), lambda r: float(r.values[name]))
        return power(x, table, predicted, side=side)

    changed = slope("pattern_change", -1 / 3, "at most")
    rows = slope("rows", -0.5)
    movement = values_of(own, "frobenius")
    return with_caveat(
        changed,
        f"Exponents in m: signs {say(changed)}, largest row {say(rows)} (theory -1/2); the Frobenius "
        f"movement is {min(movement):.2f} to {max(movement):.2f} at every width.",
    )


def _gap(records: Sequence[Record]) -> Finding:
    """Every gap met along projected runs against the summed recursion; exponents in T, m and R."""
    own = [r for r in records if r.config["projected"]]
    rows = []
    for record in own:
        config, values = record.config, record.values
        c = curvature_constant(SLOPE_LIPSCHITZ[config["activation"]])
        for steps, gap in zip(values["steps"], values["gap"], strict=True):
            reached = gap + values["reference_bound"] - values["target_loss"]
            limit = regret_gap(config["R"], config["m"], config["lr"], steps, c)
            rows.append((reached / limit, reached, limit, steps, config["m"], config["R"]))
    ratio, reached, limit, steps, m, R = max(rows)
    finding = upper_bound_finding([reached], limit, deterministic=True)
    same = _projected(records)
    widest = select(same, m=max(map(_m, same)))
    common = [t for t in widest[0].values["steps"] if all(min(_gaps(r, t)) > 0 for r in widest)]
    table = [[g for t in common for g in _gaps(r, t)[-1:]] for r in widest]
    over_time = power([float(t) for t in common], table, -1.0)
    widths = sorted({r.config["m"] for r in same})
    final = {w: values_of(select(same, m=w), "final_gap") for w in widths}
    width = sum(r.values["reference"] - r.values["reference_bound"] for r in own) / len(own)
    radii = sorted({r.config["R"] for r in own})
    by_radius = {
        at: values_of(select(own, R=at, m=max(select(own, R=at), key=_m).config["m"]), "final_gap")
        for at in radii
    }
    return with_caveat(
        finding,
        f"Tightest at T = {steps}, m = {m}, R = {R:g}: {1 / ratio:.1f} times below lr/2 + R^2 c/(2 sqrt m (1 "
        "- (1 + c lr/sqrt m)^-T)), W_* the linearised optimum.",
        f"Exponent of the gap in T {say(over_time)} while it is positive (bound -1).",
        f"Last gap at m = {_listed(final)}; at R = {_listed(by_radius)}: within the certificate's width "
        f"{width:.4f} of 0 or below, so that its powers of m and R cannot be resolved.",
    )


def _m(record: Record) -> int:
    return int(record.config["m"])


def _gaps(record: Record, steps: int) -> list[float]:
    """Gaps up to a step."""
    pairs = zip(record.values["steps"], record.values["gap"], strict=True)
    return [float(gap) for at, gap in pairs if at <= steps]


def _listed(values: Mapping[float, Sequence[float]]) -> str:
    return ", ".join(f"{key:g}: {sum(v) / len(v):+.4f}" for key, v in values.items())


def _start_norms(records: Sequence[Record]) -> Finding:
    """Mean length of the layers of a wide start against 4/3."""
    by_seed: dict[int, list[float]] = {}
    for record in records:
        by_seed.setdefault(record.seed, []).append(float(record.values["wide_norm"]))
    finding = upper_bound_finding([sum(v) / len(v) for v in by_seed.values()], 4 / 3)
    m = max(record.config["m"] for record in records)
    own = select(records, m=m)
    low, high = min(values_of(own, "norm_low")), max(values_of(own, "norm_high"))
    return with_caveat(
        finding,
        f"Mean |x^(h)| over inputs and layers at m = 1024; at m = {m} they lie in [{low:.2f}, {high:.2f}].",
        "No activation follows A, so that the printed N(0, 2/m) gives lengths near sqrt 2 = "
        f"{math.sqrt(2):.3f}, outside [2/3, 4/3]; N(0, 1/m) would give 1.",
    )


def _shift(records: Sequence[Record]) -> Finding:
    finding = upper_bound_finding(values_of(records, "equivalence"), 1e-9, deterministic=True)
    return with_caveat(finding, "Relative difference of the outputs of shifted input and changed W_1.")


_READING = (
    "L_*(W_*) is a minimum over nets, replaced by the linearised problem over the same ball with a certified "
    "lower bound. Finite perturbation sets make the strongest attack exact. Hidden constants read as 1."
)

CHECKS = (
    Check(
        claim_id="convergence.thm5.1",
        experiment="convergence.thm5.1",
        evaluate=_reached,
        hypotheses=_two_layer,
        reading=_READING,
        headline=True,
    ),
    Check(
        claim_id="convergence.def3.2",
        experiment="convergence.thm5.1",
        evaluate=_any_attack,
        hypotheses=_two_layer,
        reading="The theorem's bound for identity, one-step, random, discontinuous and worst "
        "perturbation functions.",
    ),
    Check(
        claim_id="convergence.thm5.1.regret",
        experiment="convergence.thm5.1",
        evaluate=_regret,
        reading="W_* is the linearised optimum; c = C L from the proof, C the Lipschitz constant of phi'.",
    ),
    Check(
        claim_id="convergence.thm5.1.gap",
        experiment="convergence.width",
        evaluate=_gap,
        reading="The recursion summed with c = C L and |grad L_A| <= 1, no hidden constant; W_* is the "
        "linearised optimum, whose own robust loss stands for L_*(W_*).",
    ),
    Check(
        claim_id="convergence.thm5.1.exit",
        experiment="convergence.exit",
        evaluate=_exit,
        reading="Target: the robust loss of the linearised optimum plus tol.",
    ),
    Check(
        claim_id="convergence.cor5.1",
        experiment="convergence.cor5.1",
        evaluate=_small_loss,
        hypotheses=_corollary,
        reading="R = 8, whose ball holds a function of small robust loss; T = R^2/(tol lr).",
        headline=True,
    ),
    Check(
        claim_id="convergence.appC.2",
        experiment="convergence.appC.2",
        evaluate=_small_loss,
        reading="w on the sphere of radius sqrt d; the width tol^-(d+1) of the statement has a "
        "hidden constant.",
    ),
    Check(
        claim_id="convergence.thm4.1",
        experiment="convergence.thm4.1",
        evaluate=_deep_gap,
        hypotheses=_deep,
        reading=_READING,
        headline=True,
    ),
    Check(
        claim_id="convergence.eq10",
        experiment="convergence.width",
        evaluate=_patterns,
        reading="Two-layer nets projected to the Frobenius ball R; signs at the centres.",
    ),
    Check(
        claim_id="convergence.lemA.2",
        experiment="convergence.thm4.1",
        evaluate=_start_norms,
        reading="Start exactly as printed: entries of A from N(0, 2/m), no activation after A.",
    ),
    Check(
        claim_id="convergence.lemA.4",
        experiment="convergence.thm4.1",
        evaluate=_shift,
        reading="An identity, checked to rounding.",
    ),
)
