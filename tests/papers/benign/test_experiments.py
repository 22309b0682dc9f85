"""What the benign experiments measure, and malformed settings."""

import pytest
import torch

from karat.lab.execute import execute
from karat.papers.benign.experiments import curves
from karat.papers.benign.experiments.evaluation import evaluation_steps
from karat.papers.benign.experiments.exact import draw_problem, train
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.claim import judge_claim
from karat.study.experiment import cells
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement


@pytest.mark.slow
def test_headline_theorem_is_out_of_regime_and_keeps_its_numbers(records) -> None:
    check = CHECKS["benign.thm3.1.3"]
    claim = judge_claim(get_statement(check.claim_id), check, records("benign.boundary"), "tiny")
    assert claim.verdict == "out of regime"
    assert any("Asm 1(1)" in sentence for sentence in claim.hypotheses_unmet)
    assert claim.measured is not None


def test_same_seed_gives_the_same_record() -> None:
    cell = cells(EXPERIMENTS["benign.sec5"], "tiny", 1, {"steps": 10})[0]
    first, second = execute(cell), execute(cell)
    assert first.values == second.values


def test_equal_seeds_share_noise_across_signals() -> None:
    noise = []
    for mu in (1.0, 9.0):
        config = MixtureConfig(d=6, n=5, m=4, mu=mu, ratio=0.1, flip_rate=0.1, start="pytorch", steps=1)
        samples = config.mixture().sample(5, generator=torch.Generator().manual_seed(0))
        noise.append(samples.x - samples.y_clean.unsqueeze(1) * config.mixture().mu)
    assert torch.allclose(noise[0], noise[1], atol=1e-12)


def test_huge_learning_rate_is_recorded_as_diverged() -> None:
    record = execute(cells(EXPERIMENTS["benign.sec5"], "tiny", 1, {"lr": 1e30})[0])
    assert record.status == "diverged"
    assert "diverged at step" in (record.error or "")


def _config(**changes: object) -> MixtureConfig:
    base = {
        "d": 40,
        "n": 12,
        "m": 8,
        "mu": 3.0,
        "ratio": 0.2,
        "flip_rate": 0.1,
        "start": "pytorch",
        "steps": 15,
    }
    return MixtureConfig(**(base | changes))  # type: ignore[arg-type]


def test_odd_width_is_refused_for_the_symmetric_start() -> None:
    with pytest.raises(ValueError, match="must be even for the symmetric start, got 5"):
        _config(m=5, start="symmetric")


def test_exact_engine_is_refused_for_other_norms() -> None:
    with pytest.raises(ValueError, match="cannot be exact for p = inf"):
        _config(engine="exact", p=float("inf"))
    assert not _config(p=float("inf")).exact


@pytest.mark.parametrize(
    ("experiment", "setting", "value"),
    [
        ("benign.sec5", "flip_rate", 0.5),
        ("benign.sec5", "mu", 0.0),
        ("benign.lemmas", "engine", "warp"),
        ("benign.lemmas", "m", 3),
        ("benign.fig4", "evaluations", 0),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_experiment(
    experiment: str, setting: str, value: object
) -> None:
    with pytest.raises(ValueError, match=f"`{setting}` of `{experiment}` must be"):
        cells(EXPERIMENTS[experiment], "tiny", 1, {setting: value})


@pytest.mark.parametrize("start", ["pytorch", "symmetric"])
def test_exact_run_equals_the_plain_trainer_on_the_same_problem(start: str) -> None:
    config = _config(start=start, precision="float64", draw="input", attack_first=start == "pytorch")
    problem = draw_problem(config, torch.Generator().manual_seed(1))
    fast = train(config, problem)
    plain = config.trainer().run(problem.net, problem.x, problem.y, steps=config.steps)
    G = plain.net.W @ plain.net.W.T
    assert torch.allclose(fast.final.gram.G, G, rtol=1e-10, atol=1e-13)
    assert torch.allclose(fast.final.tracked, problem.mu @ plain.net.W.T, rtol=1e-10, atol=1e-13)


def test_plain_engine_runs_other_norms() -> None:
    result = curves.run(_config(p=float("inf"), ratio=0.02, n_test=50), torch.Generator().manual_seed(0))
    assert 0 <= result.final.robust_error <= 1
    assert result.final.certified_error is None


def test_robust_error_lies_inside_its_bracket() -> None:
    for seed in range(3):
        final = curves.run(_config(steps=60, n_test=300), torch.Generator().manual_seed(seed)).final
        assert final.certified_error is not None
        assert final.clean_error <= final.robust_error <= final.certified_error


def test_a_million_dimensions_cost_what_a_thousand_do() -> None:
    result = curves.run(_config(d=10**6, mu=30.0, lr=1e-3), torch.Generator().manual_seed(0))
    assert result.final.train_loss > 0


@pytest.mark.parametrize("cluster", ["truncated", "quartic", "admissible_gaussian"])
@pytest.mark.parametrize("flips", ["correlated", "boundary"])
def test_every_cluster_law_and_flip_model_runs(cluster: str, flips: str) -> None:
    config = _config(cluster=cluster, flips=flips, n_test=50, steps=3)
    assert 0 <= curves.run(config, torch.Generator().manual_seed(0)).final.clean_error <= 1


@pytest.mark.slow
def test_span_draws_have_the_law_of_input_draws() -> None:
    """Mean squared norms and alignments, 200 draws each: six standard errors, a false alarm once in 10^8."""
    found = {}
    for way in ("input", "span"):
        config = _config(d=100, start="symmetric", init_scale=1.0, attack_first=False, draw=way)
        rows = []
        for seed in range(200):
            problem = draw_problem(config, torch.Generator().manual_seed(seed))
            inner = problem.x @ problem.net.W.T
            rows.append(
                [
                    float(problem.x.square().sum()),
                    float(inner.square().sum()),
                    float(problem.mu @ problem.x[0]),
                ]
            )
        found[way] = torch.tensor(rows)
    gap = found["input"].mean(dim=0) - found["span"].mean(dim=0)
    error = (found["input"].var(dim=0) / 200 + found["span"].var(dim=0) / 200).sqrt()
    assert bool((gap.abs() < 6 * error).all())


def test_evaluation_steps_contain_the_ends_and_the_first_step() -> None:
    for steps in (1, 2, 7, 1000):
        grid = evaluation_steps(steps, 12)
        assert grid[0] == 0
        assert grid[-1] == steps
        assert 1 in grid
        assert grid == sorted(set(grid))
