"""Heat maps of clean and robust accuracy with the measured boundary, the bracket and the training error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from karat.papers.benign.checks.boundary import halfway
from karat.papers.benign.checks.predictions import KINDS
from karat.papers.benign.experiments.axes import FIELDS, Axis, TrainingConfig
from karat.papers.benign.experiments.digits import FIG4, FIG5, DigitsConfig
from karat.papers.benign.experiments.evaluation import ErrorKind, Evaluation
from karat.papers.benign.experiments.maps import FIG1, FIG3
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.figures.crossing import Boundary, find_boundary, mark_boundary, mark_power_law
from karat.papers.benign.figures.grid import ErrorGrid, mean_over_seeds, read_grid, standard_error
from karat.papers.benign.figures.heat import Frame, Heat, draw_heat
from karat.papers.benign.figures.notes import seeds_text, sentences
from karat.study.drawing.picture import Picture, describe_config, varied_settings
from karat.study.drawing.style import INK
from karat.study.experiment import Experiment
from karat.study.run import Run, Runs, grouped

PANEL = (3.75, 3.15)
SIGNS: dict[Axis, str] = {"mu": r"|\mu|", "ratio": r"(\tau/|\mu|)"}
X_LABELS: dict[Axis, str] = {"mu": r"signal $|\mu|$", "ratio": r"attack ratio $\tau/|\mu|$"}

C = TypeVar("C", bound=TrainingConfig)
Laws = Mapping[ErrorKind, tuple[float, ...]]
"""Kind of accuracy -> the exponents p of d ~ x^p that the paper names for it."""


@dataclass(frozen=True)
class MapPlan(Generic[C]):
    """What a map shows.

    Args:
        experiment: whose runs.
        axis: its columns; the rows are dimensions.
        fixed: settings that its title names.
        laws: power laws drawn beside the measured boundaries.
    """

    experiment: Experiment[C, Evaluation]
    axis: Axis
    fixed: tuple[str, ...]
    laws: Laws = field(default_factory=dict)


_TRANSITIONS: Laws = {"clean": (4.0,), "robust": (2.0, 4.0)}
_FIG1 = MapPlan(FIG1, "mu", ("n", "m", "ratio", "flip_rate", "steps"), _TRANSITIONS)
_FIG3 = MapPlan(FIG3, "ratio", ("n", "m", "mu", "flip_rate", "steps"), {"robust": (-2.0,)})
_FIG4 = MapPlan(FIG4, "mu", ("source", "n", "m", "ratio", "steps"), _TRANSITIONS)
_FIG5 = MapPlan(FIG5, "ratio", ("source", "n", "m", "mu", "steps"))


def draw_fig1(runs: Runs[MixtureConfig, Evaluation]) -> list[Picture]:
    """Draw accuracy over signal and dimension on the mixture.

    Args:
        runs: of the sweep.

    Ref: benign, Fig 1
    """
    return draw_map(runs, _FIG1)


def draw_fig3(runs: Runs[MixtureConfig, Evaluation]) -> list[Picture]:
    """Draw accuracy over attack ratio and dimension on the mixture.

    Args:
        runs: of the sweep.

    Ref: benign, Fig 3
    """
    return draw_map(runs, _FIG3)


def draw_fig4(runs: Runs[DigitsConfig, Evaluation]) -> list[Picture]:
    """Draw accuracy over signal and resolution on digits.

    Args:
        runs: of the sweep.

    Ref: benign, Fig 4
    """
    return draw_map(runs, _FIG4)


def draw_fig5(runs: Runs[DigitsConfig, Evaluation]) -> list[Picture]:
    """Draw accuracy over attack ratio and resolution on digits.

    Args:
        runs: of the sweep.

    Ref: benign, Fig 5
    """
    return draw_map(runs, _FIG5)


def draw_map(runs: Runs[C, Evaluation], plan: MapPlan[C]) -> list[Picture]:
    """Draw one figure per combination of the settings that are no axis.

    Args:
        runs: of the sweep; lost cells are marked on the map too.
        plan: what to show.
    """
    lost = [plan.experiment.config(record.config) for record in runs.lost]
    # Lost cells count here too: one with another n, say, must not be marked on the map of this n.
    every_cell = [Run(config, None, 0) for config in [*(run.config for run in runs), *lost]]
    others = [name for name in varied_settings(every_cell) if name not in FIELDS[plan.axis] | FIELDS["d"]]
    groups = grouped(runs, lambda run: describe_config(run.config, others))
    pictures = []
    for settings, group in groups.items():
        lost_here = [config for config in lost if describe_config(config, others) == settings]
        pictures.append(_draw(group, lost_here, plan, settings))
    return pictures


def _draw(runs: Sequence[Run[C, Evaluation]], lost: Sequence[C], plan: MapPlan[C], settings: str) -> Picture:
    grid, config = read_grid(runs, plan.axis, lost), runs[0].config
    level = halfway(config.flip_rate)
    broken = mean_over_seeds(grid.table(lambda result: result.train_error))
    heats = _heats(grid, broken, config.flip_rate)
    rows = (len(heats) + 1) // 2
    figure = Figure(figsize=(2 * PANEL[0], rows * PANEL[1] + 0.3), layout="constrained")
    frame = Frame(X_LABELS[plan.axis], "dimension $d$", broken > 0)
    boundaries: dict[ErrorKind, Boundary] = {}
    for index, heat in enumerate(heats):
        ax = figure.add_subplot(rows, 2, index + 1)
        draw_heat(ax, grid, heat, frame)
        if heat.kind is not None:
            boundary = find_boundary(grid.x, grid.y, 1 - grid.test_error(heat.kind), level)
            _mark(ax, boundary, plan.laws.get(heat.kind, ()), level, plan.axis)
            boundaries[heat.kind] = boundary
    title = "Accuracy map, " + (settings or describe_config(config, plan.fixed))
    return Picture(title, _caption(grid, plan.laws, boundaries, level), figure)


def _heats(grid: ErrorGrid[C], broken: np.ndarray, flip_rate: float) -> list[Heat]:
    accuracies = {kind: 1 - mean_over_seeds(grid.test_error(kind)) for kind in KINDS}
    # Both accuracies share one range of colours, from chance (or below) to the best there is (or above).
    known = np.concatenate([*(table[np.isfinite(table)] for table in accuracies.values()), [0.5]])
    low, high = float(known.min()), max(1 - flip_rate, float(known.max()))
    level = halfway(flip_rate)
    heats = [
        Heat(f"{kind.capitalize()} accuracy", table, "viridis", low, high, kind=kind, level=level)
        for kind, table in accuracies.items()
    ]
    certified = grid.table(lambda result: result.certified_error)
    width = mean_over_seeds(certified - grid.table(lambda result: result.robust_error))
    if np.isfinite(width).any():
        heats.append(Heat("Certified − PGD error", width, "Purples", 0.0, max(0.1, float(np.nanmax(width)))))
    heats.append(Heat("Robust training error", broken, "Oranges", 0.0, max(0.5, np.nanmax(broken)), True))
    return heats


def _mark(ax: Axes, boundary: Boundary, laws: tuple[float, ...], level: float, axis: Axis) -> None:
    anchor = boundary.anchor
    if anchor is None:
        return
    for law, style in zip(laws, ("--", ":"), strict=False):
        mark_power_law(ax, anchor, law, rf"$d \propto {SIGNS[axis]}^{{{law:g}}}$", style)
    mark_boundary(ax, boundary, f"accuracy {level:g}")
    ax.legend(
        fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=3, frameon=False, labelcolor=INK
    )


def _caption(grid: ErrorGrid[C], laws: Laws, boundaries: Mapping[ErrorKind, Boundary], level: float) -> str:
    seeds = seeds_text(grid.count())
    spread = standard_error(grid.test_error("robust"))
    lost = int(grid.lost.sum())
    return sentences(
        f"Mean over {seeds}." if seeds != "one seed" else "One seed, no interval.",
        f"Largest standard error of a robust accuracy: {np.nanmax(spread):.3f}."
        if np.isfinite(spread).any()
        else "",
        *_boundary_notes(laws, boundaries, level, seeds),
        _training_note(grid),
        f"Diverged or failed and left out: {lost} (× where nothing else is known)." if lost else "",
    )


def _boundary_notes(
    laws: Laws, boundaries: Mapping[ErrorKind, Boundary], level: float, seeds: str
) -> list[str]:
    notes = []
    crossed = [kind for kind, boundary in boundaries.items() if boundary.points]
    if crossed:
        bars = "" if seeds == "one seed" else ", bars: its 95% interval over seeds"
        notes.append(
            f"Circles: accuracy {level:g}, halfway from 1/2 to 1 - flip rate, interpolated on the probit "
            f"scale{bars}."
        )
    if any(laws.get(kind) for kind in crossed):
        notes.append("Orange: exponents named by the paper, the constant set by the circle of the middle d.")
    for kind, boundary in boundaries.items():
        if boundary.without:
            listed = ", ".join(f"{d:g}" for d in boundary.without)
            notes.append(f"No {kind} crossing on the grid at d = {listed}.")
    return notes


def _training_note(grid: ErrorGrid[C]) -> str:
    broken = mean_over_seeds(grid.table(lambda result: result.train_error)) > 0
    if not broken.any():
        return "Robust training error is 0 in every cell and seed."
    return (
        f"Hatched: the attack still breaks training points ({int(broken.sum())} of "
        f"{int((grid.count() > 0).sum())} cells), so test accuracy there speaks of unfinished training."
    )
