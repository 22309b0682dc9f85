"""What the lazy experiments measure, and malformed settings."""

import math
from dataclasses import replace

import pytest
import torch

from karat.lab.execute import execute
from karat.nets import init
from karat.papers.lazy.bounds import sign_change_bound
from karat.papers.lazy.experiments import adversarial, adversarial_training, flip_length
from karat.papers.lazy.experiments.digits import Digits
from karat.papers.lazy.experiments.lemmas import can_switch_nearby
from karat.papers.lazy.experiments.smallest_flips import smallest_flips
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS


def test_zero_padding_changes_nothing_but_the_dimension():
    small = Digits(side=7, source="embedded").load(train=False, dtype=torch.float64)
    large = Digits(side=12, source="embedded", padded_from=7).load(train=False, dtype=torch.float64)
    assert large.x.shape[1] == 144
    assert torch.allclose(small.x @ small.x.T, large.x @ large.x.T)


def test_wide_runs_stay_within_memory():
    """m = 20,000 at d = 784 holds two copies of W (126 MB) and small tables, not many m x d temporaries."""
    cell = cells(EXPERIMENTS["lazy.fig5"], "tiny", 1, {"side": 28, "m": 20_000, "max_steps": 3, "n_test": 4})[
        0
    ]
    record = execute(cell)
    assert record.status == "done"
    assert record.peak_memory_mb < 1500


def test_the_exact_flip_is_shorter_than_any_scanned_one():
    net = init.gaussian(20, 100, generator=torch.Generator().manual_seed(0), dtype=torch.float32)
    x = torch.nn.functional.normalize(torch.randn(6, 20, generator=torch.Generator().manual_seed(1)), dim=1)
    length, gradient, step = smallest_flips(net, x)
    assert torch.allclose(length, step * gradient, rtol=1e-5)
    f, g = net.value_and_input_gradient(x)
    for share in torch.linspace(0.05, 0.99, 30):
        moved = x - (share * step.float() * torch.sign(f)).unsqueeze(1) * g
        assert bool((torch.sign(net(moved)) == torch.sign(f)).all())


@pytest.mark.parametrize(
    ("name", "overrides", "message"),
    [
        ("lazy.fig5", {"classes": "3,3"}, "must be two different digits"),
        ("lazy.fig5", {"classes": "0,12"}, "must be two different digits"),
        ("lazy.fig5", {"C0": "20,10"}, "increasing numbers"),
        ("lazy.fig5", {"C0": "nan"}, "`C0` of `lazy.fig5` must be a finite number > 0"),
        ("lazy.fig5", {"C0": ""}, "`C0` of `lazy.fig5` must hold at least 1 values"),
        ("lazy.padding", {"padded_from": 40}, "`padded_from` of `Digits` must be at most"),
        ("lazy.padding", {"padded_from": 0}, "`padded_from` of `lazy.padding` must be a whole number >= 1"),
        ("lazy.alg1", {"c": 30}, "where the radius c/side is |x| = 1"),
        ("lazy.alg1", {"n": 1}, "`n` of `lazy.alg1` must be a whole number >= 2, got 1"),
        ("lazy.alg1", {"C0": 0}, "`C0` of `lazy.alg1` must be a finite number > 0"),
        ("lazy.worst", {"C0": -1}, "`C0` of `lazy.worst` must be a finite number >= 0"),
        ("lazy.worst", {"scales": "1,0"}, "`scales` of `lazy.worst` must be a finite number > 0"),
        ("lazy.subset", {"p_fail": 1}, "`p_fail` of `lazy.subset` must be a finite number > 0 and < 1"),
        ("lazy.subset", {"d": 1}, "`d` of `lazy.subset` must be a whole number >= 2"),
    ],
)
def test_malformed_settings_are_answered_in_one_line(name, overrides, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        cells(EXPERIMENTS[name], "tiny", 1, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_trajectory_measures_the_last_net_of_every_ball():
    """The snapshot of a ball is the net that training with this ball alone would have returned."""
    config = replace(flip_length.TINY, C0=(4.0, 6.0, 9.0), max_steps=2000)
    together = flip_length.run(config, torch.Generator().manual_seed(3))
    assert together.left == [True] * 3
    assert together.steps == sorted(together.steps)
    for index, C0 in enumerate(config.C0):
        alone = flip_length.run(replace(config, C0=(C0,)), torch.Generator().manual_seed(3))
        for name in ("steps", "perturbation", "gradient", "step", "test_error"):
            assert getattr(alone, name)[0] == getattr(together, name)[index]


def test_counted_neurons_switch_by_explicit_moves_and_outnumber_the_printed_bound():
    """A delta of length tau towards the kink and a row moved by V there: the sign of every one changes."""
    m, d, C0 = 1000, 196, 10.0
    V, tau = C0 / math.sqrt(m), 1 / math.sqrt(d)
    g = torch.Generator().manual_seed(0)
    W = torch.randn(m, d, generator=g, dtype=torch.float64)
    x = torch.nn.functional.normalize(torch.randn(d, generator=g, dtype=torch.float64), dim=0)
    z = W @ x
    counted = torch.flatten(can_switch_nearby(W, z.unsqueeze(0), tau, V)[0].nonzero())
    assert len(counted) > sign_change_bound(m, V, 0.1, tau)
    for s in counted.tolist():
        w, length = W[s], torch.linalg.vector_norm(W[s])
        delta = -torch.sign(z[s]) * min(tau, abs(float(z[s])) / float(length) * (1 - 1e-9)) * w / length
        p = x + delta
        row = w - torch.sign(z[s]) * V * (1 + 1e-9) * p / torch.linalg.vector_norm(p)
        assert bool((w @ p > 0) != (row @ p > 0))


def test_certified_single_steps_land(records):
    for record in records("lazy.lemmas"):
        assert record.values["landed"] in (1.0, None)


def test_an_empty_digit_class_is_named():
    digits = Digits(side=5, source="embedded")
    with pytest.raises(ValueError, match=r"the digit class [01] is empty among the 1 training images"):
        digits.draw(1, train=True, generator=torch.Generator(), dtype=torch.float32)
    with pytest.raises(ValueError, match="100000 training images were asked for"):
        digits.draw(100_000, train=True, generator=torch.Generator(), dtype=torch.float32)


def test_training_without_projection_may_leave_the_ball():
    config = replace(adversarial.TINY, c=2.0, C0=0.5)
    inside = adversarial_training.run(config, torch.Generator().manual_seed(0))
    outside = adversarial_training.run(replace(config, C0=float("inf")), torch.Generator().manual_seed(0))
    assert inside.movement_max <= 0.5 + 1e-4 < outside.movement_max
