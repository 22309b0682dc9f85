"""PGD's knobs do what they say."""

import math

import pytest
import torch

from karat.attacks import PGD, FixedDirection, SmoothedPGD, Steepest, run_attack
from karat.core import Ball, Logistic, norm


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_best_iterate_is_never_worse_than_last_or_clean(lab):
    net, (x, y) = lab.random_two_layer(m=40), lab.points(60, 6)
    best = run_attack(PGD(steps=9, step_ratio=0.9), net, x, y, Ball(2, 1.5)).margin
    last = run_attack(PGD(steps=9, step_ratio=0.9, keep="last"), net, x, y, Ball(2, 1.5)).margin
    assert bool((best <= last).all())
    assert bool((best <= net.margin(x, y)).all())
    assert bool((best < last - 1e-6).any())


def test_more_restarts_never_hurt(lab):
    net, (x, y) = lab.random_two_layer(m=40), lab.points(60, 6)
    margins = [
        run_attack(PGD(steps=5, restarts=r), net, x, y, Ball(2, 1.5), generator=seeded()).margin
        for r in (1, 2, 4)
    ]
    assert bool((margins[1] <= margins[0]).all())
    assert bool((margins[2] <= margins[1]).all())
    assert bool((margins[2] < margins[0]).any())


@pytest.mark.parametrize(
    ("gradient", "p", "step_norm"),
    [
        ("normalised", math.inf, 2),
        ("sign", 2, math.inf),
        ("steepest", 1, 1),
        ("steepest", math.inf, math.inf),
    ],
)
def test_a_step_has_the_stated_length(lab, gradient, p, step_norm):
    net, (x, y) = lab.random_two_layer(), lab.points(10, 6)
    move = PGD(steps=1, step=0.01, gradient=gradient, keep="last")(net, x, y, Ball(p, 5.0))
    torch.testing.assert_close(norm(move, step_norm), torch.full((10,), 0.01, dtype=x.dtype))


def test_step_ratio_is_a_share_of_each_radius(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(10, 6)
    tau = torch.linspace(0, 2, 10, dtype=x.dtype)
    move = PGD(steps=1, step_ratio=0.2, keep="last")(net, x, y, Ball(2, tau))
    torch.testing.assert_close(norm(move, 2), 0.2 * tau)


def test_raw_step_is_the_gradient_of_margin_or_loss(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(10, 6)
    margin, gradient = net.margin_and_gradient(x, y)
    ball = Ball(2, 100.0)
    raw = PGD(steps=1, step=0.1, gradient="raw", keep="last")(net, x, y, ball)
    torch.testing.assert_close(raw, -0.1 * gradient)
    ascent = PGD(steps=1, step=0.1, gradient="raw", loss=Logistic(), keep="last")(net, x, y, ball)
    torch.testing.assert_close(ascent, 0.1 * Logistic().derivative(margin).unsqueeze(1) * gradient)


def test_start_reaches_samples_without_gradient(lab):
    """relu(-x - 1) is flat at 0: PGD from zero is stuck, from a universal direction it is not."""
    one = torch.ones(1, dtype=torch.float64)
    net = lab.TwoLayer(-one.unsqueeze(1), -2 * one, -one, torch.tensor(0.5, dtype=torch.float64))
    x = torch.zeros(1, 1, dtype=torch.float64)
    assert float(run_attack(PGD(), net, x, one, Ball(2, 2.0)).margin) == 0.5
    started = PGD(start=FixedDirection(one))
    assert float(run_attack(started, net, x, one, Ball(2, 2.0)).margin) == -1.5
    assert bool(run_attack(PGD(restarts=20), net, x, one, Ball(2, 2.0), generator=seeded()).success.all())


def test_random_starts_are_used(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(10, 6)
    runs = [PGD(random_start=True)(net, x, y, Ball(math.inf, 0.3), generator=seeded(s)) for s in (0, 1)]
    assert not torch.equal(runs[0], runs[1])


def test_l1_steps_move_one_coordinate_at_a_time(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(10, 6)
    moved = PGD(steps=3, step_ratio=0.3, keep="last")(net, x, y, Ball(1, 1.0))
    assert bool(((moved != 0).sum(dim=1) <= 3).all())


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_pgd_is_stronger_than_one_step_on_curved_nets(lab, p):
    net, (x, y) = lab.random_two_layer(m=60, d=10), lab.points(200, 10)
    one = run_attack(Steepest(), net, x, y, Ball(p, 1.0)).margin.mean()
    many = run_attack(PGD(steps=40), net, x, y, Ball(p, 1.0)).margin.mean()
    assert float(many) < float(one)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"steps": 0}, "`steps` of `PGD` must be a whole number >= 1, got 0"),
        ({"step": 0.1, "step_ratio": 0.1}, "`step` or `step_ratio`, not both"),
        ({"step": -0.1}, "`step` of `PGD` must be a finite number > 0, got -0.1"),
        ({"gradient": "l2"}, "`gradient` of `PGD` must be one of 'steepest', 'normalised', 'sign', 'raw'"),
        ({"keep": "first"}, "`keep` of `PGD` must be one of 'best', 'last'"),
        ({"restarts": 0}, "`restarts` of `PGD` must be a whole number >= 1"),
        ({"loss": Logistic()}, '`loss` of `PGD` changes nothing unless `gradient` is "raw"'),
        ({"start": Steepest(), "random_start": True}, "`start` or `random_start`, not both"),
    ],
)
def test_bad_knobs_are_refused(knobs, message):
    with pytest.raises(ValueError, match=message):
        PGD(**knobs)


