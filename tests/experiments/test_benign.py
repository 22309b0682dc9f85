"""The benign experiments at their tiny size, and the checks that read them."""

from functools import cache

import torch

from karat.claims import CHECKS, get_statement, judge_claim
from karat.experiments import EXPERIMENTS
from karat.experiments.benign.mixture import Config, evaluation_steps
from karat.experiments.experiment import cells
from karat.lab.execute import execute


@cache
def _records(name: str, **overrides: object) -> list:
    return [execute(cell) for cell in cells(EXPERIMENTS[name], "tiny", 2, overrides)]


def test_every_check_reads_the_records_of_its_experiment() -> None:
    for check in CHECKS.values():
        if check.claim_id.startswith("benign"):
            claim = judge_claim(get_statement(check.claim_id), check, _records(check.experiment), "tiny")
            assert claim.verdict is not None, check.claim_id
            assert claim.measured is not None, check.claim_id
            assert claim.seeds == 2


def test_headline_theorem_is_out_of_regime_and_keeps_its_numbers() -> None:
    check = CHECKS["benign.thm3.1.3"]
    claim = judge_claim(get_statement(check.claim_id), check, _records("benign.thm3.1"), "tiny")
    assert claim.verdict == "out of regime"
    assert any("Asm 1(1)" in sentence for sentence in claim.hypotheses_unmet)
    assert claim.measured is not None
    assert claim.interval is not None


def test_same_seed_gives_the_same_record() -> None:
    cell = cells(EXPERIMENTS["benign.sec5"], "tiny", 1, {"steps": 10})[0]
    first, second = execute(cell), execute(cell)
    assert first.values == second.values


def test_equal_seeds_share_noise_across_signals() -> None:
    noise = []
    for mu in (1.0, 9.0):
        config = Config(d=6, n=5, m=4, mu=mu, ratio=0.1, flip_rate=0.1, start="pytorch", steps=1)
        samples = config.mixture().sample(5, generator=torch.Generator().manual_seed(0))
        noise.append(samples.x - samples.y_clean.unsqueeze(1) * config.mixture().mu)
    assert torch.allclose(noise[0], noise[1], atol=1e-12)


def test_huge_learning_rate_is_recorded_as_diverged() -> None:
    (record, *_) = _records("benign.sec5", lr=1e30)
    assert record.status == "diverged"
    assert "diverged at step" in (record.error or "")


def test_odd_width_is_refused_for_the_symmetric_start() -> None:
    try:
        Config(d=6, n=5, m=5, mu=1.0, ratio=0.1, flip_rate=0.1, start="symmetric", steps=1)
    except ValueError as error:
        assert "must be even" in str(error)
    else:
        raise AssertionError("an odd width was accepted")


def test_evaluation_steps_contain_the_ends_and_the_first_step() -> None:
    for steps in (1, 2, 7, 1000):
        grid = evaluation_steps(steps, 12)
        assert grid[0] == 0
        assert grid[-1] == steps
        assert 1 in grid
        assert grid == sorted(set(grid))
