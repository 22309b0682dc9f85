"""The figures of benign draw what sweeps hold: maps, rows, the boundary, the lemmas, partial or lost."""

import io
from dataclasses import replace

import numpy as np
import pytest

from karat.papers.benign.bounds_fit import threshold_law
from karat.papers.benign.checks.boundary import halfway
from karat.papers.benign.experiments.axes import axis_value
from karat.papers.benign.figures.crossing import find_boundary
from karat.papers.benign.figures.grid import read_grid
from karat.papers.benign.figures.heat_cells import axis_scale, cell_edges
from karat.papers.benign.figures.rows import rows_of
from karat.papers.benign.figures.setting_names import base_first, setting_labels
from karat.study.experiment import Cell, cells
from karat.study.record import Record
from karat.study.registry import EXPERIMENTS, FIGURES
from karat.study.run import by_setting, read_runs

MAPS = ("benign.fig1", "benign.fig3", "benign.fig4", "benign.fig5")
ROWS = ("benign.fig2", "benign.fig6")
CURVES = ("benign.thm3.1", "benign.sec5", "benign.regime")
LEMMAS = ("benign.lemmas", "benign.lemmas_wide")
ALL = (*MAPS, *ROWS, *CURVES, *LEMMAS, "benign.boundary", "benign.clean_training", "benign.thm3.2")


def errors(config, seed):
    """Errors of the threshold law, each seed a little off it."""
    tau, kappa = config.ratio * config.mu, 0.5 * (1 + 0.02 * seed)
    flip_rate = getattr(config, "flip_rate", 0.0)

    def law(radius):
        return float(threshold_law(config.mu, radius, config.n, config.d, flip_rate, kappa=kappa, rho=1.3))

    return {
        "train_loss": 1e-3,
        "train_error": 0.0,
        "clean_error": law(0.0),
        "robust_error": law(tau),
        "certified_error": min(1.0, law(tau) + 0.05),
    }


def curves(config, seed):
    last = errors(config, seed)
    lines = {
        name: [0.6, 0.4 + 0.01 * seed, value] for name, value in last.items() if name != "certified_error"
    }
    return {"iterations": [0, 1, config.steps], **lines, **{f"final_{name}": v for name, v in last.items()}}


def traces(config, seed):
    smooth = {"increment_slack": 1e-9, "correlation_low": 0.1}
    return {
        "distance": 0.01 * (seed + 1),
        "distance_bound": 0.4,
        "loss_ratio": 1.5,
        "margin_drop": 0.0,
        "gradient_constant": 1.0,
        "steps": [1, 2, config.steps],
        "normalised_margin": [0.4, 0.35, 0.3 + 0.01 * seed],
        "margin_bound": [1.0, 0.6, 0.4],
        "robust_error": [0.3, 0.2, 0.15],
        "first_step_error": 0.0,
        "first_step_movement": 3.0,
        "active_samples": 0.2,
        "active_neurons": 0.3,
        "final_train_loss": 0.5,
        **(smooth if config.activation == "smooth_leaky_relu" else {}),
    }


def values_of(name, config, seed):
    if name in LEMMAS:
        return traces(config, seed)
    if name in (*ROWS, *CURVES):
        return curves(config, seed)
    best = {"best_robust_error": 0.05} if name == "benign.clean_training" else {}
    return errors(config, seed) | best


def record(cell, status="done", **changes):
    values = values_of(cell.experiment, cell.config, cell.seed) | changes if status == "done" else {}
    return Record(
        experiment=cell.experiment,
        config=cell.config_json,
        seed=cell.seed,
        status=status,
        values=values,
        error=None if status == "done" else "diverged at step 3",
        cpu_seconds=0.0,
        version="0",
        environment={},
    )


def sweep(name, seeds=3, scale="tiny", overrides=None):
    return cells(EXPERIMENTS[name], scale, seeds=seeds, overrides=overrides)


def runs_of(name, cells_of_it):
    return read_runs(EXPERIMENTS[name], [record(cell) for cell in cells_of_it])


def draw(name, records, *, save=False):
    """The figure's pictures; saving them costs most of the time, and is asked for where data are odd."""
    pictures = FIGURES[name](records)
    for picture in pictures if save else ():
        picture.figure.savefig(io.BytesIO(), dpi=30)  # a figure that cannot be saved is no figure
    return pictures


def captions(pictures):
    return " ".join(picture.caption for picture in pictures)


