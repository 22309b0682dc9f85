"""The threshold law fitted to all cells of a sweep: the errors on one curve, and measured against fitted."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import ndtr

from karat.papers.benign.checks.predictions import FittedLaw, fitted_law
from karat.papers.benign.experiments.evaluation import Evaluation
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.figures.notes import seeds_text
from karat.study.drawing.picture import Picture
from karat.study.drawing.style import INK, PALETTE, finish
from karat.study.run import Run, by_setting


def draw_law(by_start: Mapping[str, Sequence[Run[MixtureConfig, Evaluation]]]) -> list[Picture]:
    """Two panels per start: the errors collapsed onto the law, and measured against fitted.

    Args:
        by_start: name of a start -> its runs; a start without enough cells gets no panel.
    """
    laws: dict[str, FittedLaw] = {}
    for name, runs in by_start.items():
        try:
            laws[name] = fitted_law(runs)
        except ValueError:  # too few cells for two constants
            continue
    if not laws:
        return []
    figure = Figure(figsize=(7.4, 3.3 * len(laws) + 0.1), layout="constrained")
    for row, (name, law) in enumerate(laws.items()):
        left, right = (figure.add_subplot(len(laws), 2, 2 * row + column) for column in (1, 2))
        _collapse(left, law, name)
        _against(right, law)
    counts = np.array([len(group) for name in laws for group in by_setting(by_start[name])])
    return [Picture("Threshold law", _caption(laws, seeds_text(counts)), figure)]


def _kinds(law: FittedLaw) -> list[tuple[str, slice, str, str]]:
    """Name, place among the errors, colour and marker of the clean and of the robust ones."""
    half = len(law.error) // 2
    return [("clean", slice(half), PALETTE[0], "o"), ("robust", slice(half, None), PALETTE[1], "s")]


def _collapse(ax: Axes, law: FittedLaw, name: str) -> None:
    """Errors over the argument of Phi: on one curve if the law holds."""
    for label, half, colour, marker in _kinds(law):
        ax.plot(
            law.argument[half], law.error[half], marker, color=colour, markersize=4, alpha=0.8, label=label
        )
    low, high = float(law.argument.min()) - 0.3, float(law.argument.max()) + 0.3
    # Far beyond the threshold every cell is at the flip rate; the panel keeps to where errors differ.
    high = max(min(high, 5.3), low + 1.0)
    grid, beta = np.linspace(low, high, 200), float(law.flip_rate[0])
    ax.plot(grid, beta + (1 - 2 * beta) * ndtr(-grid), color=INK, linewidth=1.3, zorder=0, label="law")
    ax.set_xlim(low, high)
    finish(ax, x=r"$\kappa|\mu|^2\sqrt{n/d} - \rho\tau$", y="test error", title=name[:1].upper() + name[1:])


def _against(ax: Axes, law: FittedLaw) -> None:
    fitted = law.fit.fitted
    for label, half, colour, marker in _kinds(law):
        ax.plot(fitted[half], law.error[half], marker, color=colour, markersize=4, alpha=0.8, label=label)
    ends = [min(fitted.min(), law.error.min()), max(fitted.max(), law.error.max())]
    ax.plot(ends, ends, color=INK, linewidth=1.0, zorder=0)
    finish(ax, x="fitted error", y="measured error", title=f"RMSE {law.fit.rmse:.4f}", legend=False)


def _caption(laws: Mapping[str, FittedLaw], seeds: str) -> str:
    constants = "; ".join(
        f"{name}: kappa = {law.fit.kappa:.3f}, rho = {law.fit.rho:.2f}, "
        f"RMSE {law.fit.rmse:.4f} over {len(law.error)} numbers"
        for name, law in laws.items()
    )
    return (
        "Least squares fit of error = beta + (1 - 2 beta) Phi(-(kappa |mu|^2 sqrt(n/d) - rho tau)), with one "
        f"kappa and rho for the clean (tau = 0) and robust errors of all cells. {constants}. "
        f"Every point is the mean of a cell over {seeds}."
    )
