"""How the statements of benign are judged: what each check lets pass, and what it must not."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.optimize import brentq

from karat.papers.benign.bounds import clean_error_bound, implied_constant, robust_error_bound
from karat.papers.benign.bounds_lemmas import loss_ratio_reach
from karat.papers.benign.checks.settings import depth
from karat.papers.benign.experiments.boundary import BOUNDARY
from karat.papers.benign.experiments.curves import run as train_once
from karat.papers.benign.experiments.exact import draw_problem
from karat.papers.benign.experiments.one_step import certified_gain
from karat.papers.benign.experiments.regime import INSIDE
from karat.papers.benign.experiments.traces import FIRST_STEP, LEMMAS_WIDE
from karat.study.claim import judge_claim
from karat.study.experiment import cells
from karat.study.judging import Undecided
from karat.study.registry import EXPERIMENTS, PAPERS, get_statement
from karat.study.run import Runs, read_runs

CHECKS = PAPERS["benign"].checks


def judged(claim_id, found):
    return judge_claim(get_statement(claim_id), CHECKS[claim_id], found, "tiny")


def with_values(found, **changes):
    return [replace(record, values=record.values | changes) for record in found]


@pytest.mark.parametrize("kind", ["clean", "robust"])
def test_a_boundary_along_the_bound_needs_one_constant(kind):
    """Second route: where the bound at C = 3 is half-way, by root finding, C = 3 is needed at every d."""
    bound = {"clean": clean_error_bound, "robust": robust_error_bound}[kind]
    config = cells(BOUNDARY, "quick", 1)[0].config
    for d in (1000, 18000):
        signal = brentq(lambda mu, d=d: bound(replace(config, d=d, mu=mu).setting(), C=3.0) - 0.3, 3, 50)
        setting = replace(config, d=d, mu=signal).setting()
        assert implied_constant(setting, 0.3, robust=kind == "robust") == pytest.approx(3.0)


def test_a_dimension_that_some_seed_does_not_cross_leaves_the_boundary_open():
    check = CHECKS["benign.thm3.1.boundary.clean"]
    flat = [
        replace(run, result=replace(run.result, clean_error=0.1))
        if (run.seed, run.config.d) == (1, 2600)
        else run
        for run in check.satisfied
    ]
    assert check.evaluate(Runs(check.satisfied)).outcome == "holds"
    with pytest.raises(Undecided, match=r"does not cross 0\.7 on this grid: d = 2600"):
        check.evaluate(Runs(flat))


class TestTrainedCells:
    """Theorem 3.1 where all hypotheses but the step size are met."""

    def judge(self, part, settings=None, **final):
        check = CHECKS[f"benign.thm3.1.{part}.regime"]
        runs = [
            replace(
                run,
                config=replace(run.config, **(settings or {})),
                result=replace(run.result, final=replace(run.result.final, **final)),
            )
            for run in check.satisfied
        ]
        return check.evaluate(Runs(runs))

    def test_a_loss_bound_above_that_of_the_zero_net_says_nothing(self):
        finding = self.judge(1, {"steps": 10})
        assert finding.outcome == "vacuous"
        assert "it says something from T =" in finding.caveat

    def test_a_violated_bound_is_not_trivial(self):
        assert self.judge(1, {"steps": 10}, train_loss=1e9).outcome == "fails"

    def test_training_points_that_an_attack_breaks_refute(self):
        assert self.judge(1, train_error=0.1).outcome == "fails"

    def test_training_points_without_a_certificate_stay_open(self):
        assert self.judge(1, certified_train_error=0.1).outcome == "inconclusive"
        assert self.judge(1, certified_train_error=None).outcome == "inconclusive"

    def test_the_robust_error_needs_a_certificate_to_hold_and_an_attack_to_fail(self):
        assert self.judge(3, certified_error=0.3).outcome == "inconclusive"
        assert self.judge(3, certified_error=None).outcome == "inconclusive"
        assert self.judge(3, certified_error=0.3, robust_error=0.3).outcome == "fails"

    def test_a_bound_above_a_coin_says_nothing(self):
        assert self.judge(3, {"ratio": 0.5}).outcome == "vacuous"

    def test_margins_that_do_not_grow_need_a_growing_constant(self):
        finding = self.judge(2, margin=4.0)
        assert finding.outcome == "fails"
        assert finding.unit.name == "exponent"

    def test_a_large_attack_is_a_broken_hypothesis(self):
        check = CHECKS["benign.thm3.1.3.regime"]
        config = replace(check.satisfied[0].config, mu=3.0, ratio=0.5)
        unmet = [one.name for one in check.conditions(config) if one.status == "unmet"]
        assert "Thm 3.1(3): tau <= sqrt(n/d) |mu|^2/C" in unmet
        dropped = next(one for one in check.conditions(config) if one.name.startswith("Asm 1(4)"))
        assert dropped.status == "waived"
        assert "karat's own sentence" in dropped.note


def test_loss_ratio_bound_out_of_reach_decides_nothing(records):
    assert judged("benign.lem4.4", records("benign.lemmas")).verdict == "vacuous"
    check = CHECKS["benign.lem4.4"]
    small_steps = [replace(run, config=replace(run.config, lr=1e-12)) for run in check.violated]
    assert check.evaluate(Runs(small_steps)).outcome == "fails"  # a violated bound is not trivial


def test_no_run_exceeds_the_reach_of_its_steps(records):
    for run in read_runs(LEMMAS_WIDE, records("benign.lemmas_wide")):
        config = run.config
        assert run.result.loss_ratio <= loss_ratio_reach(
            config.d, config.tau, config.elapsed, kappa=config.law.variance
        )


@pytest.mark.parametrize(
    ("claim_id", "changes"),
    [
        ("benign.lem4.2", {"robust_error": [0.4], "certified_error": [0.4], "margin_bound": [0.2]}),
        ("benign.lem4.3", {"increment_slack": -1e-6}),
        ("benign.lem4.3", {"correlation_low": 0.0}),
    ],
)
def test_lemmas_without_hidden_constant_fail_loudly(records, claim_id, changes):
    found = records("benign.lemmas")
    assert judged(claim_id, found).verdict in ("holds", "inconclusive")
    assert judged(claim_id, with_values(found, **changes)).verdict == "fails"


def test_the_margin_lemma_stays_open_between_attack_and_certificate():
    check = CHECKS["benign.lem4.2"]
    between = [replace(run, result=replace(run.result, certified_error=[0.4])) for run in check.satisfied]
    with pytest.raises(Undecided, match="no certificate does"):
        check.evaluate(Runs(between))
    loose = [replace(run, result=replace(run.result, margin_bound=[1.0])) for run in check.satisfied]
    assert check.evaluate(Runs(loose)).outcome == "vacuous"
    assert check.observed(loose[0])[0].status == "unmet"


def test_a_distance_without_an_attack_is_out_of_regime():
    check = CHECKS["benign.lem4.1"]
    run = check.satisfied[0]
    still = replace(run, result=replace(run.result, perturbation=None))
    assert [one.status for one in check.observed(still)] == ["unmet"]
    assert [one.status for one in check.observed(run)] == ["met"]


def test_statements_about_large_constants_are_judged_at_the_largest():
    check = CHECKS["benign.sec3.onestep"]
    largest = max(run.config.d for run in check.satisfied)
    broken = replace(check.violated[0].result)
    elsewhere = [run if run.config.d == largest else replace(run, result=broken) for run in check.satisfied]
    finding = check.evaluate(Runs(elsewhere))
    assert finding.outcome == "holds"
    assert "0 of 40 at C = 2.5" in finding.caveat
    there = [replace(run, result=broken) if run.config.d == largest else run for run in check.satisfied]
    assert check.evaluate(Runs(there)).outcome == "fails"


@pytest.mark.parametrize("index", [0, 1, 2])
def test_cells_inside_the_regime_reach_the_constants_they_name(index):
    config = list({run.config.d: run.config for run in CHECKS["benign.sec3.onestep"].satisfied}.values())[
        index
    ]
    assert depth(config) == pytest.approx((2.5, 4.0, 8.0)[index], rel=0.01)


def test_floor_covers_attacks_as_large_as_the_signal():
    check = CHECKS["benign.thm3.2"]
    low = [
        replace(run, result=replace(run.result, robust_error=0.3)) if run.config.test_ratio >= 1 else run
        for run in check.satisfied
    ]
    finding = check.evaluate(Runs(low))
    assert (finding.outcome, finding.predicted) == ("fails", 0.5)
    other = replace(check.satisfied[0].config, p=1.0, engine="plain")
    assert "unmet" in [one.status for one in check.conditions(other)]


def test_clean_training_is_compared_within_its_own_setting():
    """Two settings whose errors differ, while clean and adversarial training agree in each of them."""
    check = CHECKS["purification.sec7.mixture"]
    other = [
        replace(run, config=replace(run.config, d=999), result=replace(run.result, robust_error=0.2))
        for run in check.satisfied
    ]
    assert check.evaluate(Runs([*check.satisfied, *other])).outcome == "holds"


def test_nets_that_learn_nothing_are_not_as_robust_as_adversarial_training():
    check = CHECKS["purification.sec7.mixture"]
    chance = [replace(run, result=replace(run.result, robust_error=0.6)) for run in check.satisfied]
    assert check.evaluate(Runs(chance)).outcome == "fails"


def test_gradient_ascent_lowers_every_margin():
    (cell,) = cells(FIRST_STEP, "tiny", 1, {"direction": "ascent"})
    result = FIRST_STEP.run(cell.config, torch.Generator().manual_seed(0))
    assert result.first_step.error == 1.0
    assert not cell.config.setting().theorem_algorithm


@pytest.mark.slow
def test_scaled_gaussian_clusters_drawn_in_the_span_have_the_same_law():
    """Mean training loss after a few steps over 40 draws: four standard errors, false alarm 1e-4."""
    config = replace(INSIDE, d=400, mu=4.0, lr=0.05, steps=5, n_test=200, evaluations=1)
    means, errors = [], []
    for draw in ("input", "span"):
        losses = torch.tensor(
            [
                train_once(replace(config, draw=draw), torch.Generator().manual_seed(seed)).final.train_loss
                for seed in range(40)
            ]
        )
        means.append(float(losses.mean()))
        errors.append(float(losses.std()) / 40**0.5)
    assert abs(means[0] - means[1]) < 4 * math.hypot(*errors)


def test_lemmas_refuse_a_step_size_that_decays():
    with pytest.raises(ValueError, match=r"`decay_every` of `benign\.lemmas` must be at least `steps` = 12"):
        cells(EXPERIMENTS["benign.lemmas"], "tiny", 1, {"decay_every": 5})
    config = replace(INSIDE, steps=12, decay_every=5)
    assert not config.setting().theorem_algorithm


@pytest.mark.parametrize("place", [0, -1], ids=["relu", "smooth"])
def test_certified_gain_is_below_the_gain_at_every_point_of_the_ball(place):
    cell = cells(EXPERIMENTS["benign.lemmas"], "tiny", 1, {"d": 200, "mu": 3.0, "ratio": 0.5, "lr": 0.5})[
        place
    ]
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
