"""What the purification experiments measure, and malformed settings."""

import math
from dataclasses import replace

import pytest
import torch

from karat.claims import CHECKS, get_statement, judge_claim
from karat.core.divergence import Diverged
from karat.experiments import EXPERIMENTS
from karat.experiments.experiment import cells
from karat.experiments.purification.evaluate import require_awake
from karat.experiments.purification.l2 import J
from karat.experiments.purification.regime import Regime, split
from karat.lab.execute import execute
from karat.training.odd import GrowingBias, TwoStageBias


def test_theorems_at_finite_size_are_out_of_regime_with_their_numbers(records):
    check = CHECKS["purification.thm5.3b"]
    claim = judge_claim(get_statement(check.claim_id), check, records("purification.l2"), "tiny")
    assert claim.verdict == "out of regime"
    assert any("full-batch" in sentence for sentence in claim.hypotheses_unmet)
    assert claim.measured is not None


def test_same_seed_gives_the_same_record():
    cell = cells(EXPERIMENTS["purification.pureinit"], "tiny", 1, {"clean_steps": 5, "robust_steps": 5})[0]
    assert execute(cell).values == execute(cell).values


def test_exploding_training_is_recorded_as_diverged():
    cell = cells(EXPERIMENTS["purification.scaling"], "tiny", 1, {"step": 1e30})[0]
    record = execute(cell)
    assert record.status == "diverged"
    assert "diverged at step" in (record.error or "")


def test_collapsed_net_is_never_counted_as_robust():
    model = J.draw_model(torch.Generator().manual_seed(0))
    asleep = J.draw_net(model, torch.Generator().manual_seed(1)).replace(b=torch.tensor(-10.0))
    with pytest.raises(Diverged, match="collapsed, no neuron wakes on 100%"):
        require_awake(asleep, model.sample(50, generator=torch.Generator(), dtype=torch.float32).x, 7)


def test_equal_seeds_share_model_and_test_points_across_settings():
    def drawn(config: Regime) -> torch.Tensor:
        draws = split(torch.Generator().manual_seed(3), 2)
        return config.draw_model(draws[0]).sample(5, generator=draws[1]).x

    assert torch.equal(drawn(J), drawn(replace(J, clean_steps=5, tau_factor=0.1)))


def test_schedules_are_named_strategies():
    assert isinstance(J.bias(), TwoStageBias)
    paper = replace(J, schedule="paper", decay=None)
    assert isinstance(paper.bias(), GrowingBias)
    assert paper.bias()(0.0, 1e9) == pytest.approx(30**-0.5001)
    assert paper.lam == pytest.approx(math.log(math.log(math.log(200))))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 300}, "`k` of `Regime` must be at most `d` = 200, got 300"),
        ({"p": 1.0}, "`p` of `Regime` must be 2 or inf, got 1"),
        ({"ramp": 2.0}, "`ramp` of `Regime` must be a finite number"),
        ({"clean_steps": -1}, "`clean_steps` of `Regime` must be a whole number >= 0"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        replace(J, **settings)
