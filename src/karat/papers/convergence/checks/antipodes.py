"""Checks of nets without biases: what antipodes forbid them, and when the quadratic ReLU reaches its "
"target."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.core.extended import ratio
from karat.papers.convergence.bounds import two_layer_steps
from karat.papers.convergence.checks.two_layer_runs import START_LOSS
from karat.papers.convergence.experiments.activations import CENTRED
from karat.papers.convergence.experiments.antipodes import (
    PARITY,
    QUADRATIC,
    AntipodesConfig,
    AntipodesResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import LOSS, RATIO, Finding, Unit
from karat.study.hypothesis import Condition, at_least, at_most, is_so
from karat.study.judging import (
    Undecided,
    all_of,
    bound,
    every_setting,
    exact_bound,
    identity,
    noted,
    vacuous_if,
)
from karat.study.run import Run, by_setting, examples, grouped

AntipodesRun = Run[AntipodesConfig, AntipodesResult]

CERTIFICATE = "certified: any feasible point of the dual of a convex problem"

TOL = 0.2
"""Distance from the labels that the assumption is asked for; that of the claim about the robust function."""

DISTANCE = Unit("distance from the label", 0.0)


def _corollary(config: AntipodesConfig) -> list[Condition]:
    """Hypotheses of Corollary C.1 but for the data, hidden constants read as 1."""
    width = ratio(math.log(1 / config.tol), config.tol ** (config.d + 1))
    quadratic = (config.activation, config.rows, config.lift) == ("quadratic_relu", "sphere", False)
    return [
        at_least("m >= tol^-(d+1) log(1/tol)", config.m, width),
        at_most("lr <= tol", config.lr, config.tol),
        at_least("steps >= sqrt(m)/lr", config.steps, two_layer_steps(config.m, config.lr)),
        is_so("phi = ReLU^2, rows on the sphere", quadratic),
        is_so("Asm 3.1: the loss is convex, smooth and 1-Lipschitz", True),
    ]


def _printed_data(config: AntipodesConfig) -> list[Condition]:
    """With the printed assumption on the data, which every run checks on what it drew."""
    allowed = config.data in ("apart", "same") or (config.data == "ring" and config.n % 4 == 0)
    return [
        *_corollary(config),
        is_so("Asm C.1: caps of different labels are apart up to sign", allowed),
    ]


def _repaired_data(config: AntipodesConfig) -> list[Condition]:
    """With the assumption that odd functions need."""
    allowed = config.data in ("apart", "opposite") or (config.data == "ring" and config.n % 4 == 2)
    return [
        *_corollary(config),
        is_so("caps of different labels are apart, those of equal labels from mirror images", allowed),
    ]


def _reached(runs: Sequence[AntipodesRun]) -> Finding:
    """The smallest surrogate loss against the target, for each kind of data."""

    def small(same: Sequence[AntipodesRun]) -> Finding:
        return bound([run.result.best_loss for run in same], "at most", same[0].config.tol, LOSS)

    words = []
    for cells in by_setting(runs):
        config = cells[0].config
        words.append(f"{config.data}, tol {config.tol:g}, m {config.m}: {small(cells)}")
    finding = noted(every_setting(runs, small), f"min_t L_A: {'; '.join(words)}.")
    tol = max(run.config.tol for run in runs)
    return vacuous_if(tol >= START_LOSS, f"the zero function has the loss {START_LOSS:.3f}.", finding)


def _printed(runs: Sequence[AntipodesRun]) -> Finding:
    """Corollary C.1 as printed: trained losses, and floors under the losses of all nets, on allowed data."""
    allowed = [run for run in runs if run.config.data != "opposite"]
    if not allowed:
        raise Undecided("no run has data that the assumption allows")
    tol = max(allowed, key=lambda run: run.result.floor / run.config.tol).config.tol
    same_tol = [run.result.floor for run in allowed if run.config.tol == tol]
    floors = exact_bound(same_tol, "at most", tol, LOSS, CERTIFICATE)
    excess = [run.result.best_loss - run.result.floor for run in allowed if run.result.floor > 0]
    note = (
        f"No net of any width has a loss below its floor; training ends within {max(excess):.0e} of it."
        if excess
        else ""
    )
    # Above a floor that exceeds tol no training can help.
    free = [run for run in allowed if run.result.floor <= run.config.tol]
    return noted(all_of(floors, _reached(free)) if free else floors, note)


def _repaired(runs: Sequence[AntipodesRun]) -> Finding:
    """Corollary C.1 on data whose labels an odd function can have."""
    allowed = [run for run in runs if run.config.data in ("apart", "opposite")]
    if not allowed:
        raise Undecided("no run has data that an odd function fits")
    return _reached(allowed)


def _identity(runs: Sequence[AntipodesRun]) -> Finding:
    """The even or odd part of random nets is the form of their weights, to rounding."""
    if not runs:
        raise Undecided("no run was found")
    widths = sorted({run.config.m for run in runs})
    names = sorted({run.config.activation.replace("_", " ") for run in runs})
    return noted(
        identity([run.result.parity_error for run in runs], 0.0, RATIO),
        f"{', '.join(names)}; widths {widths[0]} to {widths[-1]}.",
    )


def _floor(runs: Sequence[AntipodesRun]) -> Finding:
    """Trained losses over the certified floors, at every width."""
    obstructed = [run for run in runs if run.result.floor > 0]
    if not obstructed:
        raise Undecided("no run has labels that the nets cannot have")
    if any(run.result.floor > run.result.form_loss + 1e-9 for run in obstructed):
        raise Undecided("a form has a smaller loss than the floor that should lie below all")
    ratios = [run.result.best_loss / run.result.floor for run in obstructed]
    floors = [run.result.floor for run in obstructed]
    gap = max((run.result.form_loss - run.result.floor) / run.result.floor for run in obstructed)
    return noted(
        exact_bound(ratios, "at least", 1.0, RATIO, CERTIFICATE),
        f"Smallest loss in training over the floor; floors {min(floors):.3f} to {max(floors):.3f} (zero "
        f"function {START_LOSS:.3f}), duality gap {gap:.0e}; training ends at most {max(ratios) - 1:.1%} "
        "above.",
    )


def _no_example(runs: Sequence[AntipodesRun]) -> Finding:
    """Certified distance of every function of each space from the labels, on the data that it fits worst."""
    antipodal = [run for run in runs if run.config.data == "opposite"]
    if not antipodal:
        raise Undecided("no run has opposite labels at antipodes")
    if any(run.result.distance_found < run.result.distance_floor - 1e-9 for run in antipodal):
        raise Undecided("a function of the space is nearer than the floor that should lie below all")
    by_activation = grouped(antipodal, _activation)
    farthest = [max(run.result.distance_floor for run in cells) for cells in by_activation.values()]
    words = [
        f"{name.replace('_', ' ')} {max(run.result.distance_floor for run in cells):.2f} to "
        f"{max(run.result.distance_found for run in cells):.2f}"
        for name, cells in sorted(by_activation.items())
    ]
    return noted(
        exact_bound(farthest, "at least", TOL, DISTANCE, CERTIFICATE),
        f"Largest distance over the data sets, certified and found: {', '.join(words)}; 1 is that of the "
        "zero function.",
    )


def _family(config: AntipodesConfig) -> list[Condition]:
    """The family, and data of the assumption."""
    return [
        is_so("ReLU or a smoothing of it with its kink at 0", config.activation in CENTRED),
        is_so("compatible caps on the sphere", True),
    ]


def _activation(run: AntipodesRun) -> str:
    return run.config.activation


_APART = AntipodesConfig(m=1006)
_RING = replace(_APART, data="ring", n=8)
_PAIRS = AntipodesConfig(m=512, n=16, tau=0.15, K=1, activation="smoothed_relu", data="opposite")
_FREE = AntipodesResult(
    floor=0.0,
    distance_floor=0.0,
    distance_found=0.0,
    form_loss=0.0,
    best_loss=0.05,
    observed=[1, 10],
    losses=[0.4, 0.05],
    parity_error=1e-15,
)
_STUCK = replace(_FREE, floor=0.4, distance_floor=1.0, distance_found=1.0, form_loss=0.4, best_loss=0.4001)

_UPHILL = Control(
    name="wrong sign",
    removes="sign",
    settings={"direction": "up"},
    cheap={"data": "apart", "n": 6, "m": 256, "steps": 500},
    why="steps up the loss never come below that of the start",
)
_BIASES: dict[str, object] = {"activation": "relu", "rows": "gaussian", "data": "opposite", "m": 512}

CHECKS = (
    Check(
        claim_id="convergence.appC.2",
        experiment=QUADRATIC,
        evaluate=_printed,
        conditions=_printed_data,
        satisfied=examples((_APART, _FREE), (_RING, _FREE)),
        violated=examples((_APART, _FREE), (_RING, _STUCK)),
        controls=(_UPHILL,),
        reading="As printed: the assumption forbids caps of different labels that meet up to sign, not "
        "antipodes with equal labels, and it forbids antipodes with different ones. Hidden constants "
        "read as 1; a floor holds for every constant.",
        headline=True,
    ),
    Check(
        claim_id="convergence.appC.2.repaired",
        experiment=QUADRATIC,
        evaluate=_repaired,
        conditions=_repaired_data,
        satisfied=examples((_APART, _FREE), (replace(_APART, data="opposite"), _FREE)),
        violated=examples((_APART, _STUCK)),
        controls=(_UPHILL,),
        reading="Random caps that are apart up to sign, and random antipodes with different labels. Hidden "
        "constants read as 1.",
    ),
    Check(
        claim_id="convergence.parity",
        experiment=PARITY,
        evaluate=_identity,
        satisfied=examples((_PAIRS, _STUCK)),
        violated=examples((_PAIRS, replace(_STUCK, parity_error=0.1))),
        controls=(
            Control(
                name="biases",
                removes="structure",
                settings={"lift": True},
                cheap={**_BIASES, "steps": 1},
                why="a constant input gives every neuron a bias, and its kink leaves the origin",
            ),
        ),
        reading="Nets of random Gaussian weights in both layers, at random points.",
        headline=True,
    ),
    Check(
        claim_id="convergence.parity.floor",
        experiment=PARITY,
        evaluate=_floor,
        satisfied=examples((_PAIRS, _STUCK)),
        violated=examples((_PAIRS, replace(_STUCK, best_loss=0.3))),
        controls=(
            Control(
                name="biases",
                removes="structure",
                settings={"lift": True},
                cheap=_BIASES,
                why="on lifted points no two inputs are antipodal, and training goes below the floor",
            ),
        ),
        reading="By Jensen's inequality the labels of two antipodes cost at least the loss of the form at "
        "one of them. Clean losses, which robust ones exceed.",
    ),
    Check(
        claim_id="convergence.rem5.1.centred",
        experiment=PARITY,
        evaluate=_no_example,
        conditions=_family,
        satisfied=examples((_PAIRS, _STUCK)),
        violated=examples((_PAIRS, _FREE)),
        controls=(
            Control(
                name="softplus with its bend at -1",
                removes="structure",
                settings={"activation": "shifted_softplus"},
                cheap={"activation": "softplus", "rows": "gaussian", "data": "opposite", "m": 64, "steps": 1},
                why="softplus(z + 1) has an odd part that is not linear, and a kernel for any labels",
            ),
        ),
        reading="The odd part of every function of these spaces is linear, as that of the nets; the smallest "
        "distance of a linear function from opposite labels of random antipodes is certified. One data set "
        "for each activation is enough.",
    ),
)
