"""Figures that look alike: one palette for every eye, light grids, bands over seeds. No global state."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, ScalarFormatter
from scipy import stats

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, told apart with every common form of colour blindness."""

INK, FAINT = "#333333", "#D9D9D9"
LINES = ("-", "--", "-.", ":")


def new_figure(columns: int = 1, *, width: float = 3.5, height: float = 2.7) -> tuple[Figure, list[Axes]]:
    """Return a figure with `columns` panels side by side, each `width` x `height` inches.

    Args:
        columns: number of panels.
        width: of a panel, in inches.
        height: of a panel, in inches.
    """
    figure = Figure(figsize=(columns * width, height), layout="constrained")
    return figure, [figure.add_subplot(1, columns, column + 1) for column in range(columns)]


def finish(ax: Axes, *, x: str, y: str, title: str = "", legend: bool = True) -> None:
    """Label the axes and take away what is not data.

    Args:
        ax: panel that was drawn.
        x: label of the horizontal axis.
        y: label of the vertical axis.
        title: of the panel.
        legend: whether there is one, if anything drawn has a label.
    """
    ax.set_xlabel(x, color=INK)
    ax.set_ylabel(y, color=INK)
    ax.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    ax.grid(color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(FAINT)
    ax.tick_params(colors=INK, labelsize=8)
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        if axis.get_scale() == "log" and not isinstance(axis.get_major_locator(), FixedLocator):
            _label_decades(axis, *limits)
        formatter = axis.get_major_formatter()
        if isinstance(formatter, ScalarFormatter):
            formatter.set_useOffset(False)  # 0.999999, not 1e-6 + 9.99999e-1
    if legend and ax.get_legend_handles_labels()[0]:
        # A pale ground, so that names stay readable where curves pass below them.
        ax.legend(fontsize=8, framealpha=0.6, edgecolor="none")


def _label_decades(axis: Axis, low: float, high: float) -> None:
    """Label powers of ten; where fewer than two would show also their multiples by 2 and 5."""
    if high < 50 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(lambda value, _: short_number(value))
    axis.set_minor_formatter(NullFormatter())


def short_number(value: float) -> str:
    """A number of one digit for an axis, as a power of ten where its zeros would be many.

    Args:
        value: positive.

    >>> short_number(0.05), short_number(20000.0)
    ('0.05', '$2\\\\cdot 10^{4}$')
    """
    if 1e-3 < value < 1e4:
        return f"{value:g}"
    digit, power = f"{value:.0e}".split("e")
    factor = "" if digit == "1" else digit + r"\cdot "
    return f"${factor}10^{{{int(power)}}}$"


def literal(text: str) -> str:
    """Text of a user that is drawn as it is: matplotlib would read a formula between two dollar signs.

    >>> literal("price$of$noise")
    'price\\\\$of\\\\$noise'
    """
    return text.replace("$", r"\$")


def curve_with_band(
    ax: Axes,
    x: Sequence[float],
    curves: Sequence[Sequence[float]],
    label: str,
    *,
    index: int = 0,
    level: float = 0.95,
) -> None:
    """Draw the mean over seeds and its Student interval as a band; a single seed gets no band.

    Reading: on a logarithmic axis the mean and the interval are those of log y, so that the band stays
    positive; values that are not finite (or not positive there) are left out point by point.

    Args:
        ax: panel to draw in.
        x: (g,) grid.
        curves: (seeds, g).
        label: of the legend.
        index: which colour and line of the style.
        level: of the interval.
    """
    logarithmic = ax.get_yscale() == "log"
    table = np.asarray(curves, dtype=float).reshape(-1, len(x))
    table = np.where(np.isfinite(table) & ((table > 0) | (not logarithmic)), table, np.nan)
    mean, half = mean_and_half_width(np.log(table) if logarithmic else table, level)
    middle, low, high = (np.exp(v) if logarithmic else v for v in (mean, mean - half, mean + half))
    color = PALETTE[index % len(PALETTE)]
    ax.plot(x, middle, label=label, color=color, linewidth=1.6, linestyle=LINES[index % len(LINES)])
    ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def fit_to_seeds(ax: Axes, curves: Sequence[Sequence[float]], *, bottom: float | None = None) -> None:
    """Show the range of the seeds themselves; the band of two or three seeds may leave the panel.

    Args:
        ax: panel that was drawn.
        curves: all that was drawn, one row per seed and line.
        bottom: lower end of a linear axis.
    """
    values = np.concatenate([np.ravel(np.asarray(curve, dtype=float)) for curve in curves])
    logarithmic = ax.get_yscale() == "log"
    values = values[np.isfinite(values) & ((values > 0) | (not logarithmic))]
    if len(values) == 0:
        return
    low, high = float(values.min()), float(values.max())
    if logarithmic:
        ax.set_ylim(low / 1.5, high * 1.5)
        return
    low = low if bottom is None else bottom
    margin = 0.06 * (high - low) or 0.06
    ax.set_ylim(low - (margin if bottom is None else 0.0), high + margin)


def mean_and_half_width(table: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean over rows and half-width of its Student interval, NaN left out; NaN where fewer than two rows."""
    known = np.isfinite(table)
    count = known.sum(axis=0)
    filled = np.where(known, table, 0.0)
    mean = filled.sum(axis=0) / np.where(count > 0, count, np.nan)
    spread = np.where(known, table - mean, 0.0)
    freedom = np.where(count > 1, count - 1, np.nan)
    deviation = np.sqrt((spread**2).sum(axis=0) / freedom)
    return mean, stats.t.ppf((1 + level) / 2, freedom) * deviation / np.sqrt(count.clip(1))
