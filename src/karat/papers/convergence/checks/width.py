"""Checks of what the width does: the summed regret recursion, movement and activation patterns."""

from collections.abc import Mapping, Sequence

from karat.papers.convergence.bounds import curvature_constant, regret_gap
from karat.papers.convergence.checks.averages import mean
from karat.papers.convergence.checks.descent import TwoLayerRun
from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ
from karat.papers.convergence.experiments.descent import WIDTH
from karat.study.claim import Check, Finding
from karat.study.curves import curves, power, say, with_caveat
from karat.study.evaluate import upper_bound_finding
from karat.study.run import grouped


def _patterns(runs: Sequence[TwoLayerRun]) -> Finding:
    """Exponents in m of pattern change, row movement and Frobenius movement of projected runs."""
    cells = _in_the_common_ball(_projected(runs))
    m, signs = curves(cells, _width, lambda run: run.result.pattern_change)
    _, rows = curves(cells, _width, lambda run: run.result.rows)
    # Fewer changes than the theorem allows are no contradiction.
    changed = power(m, signs, -1 / 3, side="at most")
    movement = [run.result.frobenius for run in cells]
    return with_caveat(
        changed,
        f"Exponents in m: signs {say(changed)}, largest row {say(power(m, rows, -0.5))} (theory -1/2); the "
        f"Frobenius movement is {min(movement):.2f} to {max(movement):.2f} at every width.",
    )


def _gap(runs: Sequence[TwoLayerRun]) -> Finding:
    """Every gap met along projected runs against the summed recursion; exponents in T, m and R."""
    projected = _projected(runs)
    # The gap nearest to its bound decides.
    ratio, gap, limit, steps, m, R = max(row for run in projected for row in _against_the_bound(run))
    finding = upper_bound_finding([gap], limit, deterministic=True)
    same_ball = _in_the_common_ball(projected)
    by_width = sorted(grouped(same_ball, _width).items())
    over_time = _exponent_in_time(by_width[-1][1])
    gaps_of_m = {width: [run.result.final_gap for run in cells] for width, cells in by_width}
    gaps_of_R = {
        radius: [run.result.final_gap for run in _widest(cells)]
        for radius, cells in sorted(grouped(projected, lambda run: run.config.R).items())
    }
    certificate = mean([run.result.certificate_width for run in projected])
    return with_caveat(
        finding,
        f"Tightest at T = {steps}, m = {m}, R = {R:g}: {1 / ratio:.1f} times below lr/2 + R^2 c/(2 sqrt m (1 "
        "- (1 + c lr/sqrt m)^-T)), W_* the linearised optimum.",
        f"Exponent of the gap in T {say(over_time)} while it is positive (bound -1).",
        f"Last gap at m = {_means(gaps_of_m)}; at R = {_means(gaps_of_R)}: within the certificate's width "
        f"{certificate:.4f} of 0 or below, so that its powers of m and R cannot be resolved.",
    )


def _against_the_bound(run: TwoLayerRun) -> list[tuple[float, float, float, int, int, float]]:
    """For every number of steps noted: gap over bound, gap, bound, steps, m, R."""
    config, result = run.config, run.result
    c = curvature_constant(SLOPE_LIPSCHITZ[config.activation])
    rows = []
    for steps, gap in zip(result.steps, result.gap, strict=True):
        # The recursion speaks of the robust loss of W_*; the noted gap is to the certified lower bound.
        reached = gap + result.reference_bound - result.target_loss
        limit = regret_gap(config.R, config.m, config.lr, steps, c)
        rows.append((reached / limit, reached, limit, steps, config.m, config.R))
    return rows


def _exponent_in_time(runs: Sequence[TwoLayerRun]) -> Finding:
    """The power of T with which the gap falls, as long as it is positive in every run."""
    noted = min(len(run.result.steps) for run in runs)
    positive = [i for i in range(noted) if all(min(run.result.gap[: i + 1]) > 0 for run in runs)]
    steps = [float(runs[0].result.steps[i]) for i in positive]
    return power(steps, [[run.result.gap[i] for i in positive] for run in runs], -1.0)


def _projected(runs: Sequence[TwoLayerRun]) -> list[TwoLayerRun]:
    return [run for run in runs if run.config.projected]


def _in_the_common_ball(runs: Sequence[TwoLayerRun]) -> list[TwoLayerRun]:
    """Runs in the ball that most of them share."""
    return max(grouped(runs, lambda run: run.config.R).values(), key=len)


def _widest(runs: Sequence[TwoLayerRun]) -> list[TwoLayerRun]:
    return max(grouped(runs, _width).items())[1]


def _width(run: TwoLayerRun) -> float:
    return run.config.m


def _means(values: Mapping[float, Sequence[float]]) -> str:
    return ", ".join(f"{key:g}: {mean(found):+.4f}" for key, found in values.items())


CHECKS = (
    Check(
        claim_id="convergence.thm5.1.gap",
        experiment=WIDTH,
        evaluate=_gap,
        reading="The recursion summed with c = C L and |grad L_A| <= 1, no hidden constant; W_* is the "
        "linearised optimum, whose own robust loss stands for L_*(W_*).",
    ),
    Check(
        claim_id="convergence.eq10",
        experiment=WIDTH,
        evaluate=_patterns,
        reading="Two-layer nets projected to the Frobenius ball R; signs at the centres.",
    ),
)
