"""Worst cases: certificates bound them from above, attacks from below."""

from dataclasses import replace

from karat.study.finding import Finding, Outcome, Unit
from karat.study.judging.common import Numbers
from karat.study.judging.means import bound


def certified(attacked: Numbers, certificate: Numbers, predicted: float, unit: Unit) -> Finding:
    """A worst case bounded from above: only certificates can show it, only attacks can refute it.

    Args:
        attacked: one lower bound of the worst case per seed, found by an attack.
        certificate: one upper bound per seed; empty where none was computed.
        predicted: the bound on the worst case.
        unit: of all.
    """
    rule = f"certified: worst case at most {predicted:.6g}"
    low = bound(attacked, "at most", predicted, unit)
    if low.outcome == "fails":
        return replace(low, trace=(f"{rule}; the attack alone exceeds it", *low.trace))
    if len(certificate) == 0:
        note = f"An attack reaches {low}; no certificate was computed."
        return replace(
            low, outcome="inconclusive", p_value=None, notes=(*low.notes, note), trace=(rule, *low.trace)
        )
    high = bound(certificate, "at most", predicted, unit)
    note = f"Worst case in [{low}, {high}]: attack and certificate, means over seeds."
    outcome: Outcome = "holds" if high.outcome == "holds" else "inconclusive"
    kept = high if high.outcome == "holds" else replace(high, p_value=None)
    return replace(kept, outcome=outcome, notes=(*kept.notes, note), trace=(rule, *kept.trace))
