"""Figures draw what the records hold: bands over seeds, gaps where nothing is known, never an error."""

import math
from pathlib import Path

import numpy as np
import pytest

import karat.report
from karat.core import t_interval
from karat.papers.benign.figures.training_curves import MOST
from karat.report.embed import data_uri
from karat.study.drawing.style import curve_with_band, new_figure
from karat.study.experiment import cells
from karat.study.registry import FIGURES


@pytest.fixture
def tiny(toy):
    return lambda seeds=3: cells(toy.experiment, "tiny", seeds=seeds)


def drawn(picture):
    data_uri(picture.figure)  # a figure that cannot be saved is no figure
    return picture.figure.axes


def test_every_figure_draws_nothing_from_nothing():
    assert all(draw([]) == [] for draw in FIGURES.values())


def test_several_seeds_give_lines_with_bands_and_the_flip_rate(toy, tiny):
    (picture,) = toy.draw([toy.record(cell) for cell in tiny()])
    loss, error = drawn(picture)
    assert loss.get_yscale() == "log"
    assert len(loss.lines) == len(loss.collections) == 1
    assert len(error.collections) == 2
    assert [line.get_label() for line in error.lines] == ["clean", "robust", "flip rate 0.1"]
    assert list(error.lines[2].get_ydata()) == [0.1, 0.1]
    assert "mean over 3 seeds" in picture.caption
    np.testing.assert_allclose(error.lines[1].get_ydata(), [0.6, 0.21, 0.15])


def test_one_seed_has_no_band(toy, tiny):
    (picture,) = toy.draw([toy.record(tiny()[0])])
    drawn(picture)
    assert picture.caption.startswith("One seed, no interval.")


def test_diverged_runs_are_left_out_and_counted(toy, tiny):
    records = [toy.record(cell) for cell in tiny()[:2]]
    records.append(toy.record(tiny()[2], status="diverged", error="diverged at step 2"))
    (picture,) = toy.draw(records)
    assert "mean over 2 seeds" in picture.caption
    assert "Diverged or failed and left out: 1." in picture.caption


def test_nothing_but_divergence_draws_nothing(toy, tiny):
    assert toy.draw([toy.record(cell, status="diverged") for cell in tiny()]) == []


def test_one_picture_per_setting_names_what_varies(toy):
    records = [toy.record(cell) for cell in cells(toy.experiment, "quick")]
    assert [picture.title for picture in toy.draw(records)] == [
        "Training curves, mu = 5",
        "Training curves, mu = 8",
    ]


def test_a_large_sweep_is_cut_and_says_so(toy):
    records = [
        toy.record(cells(toy.experiment, "tiny", seeds=1, overrides={"mu": mu})[0])
        for mu in range(1, MOST + 4)
    ]
    pictures = toy.draw(records)
    assert len(pictures) == MOST
    assert pictures[-1].caption.endswith("3 more settings are not drawn.")


def test_runs_recorded_at_other_steps_are_left_out(toy, tiny):
    records = [toy.record(cell) for cell in tiny()[:2]]
    odd = toy.values(2, iterations=[0, 5, 9])
    records.append(toy.record(tiny()[2], values=odd))
    (picture,) = toy.draw(records)
    assert "Recorded at other steps and left out: 1." in picture.caption


@pytest.mark.parametrize(
    "curve", [[0.7, 0.0, 0.0], [math.nan] * 3, [0.7, math.inf, 0.1], [0.0, 0.0, 0.0]], ids=str
)
def test_losses_of_zero_and_unknown_values_are_drawn_as_gaps(toy, tiny, curve):
    values = toy.values(0, train_loss=curve, robust_error=curve)
    (picture,) = toy.draw([toy.record(cell, values=values) for cell in tiny()])
    drawn(picture)


class TestCurveWithBand:
    curves = np.array([[1.0, 4.0], [2.0, 5.0], [6.0, 9.0]])

    def band(self, ax):
        points = ax.collections[0].get_paths()[0].vertices
        return points[points[:, 0] == 0.0, 1].min(), points[points[:, 0] == 0.0, 1].max()

    def test_is_the_mean_and_its_student_interval(self):
        _, (ax,) = new_figure()
        curve_with_band(ax, [0.0, 1.0], self.curves, "a")
        np.testing.assert_allclose(ax.lines[0].get_ydata(), self.curves.mean(axis=0))
        interval = t_interval(self.curves[:, 0])
        np.testing.assert_allclose(self.band(ax), (interval.low, interval.high))

    def test_on_a_logarithmic_axis_is_that_of_the_logarithm(self):
        _, (ax,) = new_figure()
        ax.set_yscale("log")
        curve_with_band(ax, [0.0, 1.0], self.curves, "a")
        np.testing.assert_allclose(ax.lines[0].get_ydata()[0], 12 ** (1 / 3))
        interval = t_interval(np.log(self.curves[:, 0]))
        np.testing.assert_allclose(self.band(ax), np.exp([interval.low, interval.high]))

    def test_leaves_unknown_values_out_point_by_point(self):
        _, (ax,) = new_figure()
        curves = self.curves.copy()
        curves[2, 0] = math.nan
        curve_with_band(ax, [0.0, 1.0], curves, "a")
        np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.5, 6.0])


def test_equal_figures_have_equal_bytes(toy, tiny):
    records = [toy.record(cell) for cell in tiny()]
    first, second = (data_uri(toy.draw(records)[0].figure) for _ in range(2))
    assert first == second


def test_figures_use_no_global_state():
    folder = Path(karat.report.__file__).parent
    assert not any("pyplot" in path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
