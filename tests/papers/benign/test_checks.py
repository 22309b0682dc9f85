"""How the statements of benign are judged: what each check lets pass, and what it must not."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.optimize import brentq

from karat.papers.benign.bounds import robust_error_bound
from karat.papers.benign.bounds_lemmas import loss_ratio_reach
from karat.papers.benign.checks.boundary import bound_exponent
from karat.papers.benign.experiments.exact import draw_problem
from karat.papers.benign.experiments.one_step import certified_gain
from karat.papers.benign.experiments.regime import INSIDE, REGIME
from karat.papers.benign.experiments.traces import LEMMAS_WIDE
from karat.study.claim import judge_claim
from karat.study.experiment import cells
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement
from karat.study.run import read_runs


def judged(claim_id, found):
    return judge_claim(get_statement(claim_id), CHECKS[claim_id], found, "tiny")


def with_values(found, **changes):
    return [replace(record, values=record.values | changes) for record in found]


def test_exponent_of_the_boundary_is_that_of_the_solved_bound():
    """Second route: the dimension at which the bound is 0.3, by root finding, at two constants C."""
    config = cells(EXPERIMENTS["benign.boundary"], "quick", 1)[0].config
    low, high = 2.0, 2.002
    for C in (1.0, 3.0):
        solved = []
        for mu in (low, high):
            setting = replace(config, mu=mu).setting()

            def excess(d, setting=setting, C=C):
                moved = replace(setting, n=10**6, d=round(1e6 * d))  # n/d fine enough for whole numbers
                return robust_error_bound(moved, C=C) - 0.3

            solved.append(brentq(excess, 1e-4, 1e4, rtol=1e-12))
        slope = math.log(solved[1] / solved[0]) / math.log(high / low)
        assert bound_exponent(config, "robust", [low, high]) == pytest.approx(slope, abs=2e-3)


def test_exponent_of_the_boundary_falls_from_four_to_two():
    config = cells(EXPERIMENTS["benign.boundary"], "quick", 1)[0].config
    assert bound_exponent(config, "clean", [1.0, 2.0, 5.0]) == pytest.approx(4.0)
    assert bound_exponent(config, "robust", [1e-4, 2e-4]) == pytest.approx(4.0, abs=1e-3)
    assert bound_exponent(config, "robust", [1e5, 2e5]) == pytest.approx(2.0, abs=1e-3)
    assert bound_exponent(config, "robust", [1.6, 2.3, 3.2, 4.5]) == pytest.approx(3.77, abs=0.02)


class TestTrainingLoss:
    def test_bound_above_the_zero_net_decides_nothing(self, records):
        claim = judged("benign.thm3.1.1.regime", records("benign.regime"))
        assert claim.verdict == "inconclusive"
        assert "Vacuous" in claim.caveat
        assert "Largest robust training error: 0." in claim.caveat

    def test_broken_training_points_still_show(self, records):
        found = with_values(records("benign.regime"), final_train_error=0.1)
        assert judged("benign.thm3.1.1.regime", found).measured == 0.1

    def test_bound_below_the_zero_net_is_compared(self, records):
        long = [
            replace(record, config=record.config | {"lr": 1.0, "steps": 100_000})
            for record in records("benign.regime")
        ]
        evaluate = CHECKS["benign.thm3.1.1.regime"].evaluate
        for loss, verdict in ((0.001, "holds"), (0.5, "fails")):
            runs = read_runs(REGIME, with_values(long, final_train_loss=loss))
            assert evaluate(runs).verdict == verdict


def test_loss_ratio_bound_out_of_reach_decides_nothing(records):
    claim = judged("benign.lem4.4", records("benign.lemmas"))
    assert claim.verdict == "inconclusive"
    assert "Vacuous" in claim.caveat


def test_no_run_exceeds_the_reach_of_its_steps(records):
    for run in read_runs(LEMMAS_WIDE, records("benign.lemmas_wide")):
        config = run.config
        assert run.result.loss_ratio <= loss_ratio_reach(
            config.d, config.tau, config.elapsed, kappa=config.law.variance
        )


def test_robust_bound_is_judged_on_the_certified_error(records):
    found = with_values(records("benign.regime"), final_robust_error=0.1, final_certified_error=0.3)
    claim = judged("benign.thm3.1.3.regime", found)
    assert claim.verdict == "inconclusive"
    assert claim.measured == pytest.approx(0.3)


def test_without_a_certificate_the_robust_bound_stays_open(records):
    found = records("benign.regime")
    without = [replace(r, values={k: v for k, v in r.values.items() if "certified" not in k}) for r in found]
    claim = judged("benign.thm3.1.3.regime", without)
    assert claim.verdict == "inconclusive"
    assert "no certified error" in claim.caveat


@pytest.mark.parametrize(
    ("claim_id", "changes"),
    [
        ("benign.lem4.2", {"robust_error": [0.9], "margin_bound": [0.2]}),
        ("benign.lem4.3", {"increment_slack": -1e-6}),
        ("benign.lem4.3", {"correlation_low": 0.0}),
        ("benign.lem4.3", {"gradient_constant": 1e6}),
    ],
)
def test_lemmas_without_hidden_constant_fail_loudly(records, claim_id, changes):
    found = records("benign.lemmas")
    assert judged(claim_id, found).verdict == "holds"
    assert judged(claim_id, with_values(found, **changes)).verdict == "fails"


def test_margin_law_of_smooth_nets_is_compared_with_its_printed_constant(records):
    found = records("benign.lemmas")
    assert judged("benign.lemB.14", found).predicted > 0
    assert judged("benign.lemB.14", with_values(found, normalised_margin=[1e-9])).verdict == "inconclusive"


def test_floor_covers_attacks_as_large_as_the_signal(records):
    found = records("benign.thm3.2")
    assert judged("benign.thm3.2", found).verdict == "holds"
    large = [r for r in found if r.config["test_ratio"] >= 1]
    claim = judged("benign.thm3.2", with_values(large, robust_error=0.3))
    assert (claim.verdict, claim.predicted) == ("fails", 0.5)


def test_clean_training_is_compared_within_its_own_setting(records):
    """Two settings whose errors differ, while clean and adversarial training agree in each of them."""
    own = records("benign.clean_training")
    other = with_values([replace(r, config=r.config | {"d": 999}) for r in own], robust_error=0.4)
    claim = judged("purification.sec7.mixture", [*with_values(own, robust_error=0.1), *other])
    assert claim.measured == 0.0
    assert claim.verdict == "holds"


def test_lemmas_refuse_a_step_size_that_decays():
    with pytest.raises(ValueError, match=r"`decay_every` of `benign\.lemmas` must be at least `steps` = 12"):
        cells(EXPERIMENTS["benign.lemmas"], "tiny", 1, {"decay_every": 5})
    config = replace(INSIDE, steps=12, decay_every=5)
    assert not config.setting().theorem_algorithm


def test_certified_gain_is_below_the_gain_at_every_point_of_the_ball():
    cell = cells(EXPERIMENTS["benign.lemmas"], "tiny", 1, {"d": 200, "mu": 3.0, "ratio": 0.5, "lr": 0.5})[-1]
    problem = draw_problem(cell.config, torch.Generator().manual_seed(0))
    old = problem.net.replace(
        W=torch.randn(problem.net.W.shape, generator=torch.Generator().manual_seed(1)).double()
    )
    new = old.replace(W=old.W + 0.05 * torch.randn(old.W.shape, generator=torch.Generator().manual_seed(2)))
    bound = certified_gain(cell.config, old, new, problem.x, problem.y)
    noise = torch.Generator().manual_seed(3)
    for _ in range(200):
        delta = torch.randn(problem.x.shape, generator=noise, dtype=torch.float64)
        delta *= cell.config.tau / torch.linalg.vector_norm(delta, dim=1, keepdim=True)
        moved = problem.x + delta
        assert bool((problem.y * (new(moved) - old(moved)) >= bound).all())
