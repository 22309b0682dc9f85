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

T = 2.0
"""The number t of the tail: each norm may exceed its bound with probability 2 exp(-t^2/2) = 0.27."""

FREE = Margin(0.25, "norms that grow like one more root of the size have the exponent 1/2, bounded ones 0")


def _wide_enough(config: StartConfig) -> list[Condition]:
    return [at_least("m >= d", config.m, config.d)]


def _deep_enough(config: StartConfig) -> list[Condition]:
    """Lemma A.3 wants wide layers, the hidden constant read as 1."""
    return [at_least("m >= depth log(depth)", config.m, config.depth * math.log(config.depth))]


def _norms(runs: Sequence[StartRun]) -> Finding:
    """The share of matrices that obey the quoted theorem, in every setting and of each kind by itself."""
    if not runs:
        raise Undecided("no run was found")
    m = max(run.config.m for run in runs)
    widest = [_over_bounds(run) for run in runs if run.config.m == m]
    largest = [max(ratio for kinds in widest for ratio in kinds[kind]) for kind in range(3)]
    return noted(
        every_setting(runs, _obeyed),
        f"Largest norm over its bound at m = {m} and t = {T:g}: A {largest[0]:.3f}, W_h {largest[1]:.3f}, "
        f"a {largest[2]:.3f}; W_h with a variance of {2 / largest[1] ** 2:.2f}/m would still be within it.",
    )


def _obeyed(runs: Sequence[StartRun]) -> Finding:
    """A, every W_h and a are independent draws, each with its own bound."""
    promised = 1 - 2 * math.exp(-(T**2) / 2)
    kinds = zip(*map(_over_bounds, runs), strict=True)
    ratios = [[ratio for one_start in kind for ratio in one_start] for kind in kinds]
    return all_of(
        *(share(sum(ratio <= 1 for ratio in kind), len(kind), "at least", promised) for kind in ratios)
    )


def _over_bounds(run: StartRun) -> tuple[list[float], list[float], list[float]]:
    """Norms over their bounds: of A, of all W_h, and of a."""
    m, d, result = run.config.m, run.config.d, run.result
    tail = T * math.sqrt(2 / m)
    return (
        [result.input_norm / (math.sqrt(2) * (1 + math.sqrt(d / m)) + tail)],
        [norm / (2 * math.sqrt(2) + tail) for norm in result.hidden_norms],
        [result.output_norm / (math.sqrt(m) + 1 + T)],
    )


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
                    input_norm=1.5,
                    hidden_norms=[norm] * depth,
                    output_norm=math.sqrt(m),
                    product=(m * depth) ** power,
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
    cheap={"m": 64, "depth": 2},
    seeds=6,
    why="of entries with the same variance the largest alone exceed the bound of the norm",
)
_LARGER = Control(
    name="larger entries",
    removes="scale",
    settings={"variance": 2.3},
    cheap={"m": 512, "depth": 2},
    seeds=6,
    why="at this width the norm is within a few hundredths of its bound, and 2.3 instead of 2 adds seven",
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
        controls=(_HEAVY, _LARGER),
        reading=f"The quoted theorem with its constants at t = {T:g}, for A, W_h and a each by itself; all "
        "matrices W_h of all starts are independent draws, and the vector a is a matrix with one column.",
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