@pytest.mark.parametrize("name", ALL)
class TestEveryFigure:
    def test_states_how_many_seeds_it_shows(self, name):
        pictures = draw(name, [record(cell) for cell in sweep(name)], save=True)
        assert pictures
        assert all("3 seeds" in picture.caption for picture in pictures)

    def test_of_one_seed_claims_no_interval(self, name):
        pictures = draw(name, [record(cell) for cell in sweep(name, seeds=1)])
        assert all("one seed" in picture.caption.lower() for picture in pictures)
        assert "95% interval over seeds" not in captions(pictures)

    def test_leaves_out_lost_cells_and_counts_them(self, name):
        records = [record(cell) for cell in sweep(name)]
        # The last of several settings is lost altogether, and one seed of the first.
        lost = [0, *((-1, -2, -3) if len(records) > 3 else ())]
        for index in lost:
            records[index] = record(sweep(name)[index], status="diverged")
        assert f"left out: {len(lost)}" in captions(draw(name, records, save=True))

    def test_draws_a_sweep_that_has_just_begun(self, name):
        assert draw(name, [record(cell) for cell in sweep(name)[:1]], save=True)
        assert draw(name, [record(cell) for cell in sweep(name)[:2]])

    def test_draws_nothing_when_nothing_finished(self, name):
        assert draw(name, [record(cell, status="diverged") for cell in sweep(name)]) == []


@pytest.mark.parametrize("name", MAPS)
class TestMaps:
    def test_have_accuracies_bracket_and_training_error(self, name):
        (picture,) = draw(name, [record(cell) for cell in sweep(name)])
        titles = [ax.get_title(loc="left") for ax in picture.figure.axes if ax.get_title(loc="left")]
        assert titles == [
            "Clean accuracy",
            "Robust accuracy",
            "Certified − PGD error",
            "Robust training error",
        ]

    def test_without_a_crossing_say_so(self, name):
        flat = [record(cell, clean_error=0.1, robust_error=0.1) for cell in sweep(name)]
        (picture,) = draw(name, flat, save=True)
        assert "No robust crossing on the grid" in picture.caption
        assert "Circles" not in picture.caption

    def test_hatch_cells_that_are_not_trained(self, name):
        records = [record(cell) for cell in sweep(name)]
        records[0] = record(sweep(name)[0], train_error=0.2)
        (picture,) = draw(name, records)
        assert f"(1 of {len(sweep(name, seeds=1))} cells)" in picture.caption
        hatched = {
            ax.get_title(loc="left"): sum(bool(patch.get_hatch()) for patch in ax.patches)
            for ax in picture.figure.axes
        }
        assert hatched["Clean accuracy"] == hatched["Robust accuracy"] == 1

    def test_without_a_certificate_drop_its_panel(self, name):
        records = [record(cell) for cell in sweep(name)]
        for item in records:
            del item.values["certified_error"]
        (picture,) = draw(name, records)
        assert not any("Certified" in ax.get_title(loc="left") for ax in picture.figure.axes)


def test_another_setting_that_varies_gives_a_map_each():
    first, second = (sweep("benign.fig1", overrides={"n": n}) for n in (20, 30))
    pictures = draw("benign.fig1", [record(cell) for cell in (*first, *second)])
    assert [picture.title for picture in pictures] == ["Accuracy map, n = 20", "Accuracy map, n = 30"]


def test_the_paper_s_own_grid_is_drawn_without_numbers_but_with_every_training_error():
    (picture,) = draw("benign.fig1", [record(cell) for cell in sweep("benign.fig1", seeds=1, scale="full")])
    panels = {ax.get_title(loc="left"): len(ax.texts) for ax in picture.figure.axes}
    assert panels["Clean accuracy"] == 0
    assert panels["Robust training error"] == 180


def test_the_power_law_goes_through_the_middle_crossing():
    cells_of_it = sweep("benign.fig1", scale="quick")
    (picture,) = draw("benign.fig1", [record(cell) for cell in cells_of_it])
    lines = {line.get_label(): line for line in picture.figure.axes[0].lines}
    x, y = lines[r"$d \propto |\mu|^{4}$"].get_data()
    grid = read_grid(runs_of("benign.fig1", cells_of_it), "mu")
    boundary = find_boundary(grid.x, grid.y, 1 - grid.test_error("clean"), halfway(0.1))
    at, d = boundary.anchor
    assert np.interp(at, x, y) == pytest.approx(d, rel=1e-2)
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), 4.0, rtol=1e-6)


class TestBoundaryOfAMap:
    x, y = np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0])

    def test_is_where_the_accuracy_is_halfway(self):
        curves = np.array([[[0.5, 0.7, 0.9], [0.5, 0.5, 0.7]]])
        boundary = find_boundary(self.x, self.y, curves, halfway(0.1))
        assert [(y, crossing.value) for y, crossing in boundary.points] == [(10.0, 2.0), (20.0, 4.0)]

    def test_uses_known_columns_and_complete_seeds_only(self):
        curves = np.array([[[0.5, np.nan, 0.9]] * 2, [[0.5, np.nan, np.nan]] * 2])
        boundary = find_boundary(self.x, self.y, curves, 0.7)
        assert all(1.0 < crossing.value < 4.0 for _, crossing in boundary.points)
        assert len(boundary.points) == 2

    def test_of_a_row_in_which_a_seed_does_not_cross_is_unknown(self):
        curves = np.array([[[0.5, 0.6, 0.9]] * 2, [[0.5, 0.6, 0.65], [0.5, 0.6, 0.9]]])
        boundary = find_boundary(self.x, self.y, curves, 0.7)
        assert boundary.without == (10.0,)

    def test_of_nothing_is_nothing(self):
        boundary = find_boundary(self.x, self.y, np.full((1, 2, 3), np.nan), 0.7)
        assert boundary.points == ()
        assert boundary.anchor is None


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [0.05, 0.2, 0.45], [1e3, 2e3, 4e3, 18e3]], ids=str)
def test_cells_lie_around_their_values_without_gaps(values):
    points = np.array(values)
    edges = cell_edges(points, axis_scale(points))
    assert len(edges) == len(points) + 1
    assert (edges[:-1] < points).all()
    assert (points < edges[1:]).all()


