"""What the purification experiments measure, and malformed settings."""

import math
from dataclasses import replace

import pytest
import torch
from scipy.stats import binom

from karat.attacks import Steepest, run_attack
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.lab.execute import execute
from karat.nets import OddTwoLayer
from karat.papers.purification.checks.clean_time import CHECKS as CLEAN_CHECKS
from karat.papers.purification.experiments import oracles
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.l2 import L2
from karat.papers.purification.experiments.net_measures import require_awake
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.oracles import OraclesConfig
from karat.papers.purification.experiments.perturbation_measures import deviation_bound
from karat.papers.purification.experiments.small_ball import SmallBallConfig, run
from karat.papers.purification.experiments.ties import TiesToPlus, Wake
from karat.probes.linearity import linearity_gap
from karat.probes.oracle import HardThreshold
from karat.study.claim import judge_claim
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS, get_statement
from karat.study.run import read_runs
from karat.training.odd import GrowingBias, OddClassifier, TwoStageBias


@pytest.mark.slow
def test_theorems_at_finite_size_are_out_of_regime_with_their_numbers(records):
    (check,) = [check for check in CLEAN_CHECKS if check.claim_id == "purification.thm5.1a"]
    claim = judge_claim(get_statement(check.claim_id), check, records("purification.clean_time"), "tiny")
    assert claim.verdict == "out of regime"
    assert any("sure winners" in sentence for sentence in claim.hypotheses_unmet)
    assert any(entry.status == "waived" for entry in claim.ledger)
    assert claim.measured is not None


def test_same_seed_gives_the_same_record():
    cell = cells(EXPERIMENTS["purification.pureinit"], "tiny", 1, {"clean_steps": 5, "robust_steps": 5})[0]
    assert execute(cell).values == execute(cell).values


def test_exploding_training_is_recorded_as_diverged():
    cell = cells(EXPERIMENTS["purification.pureinit"], "tiny", 1, {"step": 1e30})[0]
    record = execute(cell)
    assert record.status == "diverged"
    assert "diverged at step" in (record.error or "")


def test_collapsed_net_is_never_counted_as_robust():
    model = RANDOM_START.draw_model(torch.Generator().manual_seed(0))
    asleep = RANDOM_START.draw_net(model, torch.Generator().manual_seed(1)).replace(b=torch.tensor(-10.0))
    with pytest.raises(Diverged, match="collapsed, no neuron wakes on 100%"):
        require_awake(asleep, model.sample(50, generator=torch.Generator(), dtype=torch.float32).x, 7)


def test_equal_seeds_share_model_and_test_points_across_settings():
    def drawn(config: OddNetConfig) -> torch.Tensor:
        draws = split(torch.Generator().manual_seed(3), 2)
        return config.draw_model(draws[0]).sample(5, generator=draws[1]).x

    assert torch.equal(drawn(RANDOM_START), drawn(replace(RANDOM_START, clean_steps=5, tau_factor=0.1)))


