"""How the checks of purification read runs and words of the paper."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from karat.papers.purification.checks.readings import (
    at_least,
    at_most,
    both_must_hold,
    largest_standard,
    measured,
    mixture_fall,
    robust_hypotheses,
    up_to_a_constant,
)
from karat.papers.purification.experiments.odd_net_config import RANDOM_START
from karat.study.run import Run

SEEDS = [0.10, 0.11, 0.12]


def run(seed=0, result=None, **settings):
    return Run(replace(RANDOM_START, **settings), result, seed)


def test_the_worse_of_two_verdicts_counts_with_the_numbers_of_the_first():
    holds, fails = at_most(SEEDS, 0.2, "First."), at_least(SEEDS, 0.2, "Second.")
    found = both_must_hold(holds, fails, "Third.")
    assert (found.verdict, found.predicted) == ("fails", 0.2)
    assert found.caveat == "First. Second. Third."
    assert both_must_hold(holds, holds).verdict == "holds"


def test_a_bound_with_a_hidden_constant_is_never_refuted_at_one_size():
    missed = up_to_a_constant(at_most(SEEDS, 0.05), 2.2)
    assert missed.verdict == "inconclusive"
    assert "needs 2.2" in missed.caveat
    assert up_to_a_constant(at_most(SEEDS, 0.2), 0.55).verdict == "holds"


def test_a_single_number_shows_the_largest_dimension_with_the_standard_data():
    runs = [run(d=100, k=10), run(d=200), run(d=400, dictionary="unitary"), run(d=400, sigma_spike=0.1)]
    assert [one.config.d for one in largest_standard(runs)] == [200]
    assert [one.config.dictionary for one in largest_standard(runs[2:3])] == ["unitary"]


def test_a_value_that_some_run_lacks_is_named():
    runs = [run(result=SimpleNamespace(certified=share)) for share in (0.5, None)]
    with pytest.raises(KeyError, match="robust_certified"):
        measured(runs, "robust_certified", lambda result: result.certified)


def test_a_mixture_that_is_gone_has_fallen_by_the_largest_factor():
    assert mixture_fall(0.03, 0.01) == pytest.approx(3)
    assert mixture_fall(0.03, 0.0) == mixture_fall(0.03, -1e-9) == 100


def test_hypotheses_of_a_run_name_its_own_numbers():
    unmet = robust_hypotheses(run(p=math.inf, dictionary="unitary"))
    assert any("row and column sums" in sentence for sentence in unmet)
    assert any("k = 30" in sentence for sentence in unmet)
