"""Sweeps are drawn whatever their axes, values and measurements are called."""

import pytest

from karat.lab.sweep import Sweep
from karat.report.sweeps import sweep_views
from karat.study.experiment import cells

ODD = r"$\frac$"


@pytest.mark.parametrize("grid", [{"label": (ODD, "$$", "plain")}, {"mu": (1.0, 2.0), "label": (ODD, "b")}])
def test_dollar_signs_of_a_user_are_no_formulas(toy, store, grid):
    planned = cells(toy.experiment, "tiny", 2, grid=grid)
    for cell in planned:
        store.put(toy.record(cell, values={ODD: float(cell.seed), "plain": 1.0}))
    plan = Sweep(experiment=toy.experiment.name, scale="tiny", cells=planned).plan()
    store.put_sweep(plan["name"], toy.experiment.name, plan)
    (view,) = sweep_views(store)
    assert view.done == len(planned)
    assert [image[:22] for _, image in view.images] == ["data:image/png;base64,"]
