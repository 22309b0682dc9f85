"""The judge trusts nothing but the classifier; radii, strongest and transfer build on it."""

import math

import pytest
import torch

from karat.attacks import (
    METHODS,
    PGD,
    BudgetError,
    GradientStep,
    Steepest,
    Strongest,
    default_methods,
    first_crossing,
    judge,
    minimal_radius,
    run_attack,
    transfer_matrix,
)
from karat.core import Ball, ShapeError


def seeded():
    return torch.Generator().manual_seed(0)


def overshoot(classifier, x, y, ball, *, generator=None):
    return 1.01 * Steepest()(classifier, x, y, ball)


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_budget_is_asserted_with_the_attack_named(lab, p):
    net, (x, y) = lab.random_two_layer(), lab.points(5, 6)
    with pytest.raises(BudgetError, match=rf"overshoot exceeds the l_{p:g} radius 0.5 by 0.005 at sample"):
        run_attack(overshoot, net, x, y, Ball(p, 0.5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_budget_allows_rounding_and_no_more(lab, dtype):
    x, y = torch.zeros(1, 4, dtype=dtype), torch.ones(1)
    rounding = torch.finfo(dtype).eps
    delta = torch.full((1, 4), 0.5, dtype=dtype)
    judge(lab.Constant(1.0), x, y, delta * (1 + 2 * rounding), Ball(2, 1.0))
    with pytest.raises(BudgetError):
        judge(lab.Constant(1.0), x, y, delta * (1 + 100 * rounding), Ball(2, 1.0))
    with pytest.raises(BudgetError):
        judge(lab.Constant(1.0), x, y, delta * 1e-20, Ball(2, 0.0))


def test_leaving_the_box_is_refused(lab):
    x, y = torch.full((2, 3), 0.9), torch.ones(2)
    with pytest.raises(BudgetError, match=r"pgd leaves the box \(0, 1\) by 0.1 at sample"):
        judge(lab.Constant(1.0), x, y, torch.full((2, 3), 0.2), Ball(math.inf, 0.5, box=(0, 1)), name="pgd")


def test_nonsense_is_refused(lab):
    x, y = torch.zeros(2, 3), torch.ones(2)
    with pytest.raises(BudgetError, match="not finite"):
        judge(lab.Constant(1.0), x, y, torch.full((2, 3), math.nan), Ball(2, 1.0))
    with pytest.raises(ShapeError, match=r"must return perturbations \(2, 3\), got \(2, 4\)"):
        judge(lab.Constant(1.0), x, y, torch.zeros(2, 4), Ball(2, 1.0))
    with pytest.raises(ArithmeticError, match="the margin of 2 of 2 samples is NaN"):
        judge(lab.Constant(math.nan), x, y, torch.zeros(2, 3), Ball(2, 1.0))


def test_zero_margin_is_a_success(lab):
    x, y = torch.zeros(2, 3), torch.ones(2)
    assert judge(lab.Constant(0.0), x, y, x, Ball(2, 1.0)).error == 1.0
    assert judge(lab.Constant(1e-30), x, y, x, Ball(2, 1.0)).error == 0.0


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_strongest_is_never_weaker_than_a_member(lab, p):
    net, (x, y) = lab.random_two_layer(m=40), lab.points(60, 6)
    ball = Ball(p, torch.linspace(0, 2, 60, dtype=x.dtype))
    strongest = run_attack(Strongest(), net, x, y, ball, generator=seeded()).margin
    generator = seeded()
    for method in default_methods():
        member = run_attack(method, net, x, y, ball, generator=generator).margin
        assert bool((strongest <= member).all())
    assert bool((strongest <= net.margin(x, y)).all())


def test_strongest_with_no_member_is_the_clean_classifier(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(9, 6)
    assert bool((Strongest(())(net, x, y, Ball(2, 1.0)) == 0).all())


def test_strongest_refuses_a_member_that_cheats(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(9, 6)
    with pytest.raises(BudgetError, match="overshoot exceeds"):
        Strongest((Steepest(), overshoot))(net, x, y, Ball(2, 1.0))


@pytest.mark.parametrize("name", ["fgm", "pgd", "gradient_step", "strongest"])
def test_minimal_radius_brackets_and_carries_a_witness(lab, name):
    net = lab.random_two_layer(m=40)
    x, y = lab.points(40, 6)
    found = minimal_radius(net, x, y, Ball(2, 3.0), method=METHODS[name](), rtol=1e-2, generator=seeded())
    broken = torch.isfinite(found.broken)
    assert bool(broken.any())
    assert bool((found.failed[broken] <= found.broken[broken]).all())
    assert bool((found.broken[broken] - found.failed[broken] <= 0.0101 * found.broken[broken]).all())
    assert bool((found.failed[~broken] == 3.0).all())
    torch.testing.assert_close(found.delta.norm(dim=1)[broken], found.broken[broken])
    assert bool((net.margin(x + found.delta, y)[broken] <= 0).all())
    assert bool((found.delta[~broken] == 0).all())
    wrong = net.margin(x, y) <= 0
    assert bool((found.broken[wrong] == 0).all())


def test_minimal_radius_with_the_line_is_the_first_crossing(lab):
    net = lab.random_two_layer(m=40)
    x, y = lab.points(40, 6, classifier=net)
    found = minimal_radius(net, x, y, Ball(2, 50.0), method=GradientStep())
    torch.testing.assert_close(found.broken, first_crossing(net, x, y, 50.0), rtol=1e-9, atol=0)


def test_minimal_radius_uses_shorter_witnesses_than_earlier_failures(lab):
    """An attack that fails at radius 1/2 and 1, but at 2 reveals a perturbation of length 1/4."""

    class Shell:
        def margin(self, x, y):
            return torch.where((x[:, 0] > 0.2) & (x[:, 0] < 0.3), -1.0, 1.0).to(x.dtype)

        def margin_and_gradient(self, x, y):
            return self.margin(x, y), torch.full_like(x, 2.0)

    def late(classifier, x, y, ball, *, generator=None):
        return torch.where(ball.radius(x) >= 2, 0.25, 0.0).to(x.dtype).unsqueeze(1)

    x, y = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1)
    found = minimal_radius(Shell(), x, y, Ball(2, 8.0), method=late)
    assert float(found.broken) == 0.25
    assert float(found.failed) == pytest.approx(0.25, rel=2e-3)


def test_minimal_radius_refuses_bad_knobs(lab):
    x, y = lab.points(3, 6)
    with pytest.raises(ValueError, match="`growth` of `minimal_radius` must be a finite number > 1"):
        minimal_radius(lab.Constant(1.0), x, y, Ball(2, 1.0), method=PGD(), growth=1.0)


def test_transfer_to_itself_is_the_attack(lab):
    net, (x, y) = lab.random_two_layer(2, m=40), lab.points(40, 6)
    own = run_attack(PGD(), net, x, y, Ball(2, 0.5))
    matrix = transfer_matrix([net, net], x, y, Ball(2, 0.5), method=PGD())
    torch.testing.assert_close(matrix.error, torch.full((2, 2), own.error, dtype=torch.float64))
    torch.testing.assert_close(matrix.rate, torch.ones(2, 2, dtype=torch.float64))


def test_transfer_rate_counts_flips_among_samples_the_target_had_right(lab):
    """Against brute force over samples."""
    nets = [lab.random_two_layer(seed, m=40) for seed in (2, 4, 6)]
    x, y = lab.points(50, 6)
    ball = Ball(2, 0.7)
    matrix = transfer_matrix(nets, x, y, ball, method=Steepest())
    for i, source in enumerate(nets):
        delta = Steepest()(source, x, y, ball)
        for j, target in enumerate(nets):
            flips, eligible, wrong = 0, 0, 0
            for k in range(50):
                one = slice(k, k + 1)
                clean, moved = x[one], x[one] + delta[one]
                hit = float(target.margin(moved, y[one])) <= 0
                wrong += hit
                flipped = float(source.margin(clean, y[one])) > 0 >= float(source.margin(moved, y[one]))
                if flipped and float(target.margin(clean, y[one])) > 0:
                    eligible += 1
                    flips += hit
            assert int(matrix.count[i, j]) == eligible
            assert float(matrix.rate[i, j]) == pytest.approx(flips / eligible)
            assert float(matrix.error[i, j]) == pytest.approx(wrong / 50)


def test_transfer_rate_of_a_harmless_attack_is_unknown(lab):
    x, y = lab.points(5, 6)
    matrix = transfer_matrix([lab.Constant(1.0)], x, y, Ball(2, 0.5), method=Steepest())
    assert bool(matrix.rate.isnan().all())
    assert float(matrix.error) == 0.0
