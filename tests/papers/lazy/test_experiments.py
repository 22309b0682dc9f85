"""What the lazy experiments measure, and malformed settings."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from karat.lab.execute import execute
from karat.nets import init
from karat.papers.lazy.bounds import sign_change_bound
from karat.papers.lazy.experiments import (
    adversarial,
    adversarial_training,
    change,
    every_net,
    flip_length,
    subset,
    worst,
)
from karat.papers.lazy.experiments.digits import Digits
from karat.papers.lazy.experiments.lemmas import can_switch_nearby
from karat.papers.lazy.experiments.smallest_flips import smallest_flips
from karat.papers.lazy.experiments.start import draw_start
from karat.probes.weight_adversary import smallest_gradient
from karat.reductions.in_law import draw_plane_start, largest_margins
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


class TestEveryNet:
    @staticmethod
    def start(number):
        return draw_plane_start(64, 5000, generator=torch.Generator().manual_seed(number))

    @pytest.mark.parametrize("y", [-1, 1])
    def test_the_radius_is_where_the_best_net_of_the_ball_loses(self, y):
        """Against a scan of the walk, at most a hundredth too long."""
        walks = torch.linspace(0, every_net.FARTHEST, 4001).tolist()
        for number in range(10):
            start = self.start(number)
            radius = every_net.defeating_radius(start, 1.0, y)
            margins = largest_margins(start, y, walks, [1 / math.sqrt(5000)] * len(walks))
            lost = next(walk for walk, margin in zip(walks, margins, strict=True) if margin <= 0)
            first = lost / math.hypot(1, lost)
            assert first - 1e-3 <= radius <= 1.01 * first + 1e-9

    def test_a_larger_ball_is_defeated_later_and_no_ball_at_all_never(self):
        for number in range(5):
            start = self.start(number)
            radii = [every_net.defeating_radius(start, C0) for C0 in (0.0, 1.0, 2.0, 30.0, math.inf)]
            assert radii == sorted(radii)
            assert radii[3] == math.inf
            assert radii[0] == 0 or radii[0] < radii[2]

    def test_an_input_that_every_net_gets_wrong_needs_no_step(self):
        values = [self.start(number) for number in range(10)]
        wrong = [start for start in values if start.value < -1]
        assert wrong
        assert all(every_net.defeating_radius(start, 0.5) == 0 for start in wrong)


def test_the_certified_gradient_is_below_what_any_adversary_finds():
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        x = torch.nn.functional.normalize(torch.randn(100, generator=generator), dim=0)
        net = draw_start(100, 400, "gaussian", generator=generator)
        for C0 in (0.0, 0.5, 2.0):
            radius = C0 / 20
            assert worst.gradient_floor(net, x, radius) <= smallest_gradient(net, x, radius) + 1e-4
    value, gradient = net.value_and_input_gradient(x.unsqueeze(0))
    across = torch.linalg.vector_norm(gradient[0] - value * x)
    assert worst.gradient_floor(net, x, 0.0) == pytest.approx(float(across), rel=1e-4)


def test_the_ceiling_is_above_every_subset():
    rows = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    masks = torch.tensor(list(itertools.product((0.0, 1.0), repeat=8)))
    largest = float(torch.linalg.vector_norm(masks @ rows, dim=1).max())
    assert largest <= subset.subset_ceiling(rows) <= 2 * largest
    assert subset.subset_ceiling(rows[:0]) == 0.0


def test_rows_on_their_kink_stay_inside_the_ball():
    generator = torch.Generator().manual_seed(0)
    x = torch.nn.functional.normalize(torch.randn(9, generator=generator), dim=0)
    start = draw_start(9, 300, "gaussian", generator=generator)
    net = change.on_kink(start, x, 0.2)
    assert float(torch.linalg.vector_norm(net.W - start.W, dim=1).max()) <= 0.2 + 1e-6
    assert int(((net.W @ x).abs() < 1e-5).sum()) == int(((start.W @ x).abs() <= 0.2).sum()) > 10


def test_fresh_starts_are_independent_and_one_start_is_shared():
    config = worst.WorstConfig(d=9, m=64, C0=1.0, points=2, steps=2, gradients=1)
    shared, fresh = (
        worst.run(replace(config, fresh_starts=flag), torch.Generator().manual_seed(0))
        for flag in (False, True)
    )
    assert shared.start_value[0] == pytest.approx(fresh.start_value[0], rel=1e-5)
    assert shared.start_value[1] != pytest.approx(fresh.start_value[1], rel=1e-3)
    assert len(fresh.smallest_gradient) == len(fresh.gradient_floor) == 1
