"""The threshold law fitted to all cells of a sweep: measured against fitted error."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.bounds.benign_fit import ThresholdFit, fit_threshold_law, threshold_law
from karat.experiments.record import Record
from karat.report.figures.benign_grid import seeds_text
from karat.report.figures.picture import Picture, by_config
from karat.report.style import INK, PALETTE, finish


def draw_law(by_start: Mapping[str, Sequence[Record]]) -> list[Picture]:
    """Two panels per start: the errors collapsed onto the law, and measured against fitted.

    Args:
        by_start: name of a start -> its finished records; a start without enough cells gets no panel.
    """
    fits = {}
    for name, records in by_start.items():
        cells, error = _settings(records), _errors(records)
        try:
            fits[name] = (cells, fit_threshold_law(error, **cells), error)
        except ValueError:
            continue
    if not fits:
        return []
    figure = Figure(figsize=(7.4, 3.3 * len(fits) + 0.1), layout="constrained")
    for row, (name, (cells, fit, error)) in enumerate(fits.items()):
        left, right = (figure.add_subplot(len(fits), 2, 2 * row + place) for place in (1, 2))
        _collapse(left, cells, fit, error, name)
        _against(right, cells, fit, error)
    counts = np.array([len(group) for records in by_start.values() for group in by_config(records)])
    constants = "; ".join(
        f"{name}: kappa = {fit.kappa:.3f}, rho = {fit.rho:.2f}, RMSE {fit.rmse:.4f} over {len(error)} numbers"
        for name, (_, fit, error) in fits.items()
    )
    caption = (
        "Least squares fit of error = beta + (1 - 2 beta) Phi(-(kappa |mu|^2 sqrt(n/d) - rho tau)), with one "
        f"kappa and rho for the clean (tau = 0) and robust errors of all cells. {constants}. "
        f"Every point is the mean of a cell over {seeds_text(counts)}."
    )
    return [Picture("Threshold law", caption, figure)]


def _settings(records: Sequence[Record]) -> dict[str, np.ndarray]:
    """Settings of the clean errors (tau = 0) and then of the robust ones."""
    configs = [group[0].config for group in by_config(records)]
    mu, n, d, beta = (
        np.array([c[name] for c in configs], dtype=float) for name in ("mu", "n", "d", "flip_rate")
    )
    tau = mu * np.array([c["ratio"] if c.get("test_ratio") is None else c["test_ratio"] for c in configs])
    return {
        "mu": np.tile(mu, 2),
        "tau": np.concatenate([np.zeros_like(tau), tau]),
        "n": np.tile(n, 2),
        "d": np.tile(d, 2),
        "flip_rate": np.tile(beta, 2),
    }


def _errors(records: Sequence[Record]) -> np.ndarray:
    """Mean errors in the same order."""
    groups = by_config(records)
    return np.array(
        [
            np.mean([r.values[f"{kind}_error"] for r in group])
            for kind in ("clean", "robust")
            for group in groups
        ]
    )


def _kinds(cells: Mapping[str, np.ndarray]) -> list[tuple[str, np.ndarray, str, str]]:
    half = np.arange(len(cells["mu"])) < len(cells["mu"]) // 2
    return [("clean", half, PALETTE[0], "o"), ("robust", ~half, PALETTE[1], "s")]


def _collapse(
    ax: Axes, cells: Mapping[str, np.ndarray], fit: ThresholdFit, error: np.ndarray, name: str
) -> None:
    """Errors over the argument of Phi: on one curve if the law holds."""
    at = fit.kappa * cells["mu"] ** 2 * np.sqrt(cells["n"] / cells["d"]) - fit.rho * cells["tau"]
    for label, chosen, colour, marker in _kinds(cells):
        ax.plot(at[chosen], error[chosen], marker, color=colour, markersize=4, alpha=0.8, label=label)
    low, high = float(at.min()) - 0.3, min(float(at.max()), 5.0) + 0.3
    grid, beta = np.linspace(low, high, 200), float(cells["flip_rate"][0])
    # With n = d, mu = sqrt(max(z, 0)) and tau = max(-z, 0) the argument of Phi is z itself.
    law = threshold_law(np.sqrt(grid.clip(0)), (-grid).clip(0), 1, 1, beta, kappa=1.0, rho=1.0)
    ax.plot(grid, law, color=INK, linewidth=1.3, zorder=0, label="law")
    ax.set_xlim(low, high)
    finish(ax, x=r"$\kappa|\mu|^2\sqrt{n/d} - \rho\tau$", y="test error", title=name[:1].upper() + name[1:])


def _against(ax: Axes, cells: Mapping[str, np.ndarray], fit: ThresholdFit, error: np.ndarray) -> None:
    for label, chosen, colour, marker in _kinds(cells):
        ax.plot(fit.fitted[chosen], error[chosen], marker, color=colour, markersize=4, alpha=0.8, label=label)
    ends = np.array([min(fit.fitted.min(), error.min()), max(fit.fitted.max(), error.max())])
    ax.plot(ends, ends, color=INK, linewidth=1.0, zorder=0)
    finish(ax, x="fitted error", y="measured error", title=f"RMSE {fit.rmse:.4f}", legend=False)
