"""Whether a check is able to say both `holds` and `fails`, seen on its own examples."""

from collections.abc import Iterator

from karat.contract.fault import Fault
from karat.study.check import Check
from karat.study.run import Runs


def example_faults(check: Check) -> Iterator[Fault]:
    """Yield what is wrong with the examples of a check; without them nobody sees that it can fail.

    Args:
        check: whose `satisfied` must be judged `holds` and whose `violated` must be judged `fails`.
    """
    for name, runs, expected in (
        ("satisfied", check.satisfied, "holds"),
        ("violated", check.violated, "fails"),
    ):
        if not runs:
            reason = f"it has no `{name}` example, so nothing shows that it can say `{expected}`."
            yield Fault(subject=check.claim_id, rule="examples", reason=reason, level="warning")
            continue
        verdict: str
        try:
            verdict = check.evaluate(Runs(runs)).outcome
        except Exception as error:  # whatever a check of somebody else's package raises
            verdict = f"{type(error).__name__}: {error}"
        if verdict != expected:
            reason = f"its `{name}` example is judged `{verdict}`, not `{expected}`."
            yield Fault(subject=check.claim_id, rule="examples", reason=reason)
