"""Which rules may decide a statement of a kind."""

from karat.study.statement import Kind

RULES: dict[Kind, frozenset[str]] = {
    "upper": frozenset({"bound", "exact bound", "certified", "one constant", "limit", "share", "curve"}),
    "lower": frozenset({"bound", "exact bound", "certified", "one constant", "limit", "share", "curve"}),
    "tight": frozenset({"equal", "identity", "curve", "share", "exact bound"}),
    "rate": frozenset({"rate", "one constant", "limit", "curve"}),
    "existence": frozenset({"bound", "exact bound", "certified", "share"}),
    "qualitative": frozenset(
        {"bound", "exact bound", "certified", "equal", "rate", "limit", "share", "curve"}
    ),
    "reported numbers": frozenset({"equal", "bound", "share", "curve", "certified", "exact bound"}),
}
"""Which rules may decide a statement of a kind; definitions and algorithms are not judged."""


EXACT = frozenset({"exact bound", "identity"})
"""Rules about numbers that chance cannot turn."""

SEEDLESS = EXACT | {"share", "vacuous"}
"""Rules that need no spread over seeds: exact numbers, and shares of draws, which have their own interval."""


def rules_in(trace: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the rules in a trace, without what only combines others.

    Args:
        trace: of a finding.

    >>> sorted(rules_in(("all of 2: holds, holds", "exact bound: every value at most 1", "rate: exponent")))
    ['exact bound', 'rate']
    """
    names = {rule for rules in RULES.values() for rule in rules} | SEEDLESS
    return frozenset(name for name in names for step in trace if step.startswith(f"{name}"))
