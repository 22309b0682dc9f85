"""No perturbation is longer than its radius, in any number format, also as the model sees it."""

import math

import pytest
import torch

import karat
from karat.attacks import METHODS, BudgetError, Steepest, judge, run_attack, transfer_matrix
from karat.attacks.budget import tolerance
from karat.attacks.precision import fitted
from karat.core import Ball, norm
from karat.nets import as_classifier

HALF = [torch.bfloat16, torch.float16]
NORMS = [1.0, 2.0, math.inf]


def module(d=40, m=60, outputs=1, *, dtype=torch.float32):
    torch.manual_seed(0)
    layers = torch.nn.Linear(d, m), torch.nn.ReLU(), torch.nn.Linear(m, outputs)
    return torch.nn.Sequential(*layers).to(dtype)


def points(n, d, *, dtype=torch.float32, shift=0.0):
    generator = torch.Generator().manual_seed(1)
    x = (torch.randn(n, d, generator=generator) + shift).to(dtype)
    return x, torch.where(torch.randn(n, generator=generator) > 0, 1.0, -1.0)


def lengths(result, x, p):
    """|delta| and |(x + delta) - x| in float64."""
    seen = (x + result.delta).double() - x.double()
    return norm(result.delta.double(), p), norm(seen, p)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", METHODS)
def test_half_precision_is_attacked_within_the_radius(name, p, dtype):
    net, (x, y) = module(dtype=dtype), points(12, 40, dtype=dtype)
    tau = {1.0: 2.0, 2.0: 0.4, math.inf: 0.05}[p]
    result = karat.attack(net, x, y, Ball(p, tau), name)
    assert result.delta.dtype == dtype
    for length in lengths(result, x, p):
        assert bool((length <= tau).all())
    margin = y.to(dtype) * net(x + result.delta).detach().squeeze(1)
    assert torch.equal(result.success, margin <= 0)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("p", [2.0, math.inf])
def test_a_large_two_layer_module_in_half_precision_is_attacked(p, dtype):
    """Of a size at which single precision goes by inner products or by signs."""
    ball = Ball(p, 0.3 if p == 2 else 0.03)
    x, y = points(200, 100)
    half = karat.attack(module(100, 100, dtype=dtype), x.to(dtype), y, ball, "pgd")
    single = karat.attack(module(100, 100), x, y, ball, "pgd")
    assert abs(half.error - single.error) <= 0.03
    assert 0.1 < single.error < 1


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_per_sample_radii_and_boxes_hold_in_half_precision(dtype):
    net, (x, y) = module(dtype=dtype), points(12, 40, dtype=dtype)
    x = x.clamp(-1, 1)
    tau = torch.linspace(0.0, 1.0, 12)
    for p in NORMS:
        result = karat.attack(net, x, y, Ball(p, tau, box=(-1.003, 1.003)), "pgd")
        assert float((x + result.delta).double().abs().max()) <= 1.003
        for length in lengths(result, x, p):
            assert bool((length <= tau.double()).all())


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_fitting_costs_little_of_the_radius(p, dtype):
    """Rounding to nearest and shrinking, where rounding towards x would lose a third of the length."""
    x, _ = points(20, 784, dtype=dtype, shift=3.0)
    direction = torch.randn(20, 784, generator=torch.Generator().manual_seed(2))
    tau = 1.0 if p == 2 else 20.0
    found = fitted(direction * (tau / norm(direction, p)).unsqueeze(1), x, Ball(p, tau))
    seen = norm((x + found).double() - x.double(), p)
    assert bool((seen <= tau).all())
    assert bool((seen >= 0.9 * tau).all())


@pytest.mark.parametrize("dtype", HALF, ids=str)
def test_a_radius_below_the_resolution_of_the_input_leaves_it_alone(dtype):
    x = torch.full((3, 5), 100.0, dtype=dtype)
    for p in NORMS:
        found = fitted(torch.full((3, 5), 0.0015), x, Ball(p, 0.009))
        assert torch.equal(x + found, x)


def test_the_judge_forgives_no_more_than_one_percent():
    """4 (2 + sqrt d) rounding units of bfloat16 would be 94 % of the radius at d = 784."""
    net, (x, y) = as_classifier(module(784, 5, dtype=torch.bfloat16)), points(3, 784, dtype=torch.bfloat16)
    delta = torch.zeros_like(x)
    delta[:, 0] = -x[:, 0].sign() * 0.5
    judge(net, x, y, delta, Ball(2, 0.51))
    for tau in (0.26, 0.49):
        with pytest.raises(BudgetError, match="exceeds the l_2 radius"):
            judge(net, x, y, delta, Ball(2, tau))
    assert tolerance(torch.float32, 784) == pytest.approx(120 * torch.finfo(torch.float32).eps)


def test_the_judge_sees_what_the_model_sees():
    """The bfloat16 next to 100 is 100.5: a perturbation of 0.3 becomes one of 0.5."""
    net, x = (
        as_classifier(module(4, 5, dtype=torch.bfloat16)),
        torch.full((1, 4), 100.0, dtype=torch.bfloat16),
    )
    with pytest.raises(BudgetError, match=r"exceeds the l_inf radius 0.3"):
        judge(net, x, torch.ones(1), torch.full_like(x, 0.3), Ball(math.inf, 0.3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("name", METHODS)
def test_rounding_adds_nothing_to_the_radius(name, p, dtype):
    net, (x, y) = module(dtype=dtype), points(60, 40, dtype=dtype)
    tau = torch.linspace(0.01, 0.7, 60, dtype=torch.float64)
    result = karat.attack(net, x, y, Ball(p, tau), name)
    assert bool((norm(result.delta.double(), p) <= tau * (1 + 1e-14)).all())
    plain = run_attack(METHODS[name](), as_classifier(net), x, y, Ball(p, tau), generator=torch.Generator())
    assert result.delta.dtype == plain.delta.dtype == dtype


@pytest.mark.slow
def test_single_precision_on_inner_products_keeps_the_radius():
    x, y = points(200, 100)
    for p, tau in ((2, 0.3), (math.inf, 0.3)):
        delta = karat.attack(module(100, 100), x, y, Ball(p, tau), "pgd").delta
        assert float(norm(delta.double(), p).max()) <= tau


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_trimming_hides_no_cheat(dtype):
    def overshoot(classifier, x, y, ball, *, generator=None):
        return 1.02 * Steepest()(classifier, x, y, ball)

    net, (x, y) = module(dtype=dtype), points(5, 40, dtype=dtype)
    with pytest.raises(BudgetError, match=r"overshoot exceeds the l_2 radius 0.5"):
        karat.attack(net, x, y, Ball(2, 0.5), overshoot)


def test_transfer_works_in_half_precision():
    net, (x, y) = as_classifier(module(dtype=torch.bfloat16)), points(12, 40, dtype=torch.bfloat16)
    ball = Ball(2, 1.0)
    table = transfer_matrix([net, net], x, y, ball, method=METHODS["pgd"]())
    assert float(table.error[0, 1]) == run_attack(METHODS["pgd"](), net, x, y, ball).error
