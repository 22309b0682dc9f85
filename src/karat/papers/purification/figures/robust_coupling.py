"""Figure of robust coupling: what is measured over what the lemmas allow, at any d."""

from collections.abc import Callable

from karat.papers.purification import bounds_robust_coupling as bounds
from karat.papers.purification.checks.robust_coupling import CouplingRun, Formula, Value, of_bound
from karat.papers.purification.experiments.robust_coupling import (
    COUPLING,
    COUPLING_INF,
    CouplingConfig,
    CouplingResult,
)
from karat.study.drawing.picture import Drawing, Picture
from karat.study.drawing.style import INK, curve_with_band, finish, new_figure
from karat.study.run import Runs, grouped, pivot

PANELS: tuple[tuple[str, Value, Formula], ...] = (
    ("Frozen gates", lambda measures: measures.frozen, bounds.frozen_gates),
    ("Pure parts", lambda measures: measures.pure, bounds.pure_part),
    ("A step, reached", lambda measures: measures.reached, bounds.neuron_movement),
    ("A step, certified", lambda measures: measures.certified, bounds.neuron_movement),
)


WORLDS = ("trained nets", "pure features", "with dense parts", "radius above the threshold")


def draw_coupling(runs: Runs[CouplingConfig, CouplingResult]) -> list[Picture]:
    """Measured over bound, world by world."""
    if not runs:
        return []
    figure, axes = new_figure(len(PANELS), width=3.0, height=2.9)
    for ax, (title, value, formula) in zip(axes, PANELS, strict=True):
        for world, group in sorted(grouped(runs, _world).items()):
            d, table = pivot(group, lambda run: run.config.d, _reading(value, formula))
            curve_with_band(ax, d.tolist(), table.tolist(), WORLDS[world], index=world)
        ax.axhline(1, color=INK, linestyle=":", linewidth=1)
        ax.set_xscale("log")
        ax.set_yscale("log")
        y = "measured / bound" if ax is axes[0] else ""
        finish(ax, x="dimension d", y=y, title=title, legend=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    norm = "l2" if runs[0].config.p == 2 else "l_inf"
    caption = (
        f"Adversarial training in {norm} from pure features, at the worse of its first and its last iterate, "
        "and pure features themselves where small codes lie at the threshold: "
        "what freezing the gates changes, what the pure parts leave out, and how far one unit of step length "
        "moves a neuron (what some perturbation reaches, and a bound for all). A bound with one hidden "
        "constant is a curve that does not rise; the lemmas on gates speak of radii below the threshold only."
    )
    return [Picture(f"Robust coupling in {norm}, measured over bound", caption, figure)]


def _world(run: CouplingRun) -> int:
    """Which of the worlds it is."""
    if run.config.tau >= run.config.threshold:
        return 3
    if run.config.clean_steps:
        return 0
    return 2 if run.config.mixture else 1


def _reading(value: Value, formula: Formula) -> Callable[[CouplingRun], float]:
    return lambda run: of_bound(run, value, formula)


FIGURES = (Drawing(COUPLING, draw_coupling), Drawing(COUPLING_INF, draw_coupling))
