"""The paper's other figures: training curves, maps over the attack ratio, and what happens on digits."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import mean, mode

from karat.papers.benign.checks.boundary import boundary_exponent, find_crossings, halfway
from karat.papers.benign.checks.ordering import DIFFERENCE, Direction, end_changes, ordering
from karat.papers.benign.checks.settings import every_setting, made_up
from karat.papers.benign.checks.theorem import PRINTED
from karat.papers.benign.experiments.axes import Axis, axis_value
from karat.papers.benign.experiments.curves import FIG2
from karat.papers.benign.experiments.digits import FIG4, FIG5, FIG6, DigitsConfig
from karat.papers.benign.experiments.evaluation import CurvesResult, Evaluation
from karat.papers.benign.experiments.maps import FIG3
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import ERROR, RATIO, Finding
from karat.study.judging import Undecided, all_of, bound, equal, limit, noted, share
from karat.study.run import Run, grouped

MixtureCurves = Sequence[Run[MixtureConfig, CurvesResult]]
DigitsErrors = Sequence[Run[DigitsConfig, Evaluation]]
DigitsCurves = Sequence[Run[DigitsConfig, CurvesResult]]

TEST_DIGITS = {"mnist": 2115, "embedded": 400}
"""Source -> zeros and ones in its test part."""

ZERO = 0.01
"""A hundredth of the panel: a printed curve that ends closer to the axis ends at 0 for the eye."""


def _fig2(runs: MixtureCurves) -> Finding:
    """Where every curve ends, and whether it ends higher at the far end of each row."""
    axes: tuple[Axis, ...] = ("mu", "d", "ratio")
    # The most frequent value of each setting: the point that all rows go through.
    base = {axis: mode(axis_value(run.config, axis) for run in runs) for axis in axes}
    least = 1 / runs[0].config.n_test
    rises: dict[Axis, Direction] = {"mu": -1, "d": 1, "ratio": 1}
    order = ordering(runs, lambda result: result.final.robust_error, rises, base, least)
    return all_of(every_setting(runs, _settled), every_setting(runs, _loss_share), order)


def _loss_share(runs: MixtureCurves | DigitsCurves) -> Finding:
    """Last training loss over the first."""
    shares = [run.result.train_loss[-1] / run.result.train_loss[0] for run in runs]
    return bound(shares, "at most", ZERO, RATIO)


def _settled(runs: MixtureCurves) -> Finding:
    """Last robust error against the flip rate."""
    errors = [run.result.final.robust_error for run in runs]
    return equal(errors, runs[0].config.flip_rate, PRINTED, ERROR)


def _fig3(runs: Sequence[Run[MixtureConfig, Evaluation]]) -> Finding:
    """The tolerated ratio at half-way robust accuracy falls with d: its exponent is negative."""
    crossings = find_crossings(runs, "ratio", "robust")
    return limit(crossings.dimensions, crossings.crossed)


def _fig4(runs: DigitsErrors) -> Finding:
    """Exponents of the half-way signal in d, 1/4 for clean and 1/2 for robust accuracy."""
    exponents = [boundary_exponent(runs, kind) for kind in ("clean", "robust")]
    inaccurate = [run for run in runs if run.result.clean_error > 0.1]
    untrained = sum(run.result.train_error > 0 for run in inaccurate)
    text = (
        f"Of the {len(inaccurate)} runs below 90 % clean accuracy {untrained} are under-trained: their "
        "robust training error is above 0."
    )
    return noted(all_of(*exponents), text)


def _fig5(runs: DigitsErrors) -> Finding:
    """Robust error rises along the ratio at every resolution, and by more at the finest than the coarsest.

    Any net errs more under a longer attack, so the rise must start from nets that resist the shortest one.
    """
    sides = grouped(runs, lambda run: run.config.side)
    if len(sides) < 2:
        raise Undecided("the figure needs two resolutions.")
    least = 1 / TEST_DIGITS[runs[0].config.source]
    rises = [ordering(sides[side], _robust, {"ratio": 1}, {}, least) for side in sorted(sides)]
    coarse, fine = (end_changes(sides[side], _robust, "ratio") for side in (min(sides), max(sides)))
    faster = bound(
        [fine[seed] - coarse[seed] for seed in coarse if seed in fine], "at least", 0.0, DIFFERENCE
    )
    resist = [_resists_weakest(sides[side]) for side in sorted(sides)]
    broken = max(run.result.train_error for run in runs)
    return noted(
        all_of(*rises, faster, *resist),
        f"Rise at side {max(sides)} less that at side {min(sides)}: {faster}.",
        f"Largest robust training error: {broken:.2f}.",
    )


def _resists_weakest(runs: DigitsErrors) -> Finding:
    """At the smallest ratio the robust accuracy is above half-way between chance and 1."""
    ratios = grouped(runs, lambda run: run.config.ratio)
    errors = [run.result.robust_error for run in ratios[min(ratios)]]
    return bound(errors, "at most", 1 - halfway(runs[0].config.flip_rate), ERROR)


def _robust(result: Evaluation) -> float:
    return result.robust_error


def _fig6(runs: DigitsCurves) -> Finding:
    """Robust test error and training loss at the end, both against 0."""
    return all_of(every_setting(runs, _no_test_error), every_setting(runs, _loss_share))


def _no_test_error(runs: DigitsCurves) -> Finding:
    """Seeds share their test images, so these are what is counted: the mean over seeds, of so many images."""
    points = TEST_DIGITS[runs[0].config.source]
    errors = round(points * mean(run.result.final.robust_error for run in runs))
    return share(errors, points, "at most", ZERO)


def _curves(*, loss: float, error: float) -> CurvesResult:
    final = Evaluation(train_loss=loss, train_error=0.0, clean_error=error, robust_error=error)
    return CurvesResult(
        iterations=[0, 100],
        train_loss=[0.7, loss],
        train_error=[0.5, 0.0],
        clean_error=[0.5, error],
        robust_error=[0.5, error],
        final=final,
    )


def _ordered(config: MixtureConfig, *, sign: float) -> CurvesResult:
    """Errors near 0.1 that follow the order of the figure, or its opposite."""
    hardness = config.d / 1000 + 10 * config.ratio - config.mu / 5
    return _curves(loss=1e-3, error=0.11 + sign * 0.01 * hardness)


def _tolerance(config: MixtureConfig, *, exponent: float) -> Evaluation:
    """Half-way accuracy at the ratio 0.2 (d/1500)^p."""
    at = 0.2 * (config.d / 1500) ** exponent
    error = 0.1 + 0.4 / (1 + (at / max(config.ratio, 1e-9)) ** 8)
    return Evaluation(train_loss=0.01, train_error=0.0, clean_error=0.1, robust_error=error)


def _digits_law(config: DigitsConfig, *, clean: float, robust: float) -> Evaluation:
    """Half-way accuracy at the signals 0.3 (d/49)^p."""

    def error(exponent: float) -> float:
        return 0.5 / (1 + (config.mu / (0.3 * (config.d / 49) ** exponent)) ** 4)

    return Evaluation(train_loss=0.01, train_error=0.0, clean_error=error(clean), robust_error=error(robust))


def _digits_ratio(config: DigitsConfig, *, slope: float) -> Evaluation:
    error = 0.15 + slope * config.ratio * config.side / 28
    return Evaluation(train_loss=0.01, train_error=0.0, clean_error=0.01, robust_error=error)


def _untrained(**small: int) -> Control:
    return Control(
        name="no training",
        removes="training",
        settings={"lr": 1e-9, "steps": 1},
        cheap={"m": 50} | small,
        why="Without training errors stay at chance, and no curve, order or boundary appears.",
        unanswered=True,
    )


def _constant(result: CurvesResult) -> Callable[[DigitsConfig], CurvesResult]:
    return lambda config: result


CHECKS = (
    Check(
        claim_id="benign.fig2",
        experiment=FIG2,
        evaluate=_fig2,
        satisfied=made_up(FIG2, partial(_ordered, sign=1.0)),
        violated=made_up(FIG2, partial(_ordered, sign=-1.0)),
        controls=(_untrained(n_test=200),),
        reported="smaller |mu|, larger d, larger tau/|mu| lead to worse robust test error",
        reading="Loss 0 is read as 1 % of its start, 0.1 as its printed decimal; the ends of each row are "
        "compared seed by seed and must differ by one test point.",
    ),
    Check(
        claim_id="benign.fig3",
        experiment=FIG3,
        evaluate=_fig3,
        satisfied=made_up(FIG3, partial(_tolerance, exponent=-0.3)),
        violated=made_up(FIG3, partial(_tolerance, exponent=0.3)),
        controls=(_untrained(n_test=200),),
        reported="the tolerated ratio shrinks as d grows",
    ),
    Check(
        claim_id="benign.fig4",
        experiment=FIG4,
        evaluate=_fig4,
        satisfied=made_up(FIG4, partial(_digits_law, clean=0.25, robust=0.5)),
        violated=made_up(FIG4, partial(_digits_law, clean=0.0, robust=0.0)),
        controls=(_untrained(),),
        reported="transitions at d ~ |mu|^4 and d ~ |mu|^2",
        reading="The signal at half-way accuracy against d: exponents 1/4 (clean) and 1/2 (robust).",
    ),
    Check(
        claim_id="benign.fig5",
        experiment=FIG5,
        evaluate=_fig5,
        satisfied=made_up(FIG5, partial(_digits_ratio, slope=1.0)),
        violated=made_up(FIG5, partial(_digits_ratio, slope=-0.3)),
        controls=(_untrained(),),
        reported="robust accuracy falls with the ratio",
        reading="From the smallest to the largest ratio, by one test image at least, at every resolution, "
        "from above half-way accuracy at the smallest; faster means by more at the finest resolution than at "
        "the coarsest.",
    ),
    Check(
        claim_id="benign.fig6",
        experiment=FIG6,
        evaluate=_fig6,
        satisfied=made_up(FIG6, _constant(_curves(loss=1e-3, error=0.0))),
        violated=made_up(FIG6, _constant(_curves(loss=1e-3, error=0.05))),
        controls=(_untrained(),),
        reported="robust training loss and robust test error go to 0",
        reading="0 is read as 1 %, of the starting loss and of the test images; d = 1024 is 28 x 28 padded "
        "with zeros.",
    ),
)
