"""Training from pure features over d: what is measured, limit cases, settings that are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from karat.core.ball import Ball
from karat.lab.execute import execute
from karat.papers.purification.checks.limits_robust import CHECKS
from karat.papers.purification.experiments.limits import BASE, L_INF, LIMITS, LIMITS_INF, run
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.papers.purification.experiments.symmetric_measures import penalty, wrong
from karat.papers.purification.figures.limits import draw_limits
from karat.reductions.symmetric import batch_at, reduce, step
from karat.study.claim import judge_claim
from karat.study.experiment import cells
from karat.study.registry import get_statement
from karat.study.run import read_runs
from karat.training.odd import OddTrainer, ProportionalNoise, RelativeStep

FEW = {
    "batch": 8,
    "n_test": 50,
    "n_moved": 20,
    "n_attack": 10,
    "n_linear": 1,
    "clean_steps": 5,
    "robust_time": 0.05,
}


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_the_same_seed_gives_the_same_result_at_a_billion_dimensions():
    config = replace(BASE, d=10**9, **FEW)
    assert run(config, generator()) == run(config, generator())


def test_without_adversarial_training_the_robust_net_is_the_clean_one():
    result = run(replace(BASE, **FEW | {"robust_time": 0.0}), generator())
    assert result.movement == 0.0
    assert (result.robust.alpha, result.robust.beta) == (result.clean.alpha, result.clean.beta)
    assert result.robust_objective > 0


def test_without_any_training_there_is_no_mixture():
    result = run(replace(BASE, **FEW | {"clean_steps": 0, "robust_time": 0.0}), generator())
    assert result.clean.law == 0.0
    assert result.clean.alpha == 1.0


def test_certificates_are_never_below_attacks(records):
    for experiment in (LIMITS, LIMITS_INF):
        for cell in read_runs(experiment, records(experiment.name)):
            for net in (cell.result.start, cell.result.clean, cell.result.robust):
                assert net.attacked <= net.certified


@pytest.mark.slow
def test_theorems_over_d_are_inside_their_hypotheses(records):
    for check in CHECKS:
        claim = judge_claim(get_statement(check.claim_id), check, records(check.name), "tiny")
        unmet = [text for text in claim.hypotheses_unmet if "T_f >=" not in text and "T_g >=" not in text]
        assert unmet == [], check.claim_id  # tiny trains for a shorter time


def test_the_figure_shows_every_dimension(records):
    (picture,) = draw_limits(read_runs(LIMITS, records("purification.limits")))
    assert len(picture.figure.axes) == 3
    assert len(picture.figure.axes[0].lines[0].get_xdata()) == 3


def test_the_largest_sparsity_is_the_theorem_s_own():
    config = PureStartConfig(d=10**8)
    bound = config.d ** (1 - 2 * config.c0) / math.log(config.d)
    assert config.sparsity**2.5 <= bound < (config.sparsity + 1) ** 2.5
    assert config.has_window
    assert not PureStartConfig(d=10**6).has_window


def test_the_penalty_is_that_of_the_lifted_net():
    config = PureStartConfig(d=30, k=4, small_rate=0.5)
    net = config.problem(0).start.replace(beta=0.1, gamma=0.2, hubs=3)
    rows = net.lift(torch.eye(30, dtype=torch.float64), torch.ones(30)).W.norm(dim=1)
    total = float((rows**2 / 2 + rows**3 / 3).sum())
    assert penalty(config, net) == pytest.approx(config.scaled_decay / 30 * total)


def test_zero_counts_as_plus_one():
    assert wrong(np.array([0.0, 0.0, 1.0, -1.0]), np.array([1.0, -1.0, 1.0, 1.0])).tolist() == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 2 * 10**8}, "`k` of `purification.limits` must be at most `d` = 100000000"),
        ({"p": 1}, "`p` of `purification.limits` must be 2 or inf, got 1"),
        ({"sigma_x": 0.1}, "is not exact here: with input noise a point is no longer told by its few"),
        ({"w_star": "spread"}, "is not exact here: label weights of different sizes tell the features apart"),
        (
            {"p": math.inf, "dictionary": "hadamard"},
            "an l_inf ball treats features alike only along the axes",
        ),
        ({"dictionary": "incoherent"}, "features that are not orthogonal see one another"),
        ({"radius_power": -1}, "`radius_power` of `purification.limits`"),
    ],
)
def test_settings_outside_the_reduction_get_one_line(settings, message):
    with pytest.raises(ValueError, match=message) as caught:
        cells(LIMITS, "tiny", 1, settings)
    assert "\n" not in str(caught.value)


def test_training_that_overshoots_is_recorded_as_diverged():
    cell = cells(LIMITS_INF, "tiny", 1, FEW | {"d": 10**8, "robust_share": 1e12, "step": 1e12})[0]
    record = execute(cell)
    assert record.status == "diverged"
    assert "step" in (record.error or "")


@pytest.mark.slow
def test_plain_runs_in_d_dimensions_approach_the_reduction_as_the_batch_grows():
    """The full step on a batch, not averaged over permutations, scatters around the reduced one by n^-1/2.

    In fifty repetitions the slope from eight draws each had a standard deviation below 0.02.
    """
    config = PureStartConfig(d=60, k=6, small_rate=0.5, bias_power=1.0, decay_power=0.5, step=0.2)
    trainer = OddTrainer(step=RelativeStep(size=0.2), decay=0.05, noise=ProportionalNoise(ratio=0.1))
    sizes, spread = (64, 512, 4096), []
    for n in sizes:
        distances = []
        for seed in range(8):
            problem = replace(config.problem(seed), trainer=trainer, batch=n)
            state = reduce(problem)
            net = state.net.lift(problem.model.M, problem.model.w_star)
            points = batch_at(problem, 0)
            places = points.positions(np.random.default_rng(seed))
            x = torch.from_numpy(points.dense(places)) * problem.model.w_star
            full = trainer.advance(net, x, torch.from_numpy(points.label), 0)
            reduced = step(state).net.lift(problem.model.M, problem.model.w_star)
            distances.append(float((full.W - reduced.W).norm()))
        spread.append(np.mean(distances))
    slope = np.polyfit(np.log(sizes), np.log(spread), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.15)


def test_the_printed_l_inf_radius_is_that_of_the_theorem():
    assert L_INF.tau <= L_INF.sparsity ** -(1.75 + 2 * L_INF.c0)
    assert Ball(L_INF.p, L_INF.tau).p == math.inf
