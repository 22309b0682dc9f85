"""Figures of what formulas and small samples say of the lemmas."""

from collections.abc import Callable, Sequence
from typing import Any

from karat.papers.purification.experiments import error_floor, scores
from karat.papers.purification.experiments.coupling import COUPLING_LOSS, COUPLING_WEIGHTS
from karat.papers.purification.experiments.critical import CRITICAL
from karat.papers.purification.experiments.error_floor import ERROR_FLOOR
from karat.papers.purification.experiments.gradients import GRADIENTS
from karat.papers.purification.experiments.phase_two import PHASE_TWO
from karat.papers.purification.experiments.scores import SCORES
from karat.papers.purification.experiments.series import SERIES
from karat.papers.purification.experiments.tails import TAILS
from karat.papers.purification.experiments.tensors import TENSORS
from karat.papers.purification.experiments.ticket_law import TICKET_LAW
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import curve_with_band, finish, new_figure
from karat.study.run import Run, Runs, grouped, pivot

AnyRuns = Runs[Any, Any]
Lines = Sequence[tuple[str, Callable[[Any], float]]]


def _over(
    runs: Sequence[Run[Any, Any]], setting: str, lines: Lines, *, x: str, y: str, caption: str
) -> list[Picture]:
    """Numbers of the results over one setting, in logarithmic axes."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (label, value) in enumerate(lines):
        at, rows = pivot(runs, lambda run: getattr(run.config, setting), _reading(value))
        curve_with_band(ax, at.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x=x, y=y, title="")
    return [Picture(caption.split(",")[0].rstrip("."), caption, figure)]


def _reading(value: Callable[[Any], float]) -> Callable[[Run[Any, Any]], float]:
    return lambda run: value(run.result)


def _exponent(name: str) -> Callable[[Run[Any, Any]], float]:
    return lambda run: float(-getattr(run.result.log, name) / run.config.log_d)


def _by_radius(runs: AnyRuns, radii: Sequence[float], name: str, caption: str) -> list[Picture]:
    """Errors over the radius, a curve for every k."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (k, group) in enumerate(sorted(grouped(runs, lambda run: run.config.k).items())):
        curve_with_band(
            ax, list(radii), [getattr(run.result, name) for run in group], f"k = {k}", index=index
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x="$\\tau \\sqrt{k}$", y="robust error", title="")
    return [Picture(caption.split(",")[0].rstrip("."), caption, figure)]


def draw_scores(runs: AnyRuns) -> list[Picture]:
    """Robust error of the thresholded oracle over the radius."""
    caption = "Thresholded oracle, without input noise: its exact robust error over the l2 radius."
    return _by_radius(runs, scores.RADII, "errors", caption)


def draw_floor(runs: AnyRuns) -> list[Picture]:
    """The floor under any classifier over the radius."""
    caption = "Floor under any classifier, from pairs of inputs that meet half-way, over the l2 radius."
    return _by_radius(runs, error_floor.RADII, "floors", caption)


def draw_tails(runs: AnyRuns) -> list[Picture]:
    """Constants that the exponents of the lemmas need."""
    lines: Lines = (
        ("extension as printed", lambda r: min(r.extension_printed)),
        ("extension repaired", lambda r: min(r.extension)),
    )
    fair = [run for run in runs if run.config.walk == "fair"]
    caption = "Constants of the exponents, the largest that exact tails allow, over the number of terms."
    return _over(fair, "N", lines, x="terms N", y="constant", caption=caption)


def draw_ticket_law(runs: AnyRuns) -> list[Picture]:
    """Exponents of the shares of lucky neurons."""
    growing = [run for run in runs if run.config.width == 1.01]
    if not growing:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (name, label) in enumerate((("potential", "potentially lucky"), ("sure", "surely lucky"))):
        at, rows = pivot(growing, lambda run: run.config.digits, _exponent(name))
        curve_with_band(ax, at.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x="$\\log_{10} d$", y="c of the share $d^{-c}$", title="")
    return [Picture("Lucky neurons by exact tails", "Shares of a Gaussian start as powers of d.", figure)]