def test_smoothed_pgd_without_noise_is_pgd(lab):
    net, (x, y) = lab.random_two_layer(), lab.points(20, 6)
    pgd = PGD(steps=4, step_ratio=0.5, keep="last")
    smoothed = SmoothedPGD(sigma=0.0, draws=1)(net, x, y, Ball(2, 0.8), generator=seeded())
    torch.testing.assert_close(smoothed, pgd(net, x, y, Ball(2, 0.8)))


def test_smoothed_gradient_is_the_gradient_of_the_smoothed_net(lab):
    """A ReLU net under input noise is a net of smoothed ReLUs: per neuron, sigma |w_s| of Gaussian noise.

    One normalised step from 1000 draws, seed fixed. Over 20 seeds its entries spread by 0.0042 at most, so
    0.026 is six standard errors (five, if that estimate is low): nine entries leave it with p < 1e-5.
    """
    net, (x, y) = lab.random_two_layer(m=10, d=3), lab.points(3, 3)
    sigma = 0.5
    method = SmoothedPGD(sigma=sigma, draws=1000, pgd=PGD(steps=1, step_ratio=1.0, keep="last"))
    delta = method(net, x, y, Ball(2, 1.0), generator=seeded())
    z = net.hidden(x) / (sigma * net.W.norm(dim=1))
    exact = -y.unsqueeze(1) * ((torch.special.ndtr(z) * net.a) @ net.W)
    torch.testing.assert_close(delta, exact / exact.norm(dim=1, keepdim=True), rtol=0, atol=0.026)


def test_smoothed_pgd_refuses_bad_knobs():
    with pytest.raises(ValueError, match="`sigma` of `SmoothedPGD` must be a finite number >= 0"):
        SmoothedPGD(sigma=-1.0)
    with pytest.raises(ValueError, match="`draws` of `SmoothedPGD` must be a whole number >= 1"):
        SmoothedPGD(sigma=0.1, draws=0)


@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("keep", ["best", "last"])
def test_stopping_at_broken_samples_breaks_the_same_ones(lab, p, keep):
    net, (x, y) = lab.random_two_layer(m=40), lab.points(60, 6)
    tau = torch.linspace(0.02, 0.6, 60, dtype=x.dtype)
    ball = Ball(p, tau)
    whole = run_attack(PGD(steps=12), net, x, y, ball)
    short = run_attack(PGD(steps=12, keep=keep, until_broken=True), net, x, y, ball)
    assert 5 < int(whole.success.sum()) < 55
    assert torch.equal(short.success, whole.success)
    if keep == "best":  # what stays unbroken saw the same points
        assert torch.equal(short.margin[~whole.success], whole.margin[~whole.success])


def test_a_sample_is_left_alone_once_broken(lab):
    net, (x, y) = lab.random_two_layer(m=40), lab.points(60, 6)
    wrong = net.margin(x, y) <= 0
    assert bool(wrong.any())
    method = PGD(steps=6, restarts=3, until_broken=True)
    found = run_attack(method, net, x, y, Ball(2, 1.0), generator=seeded())
    assert not bool(found.delta[wrong].any())


def test_stopping_early_costs_fewer_evaluations(lab):
    net, (x, y) = lab.random_two_layer(m=40), lab.points(60, 6)

    class Counted:
        rows = 0

        def margin(self, x, y):
            return net.margin(x, y)

        def margin_and_gradient(self, x, y):
            self.rows += len(x)
            return net.margin_and_gradient(x, y)

    counts = []
    for until_broken in (False, True):
        counted = Counted()
        PGD(steps=10, until_broken=until_broken)(counted, x, y, Ball(2, 2.0))
        counts.append(counted.rows)
    assert counts[0] == 600
    assert counts[1] < 400
