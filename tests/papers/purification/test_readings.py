"""How the checks of purification read runs and words of the paper."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import (
    SMALL,
    halfway,
    largest_standard,
    measured,
    mixture_fall,
    standard,
    vanishes,
)
from karat.papers.purification.experiments.odd_net_config import RANDOM_START
from karat.papers.purification.experiments.weak_attackers import WeakAttackersResult
from karat.study.finding import ERROR
from karat.study.judging import Undecided
from karat.study.run import Run


def run(seed=0, result=None, **settings):
    return Run(replace(RANDOM_START, **settings), result, seed)


def test_a_single_number_shows_the_largest_dimension_with_the_standard_data():
    runs = [run(d=100, k=9), run(d=200), run(d=400, dictionary="unitary"), run(d=400, sigma_spike=0.1)]
    assert [one.config.d for one in largest_standard(runs)] == [200]
    assert [one.config.dictionary for one in largest_standard(runs[2:3])] == ["unitary"]


def test_settings_outside_the_assumption_are_judged_only_if_there_are_no_others():
    runs = [run(d=200, k=30), run(d=200, k=14), run(d=200, k=7)]
    assert [one.config.k for one in largest_standard(runs)] == [14]
    assert [one.config.k for one in standard(runs[:1])] == [30]


def test_no_run_leaves_the_claim_undecided():
    with pytest.raises(Undecided):
        largest_standard([])


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [([0.2], "holds"), ([0.3], "fails"), ([0.24, 0.22, 0.2], "holds"), ([0.1, 0.15, 0.2], "fails")],
)
def test_what_vanishes_is_small_and_falls_where_three_sizes_show_it(errors, outcome):
    sizes = ((50, 7), (100, 9), (200, 14))[-len(errors) :]
    runs = [
        run(seed, error, d=d, k=k) for (d, k), error in zip(sizes, errors, strict=True) for seed in range(12)
    ]
    assert SMALL == 0.25
    assert vanishes(runs, lambda error: error, ERROR).outcome == outcome


def test_a_margin_half_way_to_a_rival_tells_them_apart():
    margin = halfway(0.5, "sqrt(k)")
    assert margin.size == 0.25
    assert "sqrt(k)" in margin.reason


def test_a_value_that_some_run_lacks_is_named():
    runs = [run(result=SimpleNamespace(certified=share)) for share in (0.5, None)]
    with pytest.raises(Undecided, match="robust_certified"):
        measured(runs, "robust_certified", lambda result: result.certified)


def test_a_mixture_that_is_gone_has_fallen_by_the_largest_factor():
    assert mixture_fall(0.03, 0.01) == pytest.approx(3)
    assert mixture_fall(0.03, 0.0) == mixture_fall(0.03, -1e-9) == 100


def test_made_up_results_refuse_names_that_are_no_fields():
    with pytest.raises(TypeError, match="`CleanNet` has no field `pdg`"):
        made_up(WeakAttackersResult, clean={"pdg": 0.5})
