"""Figures of what formulas and small samples say of the lemmas."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from karat.papers.purification.bounds_tickets import LuckyShares
from karat.papers.purification.experiments import error_floor, scores
from karat.papers.purification.experiments.coupling import (
    COUPLING_LOSS,
    COUPLING_WEIGHTS,
    LossConfig,
    LossResult,
    WeightsConfig,
    WeightsResult,
)
from karat.papers.purification.experiments.critical import CRITICAL, CriticalConfig, CriticalResult
from karat.papers.purification.experiments.error_floor import ERROR_FLOOR, ErrorFloorConfig, ErrorFloorResult
from karat.papers.purification.experiments.gradients import GRADIENTS, GradientsConfig, GradientsResult
from karat.papers.purification.experiments.phase_two import PHASE_TWO
from karat.papers.purification.experiments.phase_two_config import PhaseTwoConfig, PhaseTwoResult
from karat.papers.purification.experiments.scores import SCORES, ScoresConfig, ScoresResult
from karat.papers.purification.experiments.series import SERIES, SeriesConfig, SeriesResult
from karat.papers.purification.experiments.tails import TAILS, TailsConfig, TailsResult
from karat.papers.purification.experiments.tensors import TENSORS, TensorsConfig, TensorsResult
from karat.papers.purification.experiments.ticket_law import TICKET_LAW, TicketLawConfig, TicketLawResult
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import curve_with_band, finish, new_figure
from karat.study.run import Run, Runs, grouped, pivot

C = TypeVar("C")
R = TypeVar("R")
Sparse = TypeVar("Sparse", ScoresConfig, ErrorFloorConfig)
TicketLawRun = Run[TicketLawConfig, TicketLawResult]
Lines = Sequence[tuple[str, Callable[[R], float]]]


def _over(
    runs: Sequence[Run[C, R]],
    setting: Callable[[C], float],
    lines: Lines[R],
    *,
    x: str,
    y: str,
    caption: str,
) -> list[Picture]:
    """Numbers of the results over one setting, in logarithmic axes."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (label, value) in enumerate(lines):
        at, rows = pivot(runs, lambda run: setting(run.config), _reading(value))
        curve_with_band(ax, at.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x=x, y=y, title="")
    return [Picture(caption.split(",")[0].rstrip("."), caption, figure)]


def _reading(value: Callable[[R], float]) -> Callable[[Run[C, R]], float]:
    return lambda run: value(run.result)


