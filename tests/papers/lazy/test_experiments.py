"""What the lazy experiments measure, and malformed settings."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from scipy import stats

from karat.lab.execute import execute
from karat.nets import init
from karat.papers.lazy.bounds import sign_change_bound
from karat.papers.lazy.experiments import (
    adversarial,
    adversarial_training,
    change,
    every_net,
    flip_length,
    gradient_size,
    one_point,
    subset,
    worst,
)
from karat.papers.lazy.experiments.digits import Digits
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
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system does not tell how much memory a process holds now")
    settings = {"side": 28, "m": 20_000, "max_steps": 3, "n_test": 4}
    cell = cells(EXPERIMENTS["lazy.fig5"], "tiny", 1, settings)[0]
    held = (
        int(status.read_text().split("VmRSS:")[1].split()[0]) / 1024
    )  # by earlier tests of this process, too
    record = execute(cell)
    assert record.status == "done"
    assert record.peak_memory_mb - held < 500


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
    lengths = torch.linalg.vector_norm(W, dim=1)
    counted = torch.flatten(one_point.can_switch_nearby(z, lengths, tau, V).nonzero())
    assert len(counted) > sign_change_bound(m, V, 0.1, tau)
    for s in counted.tolist():
        w, length = W[s], torch.linalg.vector_norm(W[s])
        delta = -torch.sign(z[s]) * min(tau, abs(float(z[s])) / float(length) * (1 - 1e-9)) * w / length
        p = x + delta
        row = w - torch.sign(z[s]) * V * (1 + 1e-9) * p / torch.linalg.vector_norm(p)
        assert bool((w @ p > 0) != (row @ p > 0))


class TestOnePoint:
    M, D, TAU = 400, 12, 0.3

    def start(self):
        """A start with a unit x along the first axis and delta along the second."""
        net = draw_start(self.D, self.M, "gaussian", generator=torch.Generator().manual_seed(0))
        return net.replace(W=net.W.double(), a=net.a.double())

    def nets(self, start, radius, count=40):
        """Nets of the ball, random ones and those that move along x or delta."""
        generator = torch.Generator().manual_seed(1)
        for _ in range(count):
            moves = torch.randn(self.M, self.D, generator=generator, dtype=torch.float64)
            moves[:, 2:] *= torch.rand(1, generator=generator).item()
            yield start.replace(W=start.W + radius * torch.nn.functional.normalize(moves, dim=1))

    def test_the_supremum_is_reached_and_never_passed(self):
        start = self.start()
        x = torch.zeros(1, self.D, dtype=torch.float64)
        x[0, 0] = 1
        sums = one_point.value_sums(start.W[:, 0], start.a, 0.1)
        assert sums["value"] * start.scale == pytest.approx(float(start(x)))
        for net in self.nets(start, 0.1):
            assert sums["down"] <= float(net(x)) / start.scale <= sums["up"]
        for sign, end in ((1, "up"), (-1, "down")):
            best = start.replace(W=start.W + 0.1 * sign * torch.outer(start.a, x[0]))
            assert float(best(x)) / start.scale == pytest.approx(sums[end])

    def test_no_net_of_the_ball_changes_its_gradient_by_more(self):
        start = self.start()
        x = torch.zeros(1, self.D, dtype=torch.float64)
        x[0, 0] = 1
        moved = x.clone()
        moved[0, 1] = self.TAU

        def change(net):
            difference = net.input_gradient(x) - net.input_gradient(moved)
            return float(difference[0, 1]) / net.scale

        def sums(radius):
            return one_point.change_sums(start.W[:, 0], start.W[:, 1], start.a, self.TAU, radius)

        assert sums(0.0)["change"] == pytest.approx(change(start))
        assert sums(0.0)["largest_change"] == pytest.approx(change(start))
        for radius in (0.05, 0.5):
            assert all(change(net) <= sums(radius)["largest_change"] for net in self.nets(start, radius))

    def test_batches_make_no_difference(self, monkeypatch):
        config = one_point.OnePointConfig(d=20, m=5000, draws=30)
        whole, parts = (one_point.run(config, torch.Generator().manual_seed(seed)) for seed in (0, 1))
        monkeypatch.setattr(one_point, "BATCH", 700)
        parts = one_point.run(config, torch.Generator().manual_seed(1))
        # Six standard errors of the mean of 30 binomial counts.
        share = math.erf(config.weight_radius / math.sqrt(2))
        error = math.sqrt(5000 * share * (1 - share) / 30)
        for result in (whole, parts):
            assert abs(sum(result.can_switch) / 30 - 5000 * share) < 6 * error
        assert parts.neurons == 700


class TestGradientSize:
    D, M, V = 9, 300, 0.15

    def start(self, generator, V=0.15):
        """A start, and what gradients of the ball at the first axis depend on, read off its matrix."""
        net = draw_start(self.D, self.M, "gaussian", generator=generator)
        signed, z = net.a.unsqueeze(1) * net.W, net.W[:, 0]
        far, near = z > V, z.abs() <= V
        kink = gradient_size.NearKink(
            far=signed[far, 1:].sum(dim=0),
            far_count=int(far.sum()),
            far_value=float(signed[far, 0].sum()),
            rows=signed[near, 1:],
            active=z[near] > 0,
        )
        return net, kink

    def test_the_net_that_is_told_of_lies_in_the_ball(self):
        """The best subset of the last round, built row by row, has the gradient that was promised."""
        for seed in range(5):
            net, kink = self.start(torch.Generator().manual_seed(seed))
            opened = kink.rows.sum(dim=0) / 2
            promised = gradient_size.reached_gradient(kink, self.V, rounds=1)
            chosen = kink.rows @ (kink.far + opened) < 0
            total = torch.cat([torch.tensor([kink.far_value]), kink.far + kink.rows[chosen].sum(dim=0)])
            share = min(1.0, float(torch.linalg.vector_norm(total)) / (self.V * kink.far_count))
            W, z = net.W.clone(), net.W[:, 0]
            far, near = z > self.V, z.abs() <= self.V
            against = -share * self.V * torch.nn.functional.normalize(total, dim=0)
            W[far] += net.a[far].unsqueeze(1) * against
            W[near, 0] = torch.where(chosen, 1e-6, -1e-6)  # within V of where they were
            assert float(torch.linalg.vector_norm(W - net.W, dim=1).max()) <= self.V + 1e-5
            x = torch.eye(self.D)[:1]
            gradient = net.replace(W=W).input_gradient(x) / net.scale
            assert float(torch.linalg.vector_norm(gradient)) == pytest.approx(promised, abs=1e-2)

    @staticmethod
    def floor(kink, radius):
        """The certificate from rows: half of all ones and half of a sign vector."""
        norm = torch.linalg.matrix_norm(kink.rows, 2) if len(kink.rows) else 0.0
        centre = torch.linalg.vector_norm(kink.far + kink.rows.sum(dim=0) / 2)
        moved = radius * (kink.far_count + len(kink.rows))
        return max(0.0, float(centre - math.sqrt(len(kink.rows)) * norm / 2 - moved))

    def test_the_floor_is_below_what_any_adversary_finds(self):
        for seed in range(5):
            for radius in (0.0, 0.02, 0.15):
                net, kink = self.start(torch.Generator().manual_seed(seed), radius)
                found = smallest_gradient(net, torch.eye(self.D)[0], radius) / net.scale
                reached = gradient_size.reached_gradient(kink, radius)
                assert self.floor(kink, radius) <= min(found, reached) + 1e-3

    def test_the_law_is_that_of_a_matrix(self):
        """False alarm 1e-6: a Kolmogorov test of 300 starts."""
        generator = torch.Generator().manual_seed(0)
        radius = 0.02
        drawn = [
            gradient_size.draw_near_kink(self.D, self.M, radius, generator=generator) for _ in range(300)
        ]
        read = [self.start(generator, radius)[1] for _ in range(300)]
        two = [[gradient_size.reached_gradient(one, radius) for one in side] for side in (drawn, read)]
        assert stats.ks_2samp(*two).pvalue > 1e-6

    @pytest.mark.parametrize("radius", [0.0, 0.02, 0.15])
    def test_floors_without_rows_have_the_same_law(self, radius):
        """False alarm 3e-6."""
        generator = torch.Generator().manual_seed(0)
        drawn = [gradient_size.draw_floor(self.D, self.M, radius, generator=generator) for _ in range(300)]
        read = [self.floor(self.start(generator, radius)[1], radius) for _ in range(300)]
        assert stats.ks_2samp(drawn, read).pvalue > 1e-6

    def test_at_the_least_dimension_of_the_repaired_lemma_every_floor_suffices(self):
        """d = 20 log(8/p_fail) and C0 = sqrt(d)/10 at p_fail = 0.1."""
        generator = torch.Generator().manual_seed(0)
        d, m = 88, 46_356
        radius = math.sqrt(d) / 10 / math.sqrt(m)
        floors = [gradient_size.draw_floor(d, m, radius, generator=generator) for _ in range(200)]
        assert min(floors) / math.sqrt(m) >= math.sqrt(d) / 4

    def test_sizes_beyond_memory_are_refused_in_one_sentence(self):
        with pytest.raises(ValueError, match="rows that can switch would take"):
            gradient_size.GradientSizeConfig(d=10**9, m=10**6, C0=1.0)

    def test_short_rows_have_gradients_of_order_one(self):
        config = gradient_size.GradientSizeConfig(d=400, m=2000, C0=0.0, draws=20, rows="unit")
        sizes = gradient_size.run(config, torch.Generator().manual_seed(0)).at_start
        assert sum(sizes) / len(sizes) == pytest.approx(0.5**0.5, rel=0.05)


def test_the_ceiling_of_the_gradient_change_is_above_what_nets_of_the_ball_show():
    generator = torch.Generator().manual_seed(0)
    start = draw_start(10, 200, "gaussian", generator=generator)
    x = torch.nn.functional.normalize(torch.randn(10, generator=generator), dim=0)
    for radius, tau in ((0.0, 0.2), (0.3, 0.5)):
        ceiling = change.change_ceiling(start, x, tau, radius)
        for _ in range(30):
            moves = torch.nn.functional.normalize(torch.randn(200, 10, generator=generator), dim=1)
            net = start.replace(W=start.W + radius * moves)
            delta = tau * torch.nn.functional.normalize(torch.randn(10, generator=generator), dim=0)
            points = torch.stack([x, x + delta])
            first, second = net.input_gradient(points)
            assert float(torch.linalg.vector_norm(first - second)) <= ceiling
    assert change.change_ceiling(start, x, 0.0, 0.0) == 0.0


def test_starts_beyond_memory_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match="W0 would take"):
        change.ChangeConfig(d=10**5, m=10**6)


def test_certified_single_steps_land(records):
    for record in records("lazy.single-step"):
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

    def test_a_ball_that_reaches_a_robust_net_is_never_defeated(self):
        """Rows are almost surely below sqrt d + 4.8 = 12.8 here; V = C0/10."""
        config = every_net.EveryNetConfig(d=64, m=100, C0=(127.0, 129.0, math.inf), draws=20)
        result = every_net.run(config, torch.Generator().manual_seed(0))
        assert result.robust == [[False] * 20, [True] * 20, [True] * 20]
        assert result.radius[1:] == [[math.inf] * 20] * 2
        rows = torch.randn(1000, 100, 64, generator=torch.Generator().manual_seed(1))
        assert float(torch.linalg.vector_norm(rows, dim=2).max()) < 12.8

    def test_an_input_that_every_net_gets_wrong_needs_no_step(self):
        values = [self.start(number) for number in range(10)]
        wrong = [start for start in values if start.value < -1]
        assert wrong
        assert all(every_net.defeating_radius(start, 0.5) == 0 for start in wrong)


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
    config = worst.WorstConfig(d=9, m=64, C0=1.0, points=2, steps=2)
    shared, fresh = (
        worst.run(replace(config, fresh_starts=flag), torch.Generator().manual_seed(0))
        for flag in (False, True)
    )
    assert shared.start_value[0] == pytest.approx(fresh.start_value[0], rel=1e-5)
    assert shared.start_value[1] != pytest.approx(fresh.start_value[1], rel=1e-3)
