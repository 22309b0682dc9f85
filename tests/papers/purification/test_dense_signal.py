"""Figure 3: what thresholded units pass on of a signal in every feature, and when the check fails."""

from dataclasses import replace

import pytest
import torch

from karat.data import SparseCode
from karat.lab.execute import execute
from karat.papers.purification.checks.dense_signal import CHECKS
from karat.papers.purification.experiments.dense_signal import DENSE_SIGNAL, DenseSignalConfig
from karat.study.claim import judge_claim
from karat.study.experiment import cells
from karat.study.plan import control_cells
from karat.study.registry import get_statement

(CHECK,) = CHECKS


def shares(**settings):
    config = replace(DENSE_SIGNAL.preset("quick").config, **settings)
    return DENSE_SIGNAL.run(config, torch.Generator().manual_seed(0))


def judged(seeds=3, **settings):
    planned = cells(DENSE_SIGNAL, "tiny", seeds, settings)
    records = [execute(cell, show_traceback=True) for cell in planned]
    controls = {
        control.name: [execute(cell) for cell in control_cells(CHECK, control, "tiny")]
        for control in CHECK.controls
    }
    return judge_claim(get_statement(CHECK.claim_id), CHECK, records, "tiny", controls)


@pytest.mark.parametrize("level", [0.1, 0.9])
def test_without_noise_exactly_the_units_of_non_zero_codes_pass_the_signal_on(level):
    """200,000 codes: the share is within 4 standard deviations of P(z != 0), false alarm below 1e-4."""
    rate = SparseCode(k=14, D=400).expected_support / 400
    found = shares(sigma_x=0.0, level=level)
    assert found.linear == pytest.approx(1)
    assert abs(found.relu - rate) < 4 * (rate * (1 - rate) / (500 * 400)) ** 0.5


def test_a_signal_above_the_threshold_passes_but_for_the_threshold():
    assert shares(level=4.0, sigma_x=0.0).relu == pytest.approx(3 / 4, abs=0.005)
    assert shares(level=1e6).relu == pytest.approx(1, abs=1e-5)


def test_a_relu_without_bias_is_a_linear_unit():
    found = shares(bias=0.0)
    assert found.relu == found.linear


def test_the_figure_holds_at_its_own_settings_and_not_in_its_controls():
    claim = judged()
    assert claim.verdict == "holds"
    assert claim.measured < -0.5
    assert claim.hypotheses_unmet == ()
    assert [outcome.holds for outcome in claim.controls] == [False, False]


@pytest.mark.parametrize("settings", [{"bias": 0.0}, {"bias": 10.0}, {"sigma_x": 20.0}])
def test_it_fails_without_bias_with_shut_units_and_under_noise_as_large_as_the_threshold(settings):
    assert judged(**settings).verdict == "fails"


def test_codes_that_are_not_sparse_are_out_of_regime():
    assert judged(k=24, seeds=1).verdict == "out of regime"


def test_signals_above_the_threshold_alone_judge_nothing():
    assert judged(level=2.0, seeds=1).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 100}, "`k` of `SparseCode` must be at most"),
        ({"level": 0.0}, "`level` of `DenseSignalConfig` must be a finite number > 0"),
        ({"bias": -1.0}, "`bias` of `DenseSignalConfig` must be a finite number >= 0"),
    ],
)
def test_settings_that_can_never_run_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DenseSignalConfig(**{"d": 60, "k": 7, "level": 0.5} | settings)