def test_schedules_are_named_strategies():
    assert isinstance(RANDOM_START.bias(), TwoStageBias)
    paper = replace(RANDOM_START, schedule="paper", decay=None)
    assert isinstance(paper.bias(), GrowingBias)
    assert paper.bias()(0.0, 1e9) == pytest.approx(14**-0.5001)
    assert paper.scaled_decay == pytest.approx(math.log(math.log(math.log(200))))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 300}, "`k` of `OddNetConfig` must be at most `d` = 200, got 300"),
        ({"p": 1.0}, "`p` of `OddNetConfig` must be 2 or inf, got 1"),
        ({"ramp": 2.0}, "`ramp` of `OddNetConfig` must be a finite number"),
        ({"clean_steps": -1}, "`clean_steps` of `OddNetConfig` must be a whole number >= 0"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        replace(RANDOM_START, **settings)


def test_a_sleeping_net_predicts_plus_one():
    net = OddTwoLayer(torch.eye(2), torch.tensor(-1.0))
    x, y = torch.tensor([[0.5, 0.0], [0.5, 0.0], [3.0, 0.0], [-3.0, 0.0]]), torch.tensor([1.0, -1, 1, 1])
    margin, gradient = TiesToPlus(OddClassifier(net)).margin_and_gradient(x, y)
    assert (margin > 0).tolist() == [True, False, True, False]
    assert gradient[:2].abs().max() == 0
    assert torch.equal(margin[2:], OddClassifier(net).margin(x[2:], y[2:]))


def test_the_oracle_is_right_wherever_the_code_is_zero():
    model = replace(RANDOM_START, d=40, k=10).draw_model(torch.Generator().manual_seed(0))
    test = model.sample(2000, generator=torch.Generator().manual_seed(1))
    hard = HardThreshold(model.M, model.w_star, 0.5 / math.sqrt(10))
    empty = (test.z == 0).all(dim=1)
    assert empty.any()
    assert (TiesToPlus(hard).margin(test.x, test.y)[empty] > 0).all()
    assert not (hard.margin(test.x, test.y)[empty] > 0).any()


@pytest.mark.parametrize("p", [2.0, math.inf])
def test_waking_one_neuron_breaks_where_the_gradient_is_zero(p):
    W = torch.tensor([[1.0, 0.5], [0.1, -0.3]])
    net = OddTwoLayer(W, torch.tensor(-1.0))
    x, y, ball = torch.zeros(1, 2), torch.ones(1), Ball(p, 0.95)
    classifier = TiesToPlus(OddClassifier(net))
    assert run_attack(Steepest(), classifier, x, y, ball).error == 0
    reach = 0.95 * float(torch.linalg.vector_norm(W[0], ord=2 if p == 2 else 1))
    broken = run_attack(Wake(net), classifier, x, y, ball)
    assert broken.error == 1
    assert float(broken.margin) == pytest.approx(1 - reach, abs=1e-6)
    assert run_attack(Wake(net), classifier, x, y, ball.with_tau(0.6)).error == 0


def test_counts_of_codes_follow_the_binomial_law():
    config = SmallBallConfig(k=16, n=4000)
    result = run(config, torch.Generator().manual_seed(0))
    law = binom(config.d, result.expected_support / config.d)
    counts = result.support_counts
    expected = law.pmf(range(len(counts))) * config.n
    # Each count is binomial; 5 standard deviations over some 15 of them: false alarm below 1e-5.
    assert sum(counts) == config.n
    assert all(abs(c - e) <= 5 * math.sqrt(e) + 1 for c, e in zip(counts, expected, strict=True))
    assert result.boundary_mass[0] >= counts[0] / config.n  # z = 0 is on the boundary


@pytest.mark.parametrize("p", [2.0, math.inf])
def test_no_perturbation_leaves_the_tangent_further_than_its_bound(p):
    net = OddTwoLayer(torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), torch.tensor(-0.7), 0.1)
    x, ball = torch.randn(5, 4, generator=torch.Generator().manual_seed(1)), Ball(p, 0.3)
    bound = deviation_bound(net, x, ball)
    gap = linearity_gap(
        OddClassifier(net), x, torch.ones(5), ball, steps=40, generator=torch.Generator().manual_seed(2)
    )
    assert (gap.double() <= bound + 1e-6).all()
    assert float((gap / bound).max()) > 0.3  # not so wide that it says nothing


def test_one_neuron_reaches_the_bound_on_its_deviation():
    """A single pair in one dimension: the end of the interval is the worst perturbation."""
    net = OddTwoLayer(torch.ones(1, 1), torch.tensor(-1.0), 0.0)
    bound = deviation_bound(net, torch.tensor([[0.8]]), Ball(2, 0.5))
    assert float(bound) == pytest.approx(0.3)  # relu(0.8 + 0.5 - 1), with slope 0 at 0.8


def test_a_random_direction_classifies_nothing():
    result = oracles.run(OraclesConfig(k=9, n=300), torch.Generator().manual_seed(0))
    assert result.linear_accuracy == 1.0
    blind = oracles.run(OraclesConfig(k=9, n=300, direction="random"), torch.Generator().manual_seed(0))
    assert abs(blind.linear_accuracy - 0.5) < 0.2


@pytest.mark.slow
def test_movement_is_recorded_step_by_step(records):
    for cell in read_runs(L2, records("purification.l2")):
        assert cell.result.movement_curve[0] == 0
        assert cell.result.movement_curve[-1] == pytest.approx(cell.result.movement, rel=1e-5)


@pytest.mark.slow
def test_only_a_start_from_pure_features_is_attacked_itself(records):
    pure_cell = cells(L2, "tiny", 1, {"start": "pure", "p": math.inf, "robust_steps": 5, "n_certify": 4})[0]
    (pure,) = read_runs(L2, [execute(pure_cell)])
    assert pure.result.start is not None
    assert pure.result.start.accuracy > 0.5
    assert (
        read_runs(L2, records("purification.l2"))[0].result.start is None
    )  # though `start_alignment` is there
