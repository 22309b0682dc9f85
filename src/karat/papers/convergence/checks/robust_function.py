"""Checks of the tangent kernel's space: robust functions on caps, certified, and the norm that they need."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import two_layer_width
from karat.papers.convergence.checks.antipodes import CERTIFICATE, TOL
from karat.papers.convergence.experiments.robust_function import ROBUST, RobustConfig, RobustResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, every_setting, exact_bound, noted
from karat.study.run import Run, by_setting, examples

RobustRun = Run[RobustConfig, RobustResult]

OVER_TOL = Unit("distance from the label over tol", 0.0)


def _apart(config: RobustConfig) -> list[Condition]:
    """What the theorems demand of activations and data, and what these kernels need beside."""
    return [
        is_so("Asm 5.1, 5.3: phi' is bounded and Lipschitz", True),
        is_so("compatible caps on the unit sphere", True),
        is_so("caps of different labels are apart up to sign", config.data == "apart"),
    ]


def _at_one_tol(runs: Sequence[RobustRun]) -> Finding:
    """Certified suprema at the tol of the claim, for every radius and dimension."""
    return _within([run for run in runs if run.config.tol == TOL])


def _at_every_tol(runs: Sequence[RobustRun]) -> Finding:
    """Certified suprema over tol, for every tol."""
    return _within(runs)


def _within(runs: Sequence[RobustRun]) -> Finding:
    """Certified suprema and, against them, certified distances of all functions of the space."""
    if not runs:
        raise Undecided("no run was found")
    if any(run.result.supremum > run.result.certified_supremum + 1e-9 for run in runs):
        raise Undecided("a search strays farther than is certified")
    within = [run.result for run in runs if run.result.certified_supremum <= run.config.tol]
    if any(result.norm_bound > result.norm * (1 + 1e-3) for result in within):
        raise Undecided("a certified function has a smaller norm than the bound that should lie below all")

    def over_tol(same: Sequence[RobustRun]) -> Finding:
        tol = same[0].config.tol
        floors = [run.result.distance_floor / tol for run in same]
        if max(floors) > 1:
            return exact_bound(floors, "at most", 1.0, OVER_TOL, CERTIFICATE)
        bounds = [run.result.certified_supremum / tol for run in same]
        missing = sum(value > 1 for value in bounds)
        if missing:  # what one function does refutes nothing
            raise Undecided(f"{missing} data sets at tol {tol:g} have no function that could be certified")
        return exact_bound(bounds, "at most", 1.0, OVER_TOL, "certified over all of the caps")

    return noted(every_setting(runs, over_tol), _norms(runs))


def _norms(runs: Sequence[RobustRun]) -> str:
    """Smallest norms and the widths they ask for, in words."""
    words = []
    for cells in by_setting(runs):
        config = cells[0].config
        low = _geometric_mean([run.result.norm_bound for run in cells])
        high = _geometric_mean([run.result.norm for run in cells])
        width = two_layer_width(low, config.tol)
        words.append(
            f"tol {config.tol:g}, tau {config.tau:g}, d {config.d}: {low:.1f} to {high:.1f} (m {width:.0e})"
        )
    return (
        f"Smallest norm R of such a function, enclosed, geometric means over the data sets, and the width "
        f"R^4/tol^2: {'; '.join(words)}."
    )


def _geometric_mean(values: Sequence[float]) -> float:
    """The mean on a logarithmic scale, for norms differ by more than a factor; 0 if one of them is."""
    return math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0


_CONFIG = RobustConfig()
_FOUND = RobustResult(
    supremum=0.19, certified_supremum=0.199, distance_floor=0.0, norm=8.0, norm_bound=7.5, active=20
)
_NONE = replace(_FOUND, supremum=1.0, certified_supremum=1.0, distance_floor=0.9)

_OPPOSITE = Control(
    name="opposite antipodes",
    removes="labels",
    settings={"data": "opposite"},
    # Five pairs in three dimensions, which no linear function fits; small caps, which any other labels allow.
    cheap={"n": 10, "tau": 0.02, "d": 3, "tol": TOL, "rings": 12},
    why="these kernels hold linear and even functions only; opposite labels at x and -x are odd",
)

CHECKS = (
    Check(
        claim_id="convergence.asm5.2",
        experiment=ROBUST,
        evaluate=_at_one_tol,
        conditions=_apart,
        satisfied=examples((_CONFIG, _FOUND)),
        violated=examples((_CONFIG, _NONE)),
        controls=(_OPPOSITE,),
        reading="The smoothed ReLU at tol = 0.2; the function of smallest norm on points that an exchange "
        "adds, certified on all of the caps by Taylor's formula. Caps of different labels are apart up to "
        "sign, which the assumption does not ask for and this kernel needs; a certified distance of all "
        "functions refutes it wherever enough caps meet mirror images.",
    ),
    Check(
        claim_id="convergence.rem5.1.apart",
        experiment=ROBUST,
        evaluate=_at_every_tol,
        conditions=_apart,
        satisfied=examples((_CONFIG, _FOUND), (replace(_CONFIG, tol=0.4), _FOUND)),
        violated=examples((_CONFIG, _FOUND), (replace(_CONFIG, tol=0.4), _NONE)),
        controls=(_OPPOSITE,),
        reading="The smoothed ReLU's kernel, at every tol, radius and dimension of the preset.",
    ),
)
