"""The linearised robust problem: certified bounds, exact duals, and bounds on the net itself."""

import math

import pytest
import torch
from scipy.optimize import minimize

from karat.core import Logistic
from karat.nets import init
from karat.training.displacements import (
    HilbertBall,
    hilbert_ball,
    kink_slack,
    kink_slack_frobenius,
    layer_ball,
    row_ball,
)
from karat.training.linearised import LinearisedProblem

N, D, M, K = 6, 4, 30, 3


@pytest.fixture
def points():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(N * K, D, generator=g, dtype=torch.float64)
    x = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    y = torch.tensor([1.0, -1.0] * (N // 2), dtype=torch.float64).repeat_interleave(K)
    return x, y, torch.arange(N).repeat_interleave(K)


@pytest.fixture
def net():
    return init.gaussian(D, M, generator=torch.Generator().manual_seed(1))


def jacobian(net, x, y):
    """y_j grad_W f(x_j) for every point, (N, m d)."""
    one = torch.ones(1, dtype=x.dtype)
    rows = [net.weight_gradient(p.unsqueeze(0), one)["W"].flatten() for p in x]
    return y.unsqueeze(1) * torch.stack(rows)


@pytest.mark.parametrize("kind", [row_ball, hilbert_ball])
def test_coordinates_reproduce_the_features(kind, net, points):
    x, y, _ = points
    F, space = jacobian(net, x, y), kind(net, x, y)
    weights = torch.linspace(-1, 1, len(x), dtype=torch.float64)
    combined = space.combine(weights)
    assert torch.allclose(space.margins(combined), F @ (weights @ F), atol=1e-8)
    assert space.steepness() == pytest.approx(float(torch.linalg.matrix_norm(F, 2)) ** 2, rel=1e-6)


@pytest.mark.parametrize("kind", [row_ball, hilbert_ball])
def test_dual_norm_is_attained_on_the_ball(kind, net, points):
    x, y, _ = points
    space = kind(net, x, y)
    G = space.combine(torch.linspace(0.1, 1, len(x), dtype=torch.float64))
    extreme = space.project(1e9 * G, 0.7)
    assert float((G * extreme).sum()) == pytest.approx(0.7 * float(space.dual_norm(G)), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [row_ball, hilbert_ball])
@pytest.mark.parametrize("radius", [0.0, 0.1, 1.0])
def test_bound_lies_below_every_displacement_and_near_the_best(kind, radius, net, points):
    x, y, sample = points
    space = kind(net, x, y)
    problem = LinearisedProblem(space=space, margin=y * net(x), sample=sample)
    found = problem.solve(radius, steps=600, sharpness=200.0)
    assert found.bound <= found.loss + 1e-9
    assert found.loss - found.bound < 0.03
    g = torch.Generator().manual_seed(2)
    for _ in range(50):
        D = space.project(10 * torch.randn(space.zero().shape, generator=g, dtype=torch.float64), radius)
        assert float(problem.value(problem.margin + space.margins(D))) >= found.bound - 1e-9


def test_optimum_agrees_with_a_general_solver(net, points):
    """Epigraph form min mean(t), loss_ik <= t_i, |D| <= R, by SLSQP."""
    x, y, sample = points
    space, radius = hilbert_ball(net, x, y), 0.5
    problem = LinearisedProblem(space=space, margin=y * net(x), sample=sample)
    found = problem.solve(radius, steps=3000, sharpness=500.0)
    root, margin, r = space.root.numpy(), problem.margin.numpy(), space.root.shape[1]

    def losses(v):
        return torch.nn.functional.softplus(torch.tensor(-(margin + root @ v[:r]))).numpy()

    result = minimize(
        lambda v: v[r:].mean(),
        [0.0] * r + [5.0] * N,
        constraints=[
            {"type": "ineq", "fun": lambda v: v[r:][sample.numpy()] - losses(v)},
            {"type": "ineq", "fun": lambda v: radius**2 - v[:r] @ v[:r]},
        ],
        method="SLSQP",
        options={"maxiter": 300},
    )
    assert result.success
    assert found.bound - 1e-6 <= result.fun <= found.loss + 1e-6


def test_radius_zero_is_the_loss_of_the_start(net, points):
    x, y, sample = points
    margin = y * net(x)
    problem = LinearisedProblem(space=row_ball(net, x, y), margin=margin, sample=sample)
    expected = float(Logistic()(margin).reshape(N, K).amax(dim=1).mean())
    assert problem.solve(0.0, steps=5).loss == pytest.approx(expected)


def test_gram_with_rounding_noise_is_factored():
    gram = torch.eye(3, dtype=torch.float64)
    gram[2, 2] = -1e-15
    assert torch.isfinite(HilbertBall.from_gram(gram).root).all()


@pytest.mark.parametrize("C0", [0.5, 3.0])
def test_slack_covers_every_net_of_the_row_ball(C0, net, points):
    x, y, _ = points
    radius = C0 / math.sqrt(M)
    slack, F = kink_slack(net, x, y, radius), jacobian(net, x, y)
    g = torch.Generator().manual_seed(3)
    for _ in range(200):
        move = torch.randn(M, D, generator=g, dtype=torch.float64)
        move = radius * move / torch.linalg.vector_norm(move, dim=1, keepdim=True)
        gain = y * net.replace(W=net.W + move)(x) - (y * net(x) + F @ move.flatten())
        assert bool((gain <= slack + 1e-12).all())


def test_slack_is_attained_by_rows_along_the_input(net, points):
    """A row of the label's sign with kink in reach crosses it: the bound is sharp at a single point."""
    x, y, _ = points
    radius, p, label = 0.6, x[:1], y[:1]
    z = net.preactivations(p)[0]
    move = -radius * z.sign().unsqueeze(1) * p
    move = move * ((label * net.a) > 0).unsqueeze(1)
    gain = label * net.replace(W=net.W + move)(p) - label * net(p) - jacobian(net, p, label) @ move.flatten()
    assert float(gain) == pytest.approx(float(kink_slack(net, p, label, radius)), rel=1e-9)


def test_frobenius_slack_covers_every_net_and_the_row_ball_inside(net, points):
    x, y, _ = points
    R = 2.0
    slack, F = kink_slack_frobenius(net, x, y, R), jacobian(net, x, y)
    g = torch.Generator().manual_seed(4)
    for share in (1, 3, 10, M):
        for _ in range(60):
            move = torch.zeros(M, D, dtype=torch.float64)
            rows = torch.randperm(M, generator=g)[:share]
            move[rows] = torch.randn(share, D, generator=g, dtype=torch.float64)
            move = R * move / torch.linalg.vector_norm(move)
            gain = y * net.replace(W=net.W + move)(x) - (y * net(x) + F @ move.flatten())
            assert bool((gain <= slack + 1e-12).all())
    assert bool((kink_slack(net, x, y, R / math.sqrt(M)) <= slack + 1e-12).all())


def test_layer_ball_sums_the_layers_of_a_deep_net(points):
    x, y, _ = points
    deep = init.deep_gaussian(D, 8, 2, generator=torch.Generator().manual_seed(5))
    space = layer_ball(deep, x, y)
    one = torch.ones(1, dtype=torch.float64)
    gradients = [deep.weight_gradient(p.unsqueeze(0), one) for p in x]
    F = y.unsqueeze(1) * torch.stack([torch.cat([g["W1"].flatten(), g["W2"].flatten()]) for g in gradients])
    weights = torch.linspace(-1, 1, len(x), dtype=torch.float64)
    assert torch.allclose(space.margins(space.combine(weights)), F @ (weights @ F), atol=1e-7)
