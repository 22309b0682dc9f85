"""Checks of deep nets: the gap of projected training, lengths of the start, shifts as changes of a layer."""

import math
from collections.abc import Sequence

from karat.papers.convergence.bounds import deep_steps, deep_width
from karat.papers.convergence.checks.averages import mean
from karat.papers.convergence.checks.descent import READING
from karat.papers.convergence.experiments.deep import THM41, WIDE, DeepConfig, DeepResult
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, say, with_caveat
from karat.study.evaluate import upper_bound_finding
from karat.study.run import Run, grouped

DeepRun = Run[DeepConfig, DeepResult]


def _unmet_theorem(run: DeepRun) -> list[str]:
    """Hypotheses of Theorem 4.1, hidden constants read as 1."""
    config, depth = run.config, run.config.depth
    width = deep_width(config.R, depth, config.tol, config.d)
    steps = deep_steps(config.R, config.m, config.tol, config.lr)
    hypotheses = [
        (config.m >= width, f"Thm 4.1: m >= R^9 depth^16/tol^7 = {width:.2g} at depth {depth}"),
        (
            config.steps >= steps,
            f"Thm 4.1: steps >= R^2/(m tol lr) = {steps:.0f} at depth {depth}, steps = {config.steps}",
        ),
    ]
    return [text for met, text in hypotheses if not met]


def _deep_gap(runs: Sequence[DeepRun]) -> Finding:
    """Gap of the deepest and widest nets against the target, beside those of all others."""
    # Depth is what makes the theorem hard, width what brings its hypotheses near: this cell is judged.
    depth, m = max(run.config.depth for run in runs), max(run.config.m for run in runs)
    strongest = [run for run in runs if run.config.attack == "worst"]
    judged = [run for run in strongest if run.config.depth == depth and run.config.m == m]
    finding = upper_bound_finding([run.result.final_gap for run in judged], judged[0].config.tol)
    gaps, slopes = [], []
    for at, cells in sorted(grouped(strongest, lambda run: run.config.depth).items()):
        by_width = sorted(grouped(cells, lambda run: run.config.m).items())
        means = [mean([run.result.final_gap for run in same]) for _, same in by_width]
        gaps.append(f"depth {at}: " + ", ".join(f"{gap:+.3f}" for gap in means))
        x, table = curves(cells, lambda run: run.config.m, lambda run: run.result.pattern_change)
        slopes.append(f"{say(power(x, table, -1 / 3), 2)} at depth {at}")
    widths = ", ".join(str(width) for width, _ in by_width)
    return with_caveat(
        finding,
        f"Gaps at m = {widths}; " + "; ".join(gaps) + ".",
        f"Exponent in m of the signs changed: {', '.join(slopes)} (Eq 10: -1/3).",
        f"Shown: depth {depth}, m = {m}.",
    )


def _start_lengths(runs: Sequence[DeepRun]) -> Finding:
    """Mean length of the layers of a wide start against 4/3."""
    # Starts of one seed share their randomness: they are no independent evidence, and count once.
    by_seed = grouped(runs, lambda run: run.seed).values()
    finding = upper_bound_finding([mean([run.result.wide_norm for run in same]) for same in by_seed], 4 / 3)
    m = max(run.config.m for run in runs)
    lengths = [run.result.norm for run in runs if run.config.m == m]
    low, high = min(length.low for length in lengths), max(length.high for length in lengths)
    return with_caveat(
        finding,
        f"Mean |x^(h)| over inputs and layers at m = {WIDE}; at m = {m} they lie in [{low:.2f}, {high:.2f}].",
        "No activation follows A, so that the printed N(0, 2/m) gives lengths near sqrt 2 = "
        f"{math.sqrt(2):.3f}, outside [2/3, 4/3]; N(0, 1/m) would give 1.",
    )


def _shift(runs: Sequence[DeepRun]) -> Finding:
    """The two nets of Lemma A.4 agree up to rounding."""
    finding = upper_bound_finding([run.result.equivalence for run in runs], 1e-9, deterministic=True)
    return with_caveat(finding, "Relative difference of the outputs of shifted input and changed W_1.")


CHECKS = (
    Check(
        claim_id="convergence.thm4.1",
        experiment=THM41,
        evaluate=_deep_gap,
        hypotheses=_unmet_theorem,
        reading=READING,
        headline=True,
    ),
    Check(
        claim_id="convergence.lemA.2",
        experiment=THM41,
        evaluate=_start_lengths,
        reading="Start exactly as printed: entries of A from N(0, 2/m), no activation after A.",
    ),
    Check(
        claim_id="convergence.lemA.4",
        experiment=THM41,
        evaluate=_shift,
        reading="An identity, checked to rounding.",
    ),
)
