"""Whether a check is able to say both `holds` and `fails`, by the right rule, seen on its own examples."""

from collections.abc import Iterator, Sequence
from typing import Any

from karat.contract.fault import Fault
from karat.study.check import Check
from karat.study.finding import Finding
from karat.study.judging.common import Undecided
from karat.study.judging.kinds import RULES, SEEDLESS, rules_in
from karat.study.run import Run, Runs
from karat.study.statement import Statement


def example_faults(check: Check, statement: Statement | None) -> Iterator[Fault]:
    """Yield what is wrong with the examples and controls of a check.

    Args:
        check: whose `satisfied` must be judged `holds` and whose `violated` must be judged `fails`.
        statement: whose kind chooses the rules; None if it is not known.
    """

    def fault(rule: str, reason: str) -> Fault:
        return Fault(subject=check.claim_id, rule=rule, reason=reason)

    for name, runs, expected in (
        # A bound that says nothing at any affordable size can be refuted but not confirmed.
        ("satisfied", check.satisfied, ("holds", "vacuous")),
        ("violated", check.violated, ("fails",)),
    ):
        if not runs:
            yield fault(
                "examples", f"it has no `{name}` runs, so nothing shows that it can say `{expected[0]}`."
            )
            continue
        verdict, finding = judge_example(check, runs)
        if verdict not in expected:
            yield fault("examples", f"its `{name}` runs are judged `{verdict}`, not `{expected[0]}`.")
        elif statement is not None and finding is not None:
            allowed = RULES.get(statement.kind, frozenset())
            if not rules_in(finding.trace) & allowed:
                used = ", ".join(sorted(rules_in(finding.trace))) or "no rule"
                yield fault("kind", f"a statement of kind `{statement.kind}` cannot be judged by {used}.")
    if check.satisfied and _holds_on_one_seed(check):
        yield fault("one seed", "it says `holds` of a random quantity after one seed.")
    if not check.controls:
        yield fault("controls", "it has no control: nothing shows that it holds for the statement's reason.")


def judge_example(check: Check, runs: Sequence[Run[Any, Any]]) -> tuple[str, Finding | None]:
    """Return what a check says of made-up runs, and the finding behind it.

    Args:
        check: that judges.
        runs: as `examples` makes them.
    """
    try:
        finding = check.evaluate(Runs(runs))
    except Undecided:
        return "inconclusive", None
    except Exception as error:  # whatever a check of somebody else's package raises
        return f"{type(error).__name__}: {error}", None
    return finding.outcome, finding


def _holds_on_one_seed(check: Check) -> bool:
    first = min(run.seed for run in check.satisfied)
    verdict, finding = judge_example(check, [run for run in check.satisfied if run.seed == first])
    return verdict == "holds" and finding is not None and not rules_in(finding.trace) <= SEEDLESS