def draw_gradients(runs: AnyRuns) -> list[Picture]:
    """Sampling errors over the number of points."""
    lines: Lines = (
        ("points, fixed weights", lambda r: r.data_error),
        ("points, fitted weights", lambda r: r.fitted_error),
        ("one draw of rho", lambda r: r.noise_error),
    )
    caption = "Errors of sampled gradients, over the length of the population's gradient."
    return _over(runs, "N", lines, x="points N", y="relative error", caption=caption)


def draw_series(runs: AnyRuns) -> list[Picture]:
    """Coefficients in the printed units, and the smallest polynomials."""
    lines: Lines = (
        ("$|c_{2i}|\\, i!$", lambda r: r.even_ratio),
        ("smallest polynomial", lambda r: r.least),
    )
    caption = "Series and polynomials, over the index i of the coefficient or the degree."
    return _over(runs, "degree", lines, x="i or degree", y="size", caption=caption)


def draw_tensors(runs: AnyRuns) -> list[Picture]:
    """Smallest norms over the dimension."""
    lines: Lines = (("smallest norm", lambda r: r.smallest),)
    caption = "Smallest norm of the kernel's tensors, over all choices of v, for m = d and r = 3."
    return _over(runs, "d", lines, x="dimension d", y="norm over $\\max |v_i|$", caption=caption)


def draw_critical(runs: AnyRuns) -> list[Picture]:
    """The constant that the printed bound needs, for odd and for even functions."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (symmetry, group) in enumerate(sorted(grouped(runs, lambda run: run.config.symmetry).items())):
        at, rows = pivot(group, lambda run: run.config.spread, lambda run: float(run.result.needed))
        curve_with_band(ax, at.tolist(), rows.tolist(), f"symmetry: {symmetry}", index=index)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x="$\\sqrt{V}/\\sigma_\\rho$", y="constant that L = 0 needs", title="")
    caption = "The critical lemma, for a Y that does not depend on z: |Delta| over its bound."
    return [Picture("The critical lemma", caption, figure)]


def draw_weights(runs: AnyRuns) -> list[Picture]:
    """Sums of the comparison weights over their formulas, as powers of d."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    names = (("squares", "squares"), ("cubes", "cubes, printed"), ("smaller_cubes", "cubes, with $\\Xi_1$"))
    for index, (name, label) in enumerate(names):
        at, rows = pivot(runs, lambda run: run.config.digits, _power(name))
        curve_with_band(ax, at.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    finish(ax, x="$\\log_{10} d$", y="c of the ratio $d^c$", title="")
    caption = "Sums of the comparison weights over their formulas, as powers of d."
    return [Picture("Comparison weights", caption, figure)]


def _power(name: str) -> Callable[[Run[Any, Any]], float]:
    return lambda run: float(getattr(run.result, name) / run.config.log_d)


def draw_loss(runs: AnyRuns) -> list[Picture]:
    """Loss of the linear net over its factor, in the limit of large k."""
    limit = [run for run in runs if run.config.k is None]
    lines: Lines = (("loss", lambda r: r.loss),)
    caption = "Loss of the linear net that training is compared with, in the limit of large k."
    return _over(limit, "alpha", lines, x="$\\alpha$", y="loss", caption=caption)


def draw_phase_two(runs: AnyRuns) -> list[Picture]:
    """Growth after the lottery over d."""
    lines: Lines = (
        ("winners", lambda r: r.own[-1]),
        ("others", lambda r: r.others[-1]),
        ("slope of f beyond $\\alpha$, at most", lambda r: max(r.excess[-1], 1e-300)),
    )
    caption = "Growth after the lottery, times d, of winners and of all other coordinates."
    return _over(runs, "d", lines, x="dimension d", y="d times the expectation", caption=caption)


FIGURES = (
    Drawing(CRITICAL, draw_critical),
    Drawing(COUPLING_WEIGHTS, draw_weights),
    Drawing(COUPLING_LOSS, draw_loss),
    Drawing(PHASE_TWO, draw_phase_two),
    Drawing(SCORES, draw_scores),
    Drawing(ERROR_FLOOR, draw_floor),
    Drawing(TAILS, draw_tails),
    Drawing(TICKET_LAW, draw_ticket_law),
    Drawing(GRADIENTS, draw_gradients),
    Drawing(SERIES, draw_series),
    Drawing(TENSORS, draw_tensors),
)
