"""Worst cases: certificates bound them from above, attacks from below."""

from dataclasses import replace

import numpy as np

from karat.study.finding import Finding, Unit
from karat.study.judging.common import Numbers, Side
from karat.study.judging.means import bound


def certified(
    attacked: Numbers,
    certificate: Numbers,
    predicted: float,
    unit: Unit,
    side: Side = "at most",
    *,
    ordered: bool = True,
) -> Finding:
    """A worst case against a bound: only certificates can show it, only attacks can refute it.

    Args:
        attacked: what an attack reaches, one value per seed: the worst case is at least as bad.
        certificate: what is certain, one value per seed: the worst case is at most as bad; empty where none
            was computed.
        predicted: the bound on the worst case.
        unit: of all.
        side: on which the worst case must lie, `at most` for errors and `at least` for accuracies.
        ordered: whether an attack can never reach more than is certified; exponents of the two over sizes may
            lie in any order.
    """
    rule = f"certified: worst case {side} {predicted:.6g}"
    reached = bound(attacked, side, predicted, unit)
    if reached.measured is None:
        return replace(reached, trace=(rule,))
    if reached.outcome == "fails":
        return replace(reached, trace=(f"{rule}; the attack alone refutes it",))
    certain = bound(certificate, side, predicted, unit)
    if certain.measured is None:  # none was computed, or not for every seed
        note = f"An attack reaches {reached}; {certain.caveat[:1].lower()}{certain.caveat[1:]}"
        return replace(
            reached, outcome="inconclusive", p_value=None, seeds_needed=None, notes=(note,), trace=(rule,)
        )
    note = f"Means over seeds: {reached} reached by attack, {certain} certified."
    if len(certificate) != len(attacked):
        note = f"An attack reaches {reached}; only {len(certificate)} of {len(attacked)} seeds are certified."
        return replace(
            reached, outcome="inconclusive", p_value=None, seeds_needed=None, notes=(note,), trace=(rule,)
        )
    crossed = ordered and _crossed(attacked, certificate, side)
    if crossed:
        note += " The attack goes beyond the certificate: other points were certified, or one is wrong."
    if crossed or certain.outcome != "holds":
        certain = replace(certain, outcome="inconclusive", p_value=None)
    return replace(certain, notes=(*certain.notes, note), trace=(rule,))


def _crossed(attacked: Numbers, certificate: Numbers, side: Side) -> bool:
    """Whether an attack goes beyond what is certified for some seed, which cannot be on the same points."""
    reached, certain = (np.asarray(values, dtype=float) for values in (attacked, certificate))
    excess = reached - certain if side == "at most" else certain - reached
    return bool((excess > 1e-6 * np.maximum(1.0, np.abs(certain))).any())
