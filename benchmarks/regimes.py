"""Whether random search refutes `karat regime`: a cheaper setting inside, or one where it found none.

    karat bench regimes            # 100,000 random settings against each of a dozen theorems
    karat bench regimes --quick    # 2,000 settings against three

The ratio is the cheapest random setting inside over the answer's cost; `none` where neither found one.
"""

import argparse
import json
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from karat.api import checked_claim
from karat.study.axes import Axis, axes_of
from karat.study.experiment import cells
from karat.study.regime import Regime, find_regime
from karat.study.search import cost_of

THEOREMS = (
    "lazy.lemB.9",
    "convergence.thm4.1",
    "features.lem6",
    "lazy.thm3.1",
    "lazy.cor3.2",
    "convergence.thm5.1",
    "convergence.cor5.1",
    "benign.thm3.1.1",
    "benign.thm3.1.3",
    "benign.thm3.2",
    "features.thm1",
    "features.lem23.lp",
    "purification.thm5.1b",
    "purification.thm5.4",
    "purification.thm5.6",
)
BUDGET = 600.0


def drawn(axis: Axis, value: Any, generator: np.random.Generator) -> Any:
    """A value of a setting: a choice, or a number up to ten decades away, mostly fewer."""
    if axis.choices and (not axis.number or generator.random() < 0.1):
        return axis.choices[generator.integers(len(axis.choices))]
    factor = 10.0 ** (generator.normal() * generator.choice([0.3, 1.0, 3.0]))
    moved = axis.times(value, factor)
    return value if moved is None else moved


def random_search(answer: Regime, count: int, seed: int = 0) -> tuple[int, float]:
    """How many of `count` random settings are inside, and the predicted seconds of the cheapest of them.

    Nothing of the search is used: settings are drawn around those of the preset, or around the best random
    one so far, and what the config or the hypotheses refuse counts as outside.
    """
    check, generator = answer.check, np.random.default_rng(seed)
    experiment = check.experiment
    law = cost_of(
        experiment,
        [cell.config for cell in cells(experiment, answer.scale, 1)],
        experiment.preset(answer.scale).cell_seconds,
    )
    base = [point.config for point in answer.here]
    axes = axes_of(base[0], answer.fixed)
    inside, cheapest, fewest, best = 0, math.inf, (math.inf, math.inf), base[0]
    for index in range(count):
        start = best if index % 2 else base[index // 2 % len(base)]
        some = [axis for axis in axes if generator.random() < generator.choice([0.1, 0.3, 0.6])]
        try:
            config = replace(start, **{a.name: drawn(a, getattr(start, a.name), generator) for a in some})
            unmet = sum(condition.status == "unmet" for condition in check.conditions(config))
            seconds = law(config)
        except (ValueError, TypeError, ArithmeticError):
            continue
        if (unmet, seconds) <= fewest:
            fewest, best = (unmet, seconds), config
        if unmet == 0:
            inside, cheapest = inside + 1, min(cheapest, seconds)
    return inside, cheapest


def row(claim_id: str, count: int) -> dict[str, Any]:
    """One theorem: the answer, and what random search found against it."""
    begin = time.process_time()
    answer = find_regime(checked_claim(claim_id), budget=BUDGET)
    seconds = time.process_time() - begin
    inside, cheapest = random_search(answer, count)
    own = math.inf if answer.cheapest is None else answer.cheapest.seconds
    # Refuted: a setting where none was found, or one below a budget that the answer exceeds.
    refuted = (own > BUDGET) and cheapest <= BUDGET
    told = "none" if answer.cheapest is None else f"{own:.3g} s: {' '.join(answer.texts) or 'the preset'}"
    return {
        "bench": "regimes",
        "size": claim_id,
        "implementation": "karat regime",
        "cpu_seconds": seconds,
        "ratio": cheapest / own if math.isfinite(cheapest) and math.isfinite(own) else 0.0,
        "note": f"{'REFUTED; ' if refuted else ''}{told}; {inside} of {count} random settings inside"
        + (f", cheapest {cheapest:.3g} s" if inside else ""),
    }


def main() -> None:
    """Print a row per theorem."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    theorems, count = (THEOREMS[:3], 2000) if arguments.quick else (THEOREMS, 100_000)
    rows = []
    for claim_id in theorems:
        rows.append(row(claim_id, count))
        if not arguments.json:
            print(claim_id, rows[-1]["note"], f"({rows[-1]['cpu_seconds']:.0f} s)", flush=True)
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
