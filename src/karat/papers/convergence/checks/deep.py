"""Checks of deep nets: the gap of projected training, lengths of the start, shifts as changes of a layer."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.bounds import deep_width
from karat.papers.convergence.checks.two_layer_runs import GAP
from karat.papers.convergence.experiments.deep import (
    THM41,
    WIDE,
    DeepConfig,
    DeepResult,
    LayerLengths,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.curves import curves
from karat.study.finding import LENGTH, RATIO, Finding, Margin
from karat.study.hypothesis import Condition, at_least, is_so
from karat.study.judging import (
    Undecided,
    all_of,
    bound,
    equal,
    identity,
    noted,
    one_constant,
    vacuous_if,
)
from karat.study.run import Run, examples, grouped

DeepRun = Run[DeepConfig, DeepResult]

THIRD = Margin(1 / 3, "the lemma's own interval [2/3, 4/3]")
FREE_OF_WIDTH = Margin(0.25, "a change that grows like sqrt m has the exponent 1/2, a bounded one has 0")


def _scaled(config: DeepConfig) -> list[Condition]:
    """What is kept of the hypotheses of Theorem 4.1: all but the width and the sizes of rate and steps."""
    return [
        at_least("R >= 1", config.R, 1.0),
        is_so("Asm 3.1: the loss is convex, smooth and 1-Lipschitz", True),
    ]


def _wide_enough(config: DeepConfig) -> list[Condition]:
    """Lemma A.2 speaks of wide starts; a start of its own width is looked at."""
    return [at_least("m/depth is large", WIDE / config.depth, 100.0)]


def _deep_gap(runs: Sequence[DeepRun]) -> Finding:
    """Gap of the widest nets of every depth against the target."""
    strongest = [run for run in runs if run.config.attack == "worst"]
    if not strongest:
        raise Undecided("no run has the strongest attack")
    m = max(run.config.m for run in strongest)
    by_depth = sorted(
        grouped([run for run in strongest if run.config.m == m], lambda run: run.config.depth).items()
    )
    findings = [_gap_at_one_depth(cells) for _, cells in by_depth]
    gaps = ", ".join(f"{depth}: {finding}" for (depth, _), finding in zip(by_depth, findings, strict=True))
    config = strongest[0].config
    below = [-run.result.final_gap for run in strongest if run.result.final_gap < 0]
    asked = ", ".join(f"{deep_width(config.R, depth, config.tol, config.d):.2g}" for depth, _ in by_depth)
    return noted(
        all_of(*findings),
        f"Gap at m = {m} by depth: {gaps}.",
        f"At these depths Theorem 4.1 asks for m >= {asked}, hidden constants read as 1.",
        f"{len(below)} of {len(strongest)} nets have a smaller loss than every linearised net, by "
        f"{max(below):.2g} at most."
        if below
        else "",
    )


def _gap_at_one_depth(cells: Sequence[DeepRun]) -> Finding:
    tol = cells[0].config.tol
    if any(run.result.reference_bound > run.result.reference + 1e-9 for run in cells):
        raise Undecided("a linearised net of the ball has a smaller loss than the bound below all of them")
    start_gap = sum(run.result.start_loss - run.result.reference for run in cells) / len(cells)
    finding = bound([run.result.final_gap for run in cells], "at most", tol, GAP)
    return vacuous_if(start_gap <= tol, f"the start itself is within {start_gap:.3f} of the target.", finding)


def _start_lengths(runs: Sequence[DeepRun]) -> Finding:
    """Lengths of layers and preactivations of a wide start as printed."""
    if not runs:
        raise Undecided("no run was found")
    finding = _distance_from_one(runs, state_unit=1.0, bar_unit=1.0)
    states = [length for run in runs for length in (run.result.wide_low, run.result.wide_high)]
    bars = [length for run in runs for length in (run.result.wide_bar_low, run.result.wide_bar_high)]
    return noted(
        finding,
        f"Largest distance of a length from 1. At m = {WIDE} layers have lengths in [{min(states):.2f}, "
        f"{max(states):.2f}], preactivations in [{min(bars):.2f}, {max(bars):.2f}].",
    )


def _repaired_lengths(runs: Sequence[DeepRun]) -> Finding:
    """The same with A from N(0, 1/m), which divides all lengths by sqrt 2, and preactivations over sqrt 2."""
    return _distance_from_one(runs, state_unit=math.sqrt(2), bar_unit=2.0)


def _distance_from_one(runs: Sequence[DeepRun], *, state_unit: float, bar_unit: float) -> Finding:
    """For every seed the largest distance of a length from 1, in the units given."""
    distances = []
    # Starts of one seed share their randomness: they are no independent evidence, and count once.
    for same in grouped(runs, lambda run: run.seed).values():
        lengths = [
            length / unit
            for run in same
            for low, high, unit in (
                (run.result.wide_low, run.result.wide_high, state_unit),
                (run.result.wide_bar_low, run.result.wide_bar_high, bar_unit),
            )
            for length in (low, high)
        ]
        distances.append(max(abs(length - 1) for length in lengths))
    return equal(distances, 0.0, THIRD, LENGTH)


def _shift(runs: Sequence[DeepRun]) -> Finding:
    """The two nets of Lemma A.4 agree up to rounding in every layer, and W_1 moves by O(|x - x'|)."""
    if not runs:
        raise Undecided("no run was found")
    differences = [d for run in runs for d in (run.result.equivalence, run.result.shift_layers)]
    depth = min(run.config.depth for run in runs)
    same_depth = [run for run in runs if run.config.depth == depth]
    m, lengths = curves(same_depth, lambda run: run.config.m, lambda run: run.result.shift_length)
    return noted(
        all_of(identity(differences, 0.0, RATIO), one_constant(m, lengths, "at most", FREE_OF_WIDTH)),
        "Relative differences of outputs and layers of shifted input and changed W_1, and the length of the "
        "change over that of the shift.",
    )


EXAMPLE = DeepConfig(m=64, depth=2)
MEASURED = DeepResult(
    reference=0.201,
    reference_bound=0.2,
    steps=[30],
    gap=[0.01],
    final_gap=0.01,
    start_loss=1.0,
    frobenius=1.0,
    pattern_change=0.1,
    norm=LayerLengths(low=0.9, high=1.1, mean=1.0),
    wide_norm=1.0,
    equivalence=1e-13,
    wide_low=0.9,
    wide_high=1.1,
    wide_bar_low=0.9,
    wide_bar_high=1.1,
    shift_layers=1e-13,
    shift_length=3.0,
    target_distance=1.0,
)
_PRINTED = replace(MEASURED, wide_low=1.3, wide_high=1.5, wide_bar_low=1.9, wide_bar_high=2.1)


def _widths(result: DeepResult) -> list[DeepRun]:
    return examples(*((replace(EXAMPLE, m=m), result) for m in (32, 64, 128)))


_SHRUNK = Control(
    name="shrunk input layer",
    removes="scale",
    settings={"input_variance": 2e-6},
    cheap={"m": 32, "depth": 1, "steps": 1},
    why="all layers are a thousand times shorter",
)

CHECKS = (
    Check(
        claim_id="convergence.thm4.1.deep",
        experiment=THM41,
        evaluate=_deep_gap,
        conditions=_scaled,
        satisfied=examples((EXAMPLE, MEASURED)),
        violated=examples((EXAMPLE, replace(MEASURED, final_gap=0.2))),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"steps": 1},
                cheap={"m": 64, "depth": 1, "attack": "worst"},
                why="the only loss on the way is that of the start, whose gap exceeds the target",
            ),
        ),
        reading="L_*(W_*) is replaced by the certified minimum of the linearised problem over the same ball; "
        "a ReLU net may do better than its linearisation. Finite perturbation sets make the strongest attack "
        "exact. Rate 1/(m depth^2), widths far below those of the theorem.",
    ),
    Check(
        claim_id="convergence.lemA.2",
        experiment=THM41,
        evaluate=_start_lengths,
        conditions=_wide_enough,
        satisfied=examples((EXAMPLE, MEASURED)),
        violated=examples((EXAMPLE, _PRINTED)),
        controls=(_SHRUNK,),
        reading="Start exactly as printed: entries of A from N(0, 2/m), no activation after A. Layers and "
        "preactivations, both ends of the interval.",
    ),
    Check(
        claim_id="convergence.lemA.2.repaired",
        experiment=THM41,
        evaluate=_repaired_lengths,
        conditions=_wide_enough,
        satisfied=examples((EXAMPLE, _PRINTED)),
        violated=examples((EXAMPLE, replace(_PRINTED, wide_bar_high=2.9))),
        controls=(_SHRUNK,),
        reading="Lengths are proportional to A, so that those of the printed start over sqrt 2 are those of "
        "entries from N(0, 1/m).",
    ),
    Check(
        claim_id="convergence.lemA.4",
        experiment=THM41,
        evaluate=_shift,
        satisfied=_widths(MEASURED),
        violated=_widths(replace(MEASURED, shift_layers=1e-3)),
        controls=(
            Control(
                name="no change of W_1",
                removes="formula",
                settings={"shift": "none"},
                cheap={"depth": 1, "steps": 1},
                why="the net at the unshifted input is another one",
            ),
        ),
        reading="An identity, checked to rounding in every layer, and one constant for the length of the "
        "change at all widths.",
    ),
)
