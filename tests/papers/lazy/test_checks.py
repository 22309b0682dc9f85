"""What the checks of lazy's lemmas say about the numbers they are given."""

import math

import pytest

from karat.papers.lazy.experiments.lemmas import LemmasConfig, LemmasResult
from karat.study.registry import CHECKS


def test_shares_of_the_root_are_means_at_the_first_and_the_last_dimension(make_run):
    changes = {(4, 0): 4.0, (4, 1): 8.0, (8, 0): 80.0, (8, 1): 0.8, (16, 0): 8.0, (16, 1): 24.0}
    runs = [
        make_run(LemmasConfig(side=side, m=64), LemmasResult, seed, gradient_change=change)
        for (side, seed), change in changes.items()
    ]
    caveat = CHECKS["lazy.lem4.4"].evaluate(runs).caveat
    assert "1.50 sqrt d at the smallest and 1.00 sqrt d at the largest dimension" in caveat


@pytest.mark.parametrize(("largest", "word"), [(0.01, "holds, loose by"), (1e3, "violated by")])
def test_the_caveat_of_a_bound_says_what_its_verdict_says(make_run, largest, word):
    config = LemmasConfig(side=4, m=64, C0=1.0)
    values = {"can_switch": largest, "can_switch_bound": 10.0}
    finding = CHECKS["lazy.lem4.3"].evaluate(
        [make_run(config, LemmasResult, seed, **values) for seed in (0, 1)]
    )
    assert word in finding.caveat
    assert finding.verdict == ("holds" if largest < 1 else "fails")


def test_a_certificate_that_applies_nowhere_is_no_verdict(make_run):
    run = make_run(LemmasConfig(side=4, m=64), LemmasResult, landed=math.nan, step_length=math.nan)
    with pytest.raises(ValueError, match="applied nowhere"):
        CHECKS["lazy.proof3.1"].evaluate([run])


def test_hypotheses_name_a_width_below_the_window(make_run):
    unmet = CHECKS["lazy.thm3.1"].hypotheses
    config = type(CHECKS["lazy.thm3.1"].experiment.presets["tiny"].config)
    assert unmet(make_run(config(d=25, m=2300, C0=1.0), LemmasResult)) == []
    (text,) = unmet(make_run(config(d=25, m=2000, C0=1.0), LemmasResult))
    assert "m >= d^2.4" in text