def _by_radius(
    runs: Runs[Sparse, R], radii: Sequence[float], errors: Callable[[R], list[float]], caption: str
) -> list[Picture]:
    """Errors over the radius, a curve for every k."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    for index, (k, group) in enumerate(sorted(grouped(runs, lambda run: run.config.k).items())):
        curve_with_band(ax, list(radii), [errors(run.result) for run in group], f"k = {k}", index=index)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x="$\\tau \\sqrt{k}$", y="robust error", title="")
    return [Picture(caption.split(",")[0].rstrip("."), caption, figure)]


def draw_scores(runs: Runs[ScoresConfig, ScoresResult]) -> list[Picture]:
    """Robust error of the thresholded oracle over the radius."""
    caption = "Thresholded oracle, without input noise: its exact robust error over the l2 radius."
    return _by_radius(runs, scores.RADII, lambda r: r.errors, caption)


def draw_floor(runs: Runs[ErrorFloorConfig, ErrorFloorResult]) -> list[Picture]:
    """The floor under any classifier over the radius."""
    caption = "Floor under any classifier, from pairs of inputs that meet half-way, over the l2 radius."
    return _by_radius(runs, error_floor.RADII, lambda r: r.floors, caption)


def draw_tails(runs: Runs[TailsConfig, TailsResult]) -> list[Picture]:
    """Constants that the exponents of the lemmas need."""
    lines: Lines[TailsResult] = (
        ("extension as printed", lambda r: min(r.extension_printed)),
        ("extension repaired", lambda r: min(r.extension)),
    )
    fair = [run for run in runs if run.config.walk == "fair"]
    caption = "Constants of the exponents, the largest that exact tails allow, over the number of terms."
    return _over(fair, lambda c: c.N, lines, x="terms N", y="constant", caption=caption)


def draw_ticket_law(runs: Runs[TicketLawConfig, TicketLawResult]) -> list[Picture]:
    """Exponents of the shares of lucky neurons."""
    growing = [run for run in runs if run.config.width == 1.01]
    if not growing:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    shares: Lines[LuckyShares] = (
        ("potentially lucky", lambda log: log.potential),
        ("surely lucky", lambda log: log.sure),
    )
    for index, (label, share) in enumerate(shares):
        at, rows = pivot(growing, lambda run: run.config.digits, _exponent(share))
        curve_with_band(ax, at.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    ax.set_yscale("log")
    finish(ax, x="$\\log_{10} d$", y="c of the share $d^{-c}$", title="")
    return [Picture("Lucky neurons by exact tails", "Shares of a Gaussian start as powers of d.", figure)]


def _exponent(share: Callable[[LuckyShares], float]) -> Callable[[TicketLawRun], float]:
    return lambda run: -share(run.result.log) / run.config.log_d


def draw_gradients(runs: Runs[GradientsConfig, GradientsResult]) -> list[Picture]:
    """Sampling errors over the number of points."""
    lines: Lines[GradientsResult] = (
        ("points, fixed weights", lambda r: r.data_error),
        ("points, fitted weights", lambda r: r.fitted_error),
        ("one draw of rho", lambda r: r.noise_error),
    )
    caption = "Errors of sampled gradients, over the length of the population's gradient."
    return _over(runs, lambda c: c.N, lines, x="points N", y="relative error", caption=caption)


def draw_series(runs: Runs[SeriesConfig, SeriesResult]) -> list[Picture]:
    """Coefficients in the printed units, and the smallest polynomials."""
    lines: Lines[SeriesResult] = (
        ("$|c_{2i}|\\, i!$", lambda r: r.even_ratio),
        ("smallest polynomial", lambda r: r.least),
    )
    caption = "Series and polynomials, over the index i of the coefficient or the degree."
    return _over(runs, lambda c: c.degree, lines, x="i or degree", y="size", caption=caption)


def draw_tensors(runs: Runs[TensorsConfig, TensorsResult]) -> list[Picture]:
    """Smallest norms over the dimension."""
    lines: Lines[TensorsResult] = (("smallest norm", lambda r: r.smallest),)
    caption = "Smallest norm of the kernel's tensors, over all choices of v, for m = d and r = 3."
    return _over(runs, lambda c: c.d, lines, x="dimension d", y="norm over $\\max |v_i|$", caption=caption)


def draw_critical(runs: Runs[CriticalConfig, CriticalResult]) -> list[Picture]:
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


def draw_weights(runs: Runs[WeightsConfig, WeightsResult]) -> list[Picture]:
    """Sums of the comparison weights over their formulas, as powers of d."""
    if not runs:
        return []
    figure, (ax,) = new_figure(1, width=4.6, height=3.1)
    sums: Lines[WeightsResult] = (
        ("squares", lambda r: r.squares),
        ("cubes, printed", lambda r: r.cubes),
        ("cubes, with $\\Xi_1$", lambda r: r.smaller_cubes),
    )
    for index, (label, total) in enumerate(sums):
        at, rows = pivot(runs, lambda run: run.config.digits, _power(total))
        curve_with_band(ax, at.tolist(), rows.tolist(), label, index=index)
    ax.set_xscale("log")
    finish(ax, x="$\\log_{10} d$", y="c of the ratio $d^c$", title="")
    caption = "Sums of the comparison weights over their formulas, as powers of d."
    return [Picture("Comparison weights", caption, figure)]


def _power(total: Callable[[WeightsResult], float]) -> Callable[[Run[WeightsConfig, WeightsResult]], float]:
    return lambda run: total(run.result) / run.config.log_d


def draw_loss(runs: Runs[LossConfig, LossResult]) -> list[Picture]:
    """Loss of the linear net over its factor, in the limit of large k."""
    limit = [run for run in runs if run.config.k is None]
    lines: Lines[LossResult] = (("loss", lambda r: r.loss),)
    caption = "Loss of the linear net that training is compared with, in the limit of large k."
    return _over(limit, lambda c: c.alpha, lines, x="$\\alpha$", y="loss", caption=caption)


def draw_phase_two(runs: Runs[PhaseTwoConfig, PhaseTwoResult]) -> list[Picture]:
    """Growth after the lottery over d."""
    lines: Lines[PhaseTwoResult] = (
        ("winners", lambda r: r.own[-1]),
        ("others", lambda r: r.others[-1]),
        ("slope of f beyond $\\alpha$, at most", lambda r: max(r.excess[-1], 1e-300)),
    )
    caption = "Growth after the lottery, times d, of winners and of all other coordinates."
    return _over(runs, lambda c: c.d, lines, x="dimension d", y="d times the expectation", caption=caption)


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
