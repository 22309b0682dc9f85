"""Checks of adversarial training inside the ball: contours, constants, the algorithm, the corollary."""

import math
from collections.abc import Callable, Sequence

from karat.papers.lazy.bounds import CONSTANTS, unmet_hypotheses
from karat.papers.lazy.checks.flip_length import LARGE_D
from karat.papers.lazy.experiments.adversarial import (
    ALGORITHM,
    BEYOND,
    BRACKET,
    COROLLARY,
    MOVEMENT,
    RADIUS,
)
from karat.papers.lazy.experiments.adversarial_training import (
    AdversarialTrainingConfig,
    AdversarialTrainingResult,
    Enclosure,
)
from karat.study.claim import Check, Finding
from karat.study.curves import crossings, power, say, with_caveat
from karat.study.evaluate import lower_bound_finding, tight_finding, upper_bound_finding
from karat.study.run import Run, grouped

TrainedRun = Run[AdversarialTrainingConfig, AdversarialTrainingResult]
Contour = tuple[list[float], list[list[float]]]
"""The axis, and one row per seed of where robust accuracy crosses a level."""

LEVELS = (0.05, 0.5, 0.8)
SHARP = 1.5
"""Largest ratio of the radii at 5 % and at 80 % robust accuracy that is called a sharp drop."""


def robust_accuracy(run: TrainedRun) -> float:
    """Return the accuracy that the attack leaves."""
    return run.result.robust_accuracy


