"""The cost of a sweep from a few of its cells."""

import pytest
from karat_toys import TOY

from karat.lab.cost import CostModel, calibration
from karat.study.experiment import cells
from karat.study.record import Record

AXES = {"d": [10, 100, 1000], "tau": [0.1, 0.4]}


def grid(seeds=3):
    return cells(TOY, "tiny", seeds, grid=AXES)


def timed(cell, seconds, status="done"):
    return Record(
        experiment=cell.experiment,
        config=cell.config_json,
        seed=cell.seed,
        status=status,
        values={},
        error=None,
        cpu_seconds=seconds,
        version="0",
        environment={},
    )


def law(cell):
    return 0.01 * cell.config.d**1.2


def predicted(records):
    model = CostModel(AXES, records)
    firsts = {cell.config_hash: cell for cell in grid(1)}
    configs = {key: cell.config_json for key, cell in firsts.items()}
    return model, model.estimate(configs, dict.fromkeys(configs, 10))


def test_calibration_takes_the_first_config_twice_and_the_end_of_each_axis():
    chosen = calibration(grid(), AXES)
    assert [(c.config.d, c.config.tau, c.seed) for c in chosen] == [
        (10, 0.1, 0),
        (10, 0.1, 1),
        (1000, 0.1, 0),
        (10, 0.4, 0),
    ]
    assert all(cell.seed == 0 for cell in calibration(grid(1), AXES))


def test_a_power_law_is_found_and_the_start_up_of_a_process_is_not_taken_for_cost():
    chosen = calibration(grid(), AXES)
    records = [timed(cell, law(cell) + (5.0 if place == 0 else 0.0)) for place, cell in enumerate(chosen)]
    model, estimate = predicted(records)
    truth = sum(10 * law(cell) for cell in grid(1))
    assert estimate.low < truth < estimate.high
    assert estimate.seconds == pytest.approx(truth, rel=0.3)
    assert (estimate.cells, estimate.measured) == (60, 3)
    assert model.seconds(grid()[0].config_json) == pytest.approx(0.01 * 10**1.2, rel=0.3)


def test_more_cells_make_it_surer():
    few, many = ([timed(cell, law(cell)) for cell in part] for part in (grid()[:1], grid()))
    factors = [e.high / e.low for _, e in map(predicted, (few, many))]
    assert factors[1] < 2 < 10 < factors[0]


def test_settings_that_are_no_numbers_get_a_cost_each():
    axes = {"mode": ["ok", "odd"]}
    found = cells(TOY, "tiny", 4, {"d": 1}, {"mode": ("ok", "odd")})
    records = [timed(cell, 1.0 if cell.config.mode == "ok" else 20.0) for cell in found]
    model = CostModel(axes, records)
    cheap, dear = (model.seconds(cell.config_json) for cell in (found[0], found[-1]))
    assert 5 < dear / cheap < 40


def test_failed_cells_say_nothing_about_cost():
    records = [timed(cell, law(cell)) for cell in grid()]
    lost = [timed(cell, 1e6, status="failed") for cell in grid()]
    assert predicted(records)[1].seconds == predicted([*records, *lost])[1].seconds
