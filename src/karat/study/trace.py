"""The rules that led to a verdict, each once and short enough to read."""

import re
from collections import Counter
from collections.abc import Iterable


def condensed(trace: Iterable[str]) -> list[str]:
    """Return the steps of a trace, equal ones once with their number, outcomes of parts counted.

    Args:
        trace: of a finding, outermost rule first.

    >>> condensed(("all of 3: holds, fails, holds", "bound: mean at most 1", "bound: mean at most 1"))
    ['all of 3: 2 holds, 1 fails', 'bound: mean at most 1 (2 times)']
    """
    counts = Counter(map(_counted, trace))
    return [step if number == 1 else f"{step} ({number} times)" for step, number in counts.items()]


def margins(trace: Iterable[str]) -> list[str]:
    """Return the steps that give a reason for their margin, without how many sizes or points were looked at.

    Args:
        trace: of a finding.

    >>> margins(["rate; exponent over 3 sizes from 8 to 32; equal: mean within 0.25 of 1 (half-way to 1/2)"])
    ['rate; equal: mean within 0.25 of 1 (half-way to 1/2)']
    >>> margins(["curve: at all 7 points at once, within 0.1 (what one sees) the prediction"])
    ['curve: at all points at once, within 0.1 (what one sees) the prediction']
    """
    steps = [re.sub(r"; exponent over \d+ sizes from \S+ to [^;]+", "", step) for step in trace]
    steps = [re.sub(r"\ball \d+ points\b", "all points", step) for step in steps]
    return list(dict.fromkeys(step for step in steps if "(" in step))


def _counted(step: str) -> str:
    head, colon, outcomes = step.partition(": ")
    if not head.startswith("all of ") or not colon:
        return step
    counts = Counter(outcomes.split(", "))
    return f"{head}: " + ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