def _radii(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Radius times sqrt d at which robust accuracy crosses the level, over d."""
    return crossings(runs, lambda run: run.config.d, lambda run: run.config.c, robust_accuracy, level)


def _over_root(contour: Contour) -> list[list[float]]:
    """The contour divided by the square root of its axis: the radius itself, or the movement itself."""
    axis, table = contour
    return [[value / math.sqrt(at) for value, at in zip(row, axis, strict=True)] for row in table]


def _radius_exponent(runs: Sequence[TrainedRun]) -> Finding:
    """Exponent of the radius at half robust accuracy, over all d and from 100 on.

    Reading: if only the larger dimensions show the exponent, it is neither confirmed nor refuted.
    """
    findings, notes = {}, []
    for level in LEVELS:
        contour = _radii(runs, level)
        d, radii = contour[0], _over_root(contour)
        everywhere, large = (power(d, radii, -0.5, above=above, resolution=0.15) for above in (0, LARGE_D))
        notes.append(f"{100 * level:g} %: {say(everywhere)} over all d, {say(large)} for d >= {LARGE_D};")
        asymptotic = everywhere.verdict == "fails" and large.verdict != "fails"
        findings[level] = with_caveat(everywhere, verdict="inconclusive" if asymptotic else None)
    return with_caveat(findings[0.5], "Exponent of the contours:", *notes)


def _radius_constant(runs: Sequence[TrainedRun]) -> Finding:
    """Where robust accuracy has fallen to 5 %, from d = 100 on: at 5/sqrt d at the latest, and sharply."""
    # Tiny presets have small dimensions only, which are better than none.
    large = [run for run in runs if run.config.d >= LARGE_D]
    tables = {level: _radii(large or runs, level)[1] for level in LEVELS}
    by_seed = {level: [sum(row) / len(row) for row in table] for level, table in tables.items()}
    finding = upper_bound_finding(by_seed[0.05], CONSTANTS["radius"])
    mean = {level: sum(values) / len(values) for level, values in by_seed.items()}
    span = mean[0.05] / mean[0.8]
    # Half of the statement, that nets are robust below 5/sqrt d, asks for a sharp drop.
    if finding.verdict == "holds" and span > SHARP:
        finding = with_caveat(finding, verdict="inconclusive")
    return with_caveat(
        finding,
        f"Mean over d >= {LARGE_D} of radius sqrt d: {mean[0.8]:.2f} at 80 %, {mean[0.5]:.2f} at 50 %,",
        f"{mean[0.05]:.2f} at 5 % robust accuracy: the drop spans a factor {span:.1f}; up to {SHARP:g} "
        "would be sharp.",
    )


def _movements(runs: Sequence[TrainedRun], level: float) -> Contour:
    """Movement V times sqrt m at which robust accuracy crosses the level, over m."""
    return crossings(runs, lambda run: run.config.m, lambda run: run.config.C0, robust_accuracy, level)


def _movement_exponent(runs: Sequence[TrainedRun]) -> Finding:
    """Exponent in m of the movement at half robust accuracy; the other contours are told beside it."""
    half = _movements(runs, 0.5)
    finding = power(half[0], _over_root(half), -0.5, resolution=0.15)
    notes = []
    for level in LEVELS:
        try:
            contour = _movements(runs, level)
        except ValueError:  # this level is crossed nowhere on the grid, which the claim survives
            continue
        exponent = power(contour[0], _over_root(contour), -0.5)
        mean = sum(map(sum, contour[1])) / sum(map(len, contour[1]))
        notes.append(f"{100 * level:g} %: {say(exponent)}, at V sqrt m = {mean:.1f}")
    return with_caveat(finding, "Exponent in m and place of the contours:", "; ".join(notes) + ".")


def _movement_constant(runs: Sequence[TrainedRun]) -> Finding:
    """Movement at half robust accuracy against 25, and the accuracy at 25 and beyond."""
    table = _movements(runs, 0.5)[1]
    finding = tight_finding([sum(row) / len(row) for row in table], CONSTANTS["movement"], resolution=3.0)
    by_ball = grouped(runs, lambda run: run.config.C0)
    notes = [
        f"{_mean(by_ball[C0], robust_accuracy):.2f} at C0 = {C0:g}"
        for C0 in dict.fromkeys((CONSTANTS["movement"], max(by_ball)))
        if C0 in by_ball
    ]
    return with_caveat(
        finding,
        "The midpoint of the transition; robust accuracy is " + " and ".join(notes) + ":",
        "25 is its upper edge, and complete robustness was not reached.",
    )


def _mean(runs: Sequence[TrainedRun], value: Callable[[TrainedRun], float]) -> float:
    return sum(map(value, runs)) / len(runs)


def _beyond(runs: Sequence[TrainedRun]) -> Finding:
    """Gain of robust accuracy when the projection is dropped, averaged over d >= 100."""
    gains: dict[int, dict[int, float]] = {}
    cells = grouped(runs, lambda run: (run.config.d, run.config.c, run.seed))
    for (d, _, seed), of_cell in cells.items():
        free = [run for run in of_cell if math.isinf(run.config.C0)]
        inside = [run for run in of_cell if math.isfinite(run.config.C0)]
        if free and not inside:
            raise ValueError("a net trained without projection has none inside the ball beside it.")
        if free:
            # The ball of the figures; larger ones are on the way out of the lazy regime.
            smallest = min(inside, key=lambda run: run.config.C0)
            gains.setdefault(d, {})[seed] = robust_accuracy(free[0]) - robust_accuracy(smallest)
    # In small dimensions the ball is no obstacle: they count only where no others were run.
    counted = {d: by_seed for d, by_seed in gains.items() if d >= LARGE_D} or gains
    pooled: dict[int, list[float]] = {}
    for by_seed in counted.values():
        for seed, gain in by_seed.items():
            pooled.setdefault(seed, []).append(gain)
    finding = lower_bound_finding([sum(v) / len(v) for v in pooled.values()], 0.0)
    notes = [f"d = {d}: {sum(v.values()) / len(v):+.2f}" for d, v in sorted(gains.items())]
    return with_caveat(finding, "Gain of robust accuracy without projection at", ", ".join(notes) + ".")


def _reading(run: TrainedRun) -> tuple[str, str]:
    return run.config.line4, run.config.project


def _algorithm(runs: Sequence[TrainedRun]) -> Finding:
    """Robust accuracy lost by the printed line 4 against the iterated attack; the place of the projection."""
    # Equal seeds share start and images, so that readings are compared seed by seed.
    readings = grouped(sorted(runs, key=lambda run: run.seed), _reading)

    def gain_over_pgd(line4: str, project: str) -> list[float]:
        """Accuracy of a reading less that of PGD projected after every step, seed by seed."""
        pairs = zip(readings.get((line4, project), []), readings.get(("iterated", "step"), []), strict=True)
        return [robust_accuracy(run) - robust_accuracy(pgd) for run, pgd in pairs]

    lost, moved = gain_over_pgd("printed", "step"), gain_over_pgd("iterated", "epoch")
    finding = tight_finding(lost, 0.0, resolution=0.05)
    return with_caveat(
        finding,
        f"Robust accuracy of the printed line (gradient at x, not iterated) less that of PGD: "
        f"{sum(lost) / len(lost):+.2f}.",
        f"Projecting once an epoch instead of every step changes it by {sum(moved) / len(moved):+.3f}.",
    )


def enclosure(run: TrainedRun) -> Enclosure:
    """Return the two numbers between which the robust error lies; a ValueError if none was enclosed."""
    if run.result.error is None:
        raise ValueError("no robust error was enclosed: the setting `certified` is 0.")
    return run.result.error


def _corollary(runs: Sequence[TrainedRun]) -> Finding:
    """Attacked error at the largest radius; brackets at all radii."""
    by_radius = dict(sorted(grouped(runs, lambda run: run.config.c).items()))
    attacked = [enclosure(run).low for run in by_radius[max(by_radius)]]
    # Where every image of every net is broken no interval over seeds is needed.
    finding = lower_bound_finding(attacked, 0.9, deterministic=all(low == 1.0 for low in attacked))
    notes = []
    for c, of_radius in by_radius.items():
        low = _mean(of_radius, lambda run: enclosure(run).low)
        high = _mean(of_radius, lambda run: enclosure(run).high)
        notes.append(f"{c:g}/sqrt d: [{low:.2f}, {high:.2f}]")
    return with_caveat(finding, "Robust error enclosed by attack and certificate at", ", ".join(notes) + ".")


def _narrow(run: TrainedRun) -> list[str]:
    """Width hypothesis of Theorem 3.1."""
    return unmet_hypotheses(run.config.d, run.config.m)


CHECKS = (
    Check(
        claim_id="lazy.cor3.2",
        experiment=COROLLARY,
        evaluate=_corollary,
        hypotheses=_narrow,
        reading="Nets trained adversarially in the ball stand for all of its nets: what the attack finds on "
        "them is decisive from below. C0 = 1; the lower end of the width window is met, which only small d "
        "can afford; its upper end has a hidden constant. The radius is 3/sqrt d.",
        headline=True,
    ),
    Check(
        claim_id="lazy.cor3.2.figures",
        experiment=BRACKET,
        evaluate=_corollary,
        hypotheses=_narrow,
        reading="Radius C0/sqrt(2 d) = 7.1/sqrt d, the sharp constant at C0 = 10.",
    ),
    Check(
        claim_id="lazy.fig4.radius",
        experiment=RADIUS,
        evaluate=_radius_exponent,
        reported="~ 1/sqrt d",
        reading="Radius at which robust accuracy crosses 50 %, interpolated in log radius; PGD accuracies.",
        headline=True,
    ),
    Check(
        claim_id="lazy.fig4.constant",
        experiment=RADIUS,
        evaluate=_radius_constant,
        reported=CONSTANTS["radius"],
        reading="The printed 5/sqrt d read as the radius at which robust accuracy has fallen to 5 % or "
        "less. That nets are robust below asks for a sharp drop: without one, half of the statement holds "
        "and the verdict stays open.",
    ),
    Check(
        claim_id="lazy.fig4.movement",
        experiment=MOVEMENT,
        evaluate=_movement_exponent,
        reported="~ 1/sqrt m",
        reading="Movement V at which robust accuracy crosses 50 %.",
        headline=True,
    ),
    Check(
        claim_id="lazy.fig4.edge",
        experiment=MOVEMENT,
        evaluate=_movement_constant,
        reported=CONSTANTS["movement"],
        reading="The printed 25/sqrt m read as the place of the transition.",
    ),
    Check(
        claim_id="lazy.sec5.2.beyond",
        experiment=BEYOND,
        evaluate=_beyond,
        reading="The same training without projection, at the radius where the ball holds about "
        "half of the points.",
    ),
    Check(
        claim_id="lazy.alg1",
        experiment=ALGORITHM,
        evaluate=_algorithm,
        reading="Line 4 as printed takes every gradient at x, so that its 100 iterations are one "
        "step of 2.5 R/100.",
    ),
)