def rows_by_axis(name):
    return {row.axis: row for row in rows_of(runs_of(name, sweep(name, scale="full")))}


def values_along(row):
    return [axis_value(group[0].config, row.axis) for group in row.groups]


def test_rows_vary_one_setting_around_the_common_point():
    rows = {axis: values_along(row) for axis, row in rows_by_axis("benign.fig2").items()}
    assert rows == {"mu": [4, 5, 6, 8, 10], "d": [500, 1000, 1500], "ratio": [0.05, 0.1, 0.15]}


def test_rows_of_digits_take_the_ratios_at_their_own_signal():
    rows = rows_by_axis("benign.fig6")
    assert values_along(rows["ratio"]) == [0.05, 0.1, 0.15, 0.2]
    assert {group[0].config.mu for group in rows["ratio"].groups} == {10.0}
    assert values_along(rows["d"]) == [17**2, 20**2, 28**2, 32**2]


@pytest.mark.parametrize(("name", "shape"), [("benign.fig2", (3, 2)), ("benign.fig6", (2, 3))])
def test_rows_and_columns_are_the_paper_s(name, shape):
    (picture,) = draw(name, [record(cell) for cell in sweep(name, scale="full", seeds=1)])
    assert picture.figure.axes[0].get_gridspec().get_geometry() == shape


class TestPhaseBoundary:
    def both_starts(self):
        own = sweep("benign.boundary")
        other = [
            Cell(c.experiment, replace(c.config, start="pytorch", attack_first=True), c.seed) for c in own
        ]
        return [record(cell) for cell in (*own, *other)]

    def test_shows_both_starts_with_their_slopes(self):
        boundary, law = draw("benign.boundary", self.both_starts())
        labels = boundary.figure.axes[0].get_legend_handles_labels()[1]
        assert sum("exponent" in label and "[" in label for label in labels) == 4
        assert len(law.figure.axes) == 4

    def test_recovers_the_law_behind_the_errors(self):
        law = draw("benign.boundary", [record(cell) for cell in sweep("benign.boundary", seeds=1)])[1]
        assert "kappa = 0.500, rho = 1.30, RMSE 0.0000" in law.caption

    def test_without_any_crossing_says_so(self):
        flat = [record(cell, clean_error=0.5, robust_error=0.5) for cell in sweep("benign.boundary")]
        boundary = draw("benign.boundary", flat)[0]
        assert [text.get_text() for text in boundary.figure.axes[0].texts] == ["no crossing on the grid"]
        assert "not every seed crosses at d = 40, 160, 640" in boundary.caption


class TestLemmas:
    def facts(self, records):
        figure = draw("benign.lemmas", records)[1].figure
        return [text.get_text() for text in figure.axes[0].texts]

    def test_facts_that_hold_are_ticked_and_those_that_do_not_speak_are_dashes(self):
        texts = self.facts([record(cell) for cell in sweep("benign.lemmas")])
        assert not any("✗" in text for text in texts)
        assert texts.count("–") == 2

    def test_a_fact_that_fails_in_one_seed_says_in_how_many_it_holds(self):
        own = sweep("benign.lemmas")
        records = [record(own[0], first_step_error=0.25), *map(record, own[1:])]
        assert "✗ 0.25\n2 of 3" in self.facts(records)

    def test_settings_are_named_by_what_they_change(self):
        name = "benign.lemmas_wide"
        groups = base_first(by_setting(runs_of(name, sweep(name, seeds=1, scale="quick")[::-1])))
        labels = [label.replace("\u00a0", " ") for label in setting_labels(groups)]
        assert labels[0] == "base"
        assert set(labels[1:]) == {"d = 8000", "n = 100", "|μ| = 8", "τ/|μ| = 0.5", "smooth leaky ReLU"}


def test_clean_training_shows_three_bars_per_setting():
    (picture,) = draw("benign.clean_training", [record(cell) for cell in sweep("benign.clean_training")])
    assert len(picture.figure.axes[0].patches) == 3


@pytest.mark.parametrize("name", CURVES)
def test_curves_end_in_the_certified_error(name):
    pictures = draw(name, [record(cell) for cell in sweep(name)])
    labels = pictures[0].figure.axes[1].get_legend_handles_labels()[1]
    assert "robust, certified" in labels
    assert "certified upper bound" in pictures[0].caption
