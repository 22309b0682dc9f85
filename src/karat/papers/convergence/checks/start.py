"""Checks of Lemmas A.1 and A.3: norms of the matrices of a start, and of the products of its gradients."""

import math
from collections.abc import Callable, Sequence

from karat.papers.convergence.experiments.start import START, StartConfig, StartResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import Finding, Margin
from karat.study.hypothesis import Condition, at_least
from karat.study.judging import Undecided, all_of, every_setting, noted, one_constant, share
from karat.study.run import Run, examples, grouped

StartRun = Run[StartConfig, StartResult]

T = 2.5
"""The number t of the tail: each norm may exceed its bound with probability 2 exp(-t^2/2) = 0.088."""

FREE = Margin(0.25, "norms that grow like one more root of the size have the exponent 1/2, bounded ones 0")


def _wide_enough(config: StartConfig) -> list[Condition]:
    return [at_least("m >= d", config.m, config.d)]


def _deep_enough(config: StartConfig) -> list[Condition]:
    """Lemma A.3 wants wide layers, the hidden constant read as 1."""
    return [at_least("m >= depth log(depth)", config.m, config.depth * math.log(config.depth))]


def _norms(runs: Sequence[StartRun]) -> Finding:
    """The share of starts on which all norms obey the quoted theorem, in every setting."""
    if not runs:
        raise Undecided("no run was found")
    tightest = max(norm / bound for run in runs for norm, bound in _pairs(run))
    return noted(every_setting(runs, _obeyed), f"Largest norm over its bound at t = {T:g}: {tightest:.3f}.")


def _obeyed(runs: Sequence[StartRun]) -> Finding:
    config = runs[0].config
    # One bound for A, one for a and one for each hidden matrix.
    promised = max(0.0, 1 - (config.depth + 2) * 2 * math.exp(-(T**2) / 2))
    good = sum(all(norm <= bound for norm, bound in _pairs(run)) for run in runs)
    return share(good, len(runs), "at least", promised)


def _pairs(run: StartRun) -> list[tuple[float, float]]:
    """Norms and their bounds; the one of the hidden matrices is of the largest."""
    m, d, result = run.config.m, run.config.d, run.result
    tail = T * math.sqrt(2 / m)
    return [
        (result.input_norm, math.sqrt(2) * (1 + math.sqrt(d / m)) + tail),
        (result.hidden_norm, 2 * math.sqrt(2) + tail),
        (result.output_norm, math.sqrt(m) + 1 + T),
    ]


def _products(runs: Sequence[StartRun]) -> Finding:
    """The product over sqrt(m H): one constant for all widths, and one for all depths."""
    along_m = _longest(runs, lambda run: run.config.depth, lambda run: run.config.m)
    along_depth = _longest(runs, lambda run: run.config.m, lambda run: run.config.depth)
    return all_of(
        *(
            one_constant(*curves(cells, axis, _over_bound), "at most", FREE)
            for cells, axis in (along_m, along_depth)
        )
    )


def _over_bound(run: StartRun) -> float:
    return run.result.product / math.sqrt(run.config.m * run.config.depth)


Axis = Callable[[StartRun], int]


def _longest(runs: Sequence[StartRun], fixed: Axis, axis: Axis) -> tuple[list[StartRun], Axis]:
    """The runs that share one setting and differ most in the other."""
    groups = grouped(runs, fixed).values()
    if not groups:
        raise Undecided("no run was found")
    return max(groups, key=lambda cells: len({axis(run) for run in cells})), axis


def _made_up(norm: float, power: float) -> list[StartRun]:
    cells = [(m, 2) for m in (64, 128, 256)] + [(64, depth) for depth in (1, 4, 8)]
    return examples(
        *(
            (
                StartConfig(m=m, depth=depth),
                StartResult(
                    input_norm=1.5, hidden_norm=norm, output_norm=math.sqrt(m), product=(m * depth) ** power
                ),
            )
            for m, depth in cells
        ),
        seeds=60,
    )


_HEAVY = Control(
    name="heavy entries",
    removes="structure",
    settings={"law": "heavy"},
    seeds=6,
    why="of entries with the same variance the largest alone exceed the bound of the norm",
)
_GROWING = Control(
    name="growing layers",
    removes="scale",
    settings={"variance": 8.0},
    seeds=3,
    why="every layer doubles the length, so that products grow like 2^H",
)

CHECKS = (
    Check(
        claim_id="convergence.lemA.1",
        experiment=START,
        evaluate=_norms,
        conditions=_wide_enough,
        satisfied=_made_up(2.8, 0.5),
        violated=_made_up(5.0, 0.5),
        controls=(_HEAVY,),
        reading=f"The quoted theorem with its constants at t = {T:g}, all matrices by a union bound; the "
        "vector a is a matrix with one column.",
    ),
    Check(
        claim_id="convergence.lemA.3",
        experiment=START,
        evaluate=_products,
        conditions=_deep_enough,
        satisfied=_made_up(2.8, 0.5),
        violated=_made_up(2.8, 1.0),
        controls=(_GROWING,),
        reading="One constant over widths and one over depths; of the products for all h the largest.",
    ),
)
