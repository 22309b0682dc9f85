"""Direct draws in the coordinates of the span have the law of the draws in d dimensions.

Every test compares averages of independent draws with exact moments at 5 standard errors: the false-alarm
probability is 6e-7 per number, and fewer than 500 numbers are compared in all, so it is below 3e-4 for the
whole file. The seeds are fixed, so an alarm does not come and go.
"""

import math

import pytest
import torch
from torch import Tensor

from karat.attacks.inner_products.attack import attacked_margins
from karat.attacks.inner_products.gram import GramNet
from karat.attacks.pgd import PGD
from karat.core import Ball
from karat.nets.two_layer import TwoLayer
from karat.reductions.span import gaussian_products, gaussian_rows, train_exact
from karat.reductions.span.gaussian import chi
from karat.training import Adversary, Constant, Trainer


def assert_mean(values: Tensor, mean: float | Tensor, sd: float | Tensor | None = None) -> None:
    """The mean over the first axis is within 5 standard errors."""
    spread = values.std(dim=0) if sd is None else torch.as_tensor(sd)
    error = (values.mean(dim=0) - torch.as_tensor(mean)).abs()
    assert bool((error <= 5 * spread / math.sqrt(len(values))).all())


@pytest.mark.parametrize("freedom", [1.0, 2.0, 3.0, 7.0, 999.0, 1e6])
def test_chi_squares_have_the_moments_of_their_degrees_of_freedom(freedom: float) -> None:
    square = chi(torch.full((20000,), freedom), generator=torch.Generator().manual_seed(1)).square()
    assert_mean(square, freedom, math.sqrt(2 * freedom))
    assert_mean((square - freedom).square(), 2 * freedom)


@pytest.mark.slow
@pytest.mark.parametrize("d", [6, 7, 40, 10**6])
def test_the_gram_matrix_has_the_moments_of_the_wishart_law(d: int) -> None:
    """E <x_i, x_j> = d 1[i = j], Var |x_i|^2 = 2 d, Var <x_i, x_j> = d, and first coordinates are N(0, 1)."""
    generator = torch.Generator().manual_seed(2)
    rows = torch.stack([gaussian_rows(5, d, generator=generator) for _ in range(1500)])
    assert rows.shape[2] == min(d, 6)
    gram = rows @ rows.transpose(1, 2)
    eye = torch.eye(5, dtype=torch.float64)
    spread = (d * (1 + eye)).sqrt()
    assert_mean(gram, d * eye, spread)
    assert_mean(((gram - d * eye) / spread).square(), torch.ones(5, 5, dtype=torch.float64))
    assert_mean(rows[:, :, 0], 0.0, 1.0)
    assert_mean(rows[:, :, 0].square(), 1.0, math.sqrt(2))


def test_equal_seeds_give_equal_rows_and_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    first, second = (gaussian_rows(4, 100, generator=torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.get_rng_state())


def test_a_million_dimensions_cost_no_more_than_the_rows() -> None:
    rows = gaussian_rows(50, 10**6, generator=torch.Generator().manual_seed(0), dtype=torch.float32)
    assert rows.shape == (50, 51)
    assert rows.dtype == torch.float32
    assert bool((rows.norm(dim=1) / 1000 - 1 < 0.01).all())


METHOD, BALL = PGD(steps=10, step_ratio=0.2, gradient="normalised", keep="last"), Ball(2, 0.3)
TRAINER = Trainer(lr=Constant(0.5), trainable=("W", "a"), adversary=Adversary(METHOD, BALL))
M, N, D, MU = 8, 6, 40, 2.0


def small_problem(rows: Tensor, generator: torch.Generator) -> tuple[TwoLayer, Tensor, Tensor, Tensor]:
    a = torch.randn(M, generator=generator, dtype=torch.float64) / math.sqrt(M)
    y = torch.randint(2, (N,), generator=generator).double() * 2 - 1
    mu = torch.zeros(rows.shape[1], dtype=torch.float64)
    mu[0] = MU
    return TwoLayer(rows[:M] / math.sqrt(3 * D), a), torch.outer(y, mu) + rows[M:], y, mu


def robust_accuracies(drawn_in_span: bool, runs: int) -> Tensor:
    """Robust test accuracy and attacked training loss of independent small runs."""
    generator = torch.Generator().manual_seed(11 + drawn_in_span)
    results = []
    for _ in range(runs):
        if drawn_in_span:
            rows = gaussian_rows(M + N, D, generator=generator)
        else:
            rows = torch.randn(M + N, D, generator=generator, dtype=torch.float64)
        net, x, y, mu = small_problem(rows, generator)
        run = train_exact(TRAINER, net, x, y, steps=15)
        test_y = torch.ones(20, dtype=torch.float64)
        test_x = mu + torch.randn(20, len(mu), generator=generator, dtype=torch.float64)
        margin = attacked_margins(run.final.gram, test_x @ run.net.W.T, test_y, METHOD, BALL)
        results.append(
            torch.tensor([float((margin > 0).double().mean()), run.losses[-1]], dtype=torch.float64)
        )
    return torch.stack(results)


@pytest.mark.slow
def test_training_has_the_same_law_in_the_span_as_in_d_dimensions() -> None:
    """Two-sample comparison of mean robust accuracy and mean training loss at 5 standard errors."""
    span, full = robust_accuracies(True, 80), robust_accuracies(False, 80)
    error = (span.mean(dim=0) - full.mean(dim=0)).abs()
    spread = (span.var(dim=0) / len(span) + full.var(dim=0) / len(full)).sqrt()
    assert bool((error <= 5 * spread).all())
    assert bool((spread < 0.06).all())


def test_fresh_gaussian_points_need_no_weights() -> None:
    """W x for x = y mu + xi has mean y W mu and covariance W W^T."""
    generator = torch.Generator().manual_seed(4)
    W = torch.randn(4, 9, generator=generator, dtype=torch.float64)
    zero = torch.zeros(4, dtype=torch.float64)
    net = GramNet(W @ W.T, zero, zero, zero.sum(), TwoLayer(W, zero).activation)
    mean, y = W[:, 0] * 3, torch.ones(20000, dtype=torch.float64)
    P = gaussian_products(net, mean, y, generator=generator)
    assert_mean(P, mean)
    centred = P - mean
    assert_mean(centred.unsqueeze(1) * centred.unsqueeze(2), net.G)
    flipped = gaussian_products(net, mean, -y, generator=generator)
    assert_mean(flipped, -mean)


def test_fresh_gaussian_points_respect_repeated_neurons() -> None:
    generator = torch.Generator().manual_seed(4)
    half = torch.randn(3, 30, generator=generator, dtype=torch.float64)
    W = torch.cat([half, half])
    zero = torch.zeros(6, dtype=torch.float64)
    net = GramNet(W @ W.T, zero, zero, zero.sum(), TwoLayer(W, zero).activation)
    P = gaussian_products(net, W[:, 0], torch.ones(50), generator=generator)
    torch.testing.assert_close(P[:, :3], P[:, 3:], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_errors_without_weights_have_the_law_of_errors_with_them() -> None:
    """One trained net, clean and robust accuracy on 20,000 points each way, at 5 standard errors."""
    generator = torch.Generator().manual_seed(21)
    rows = gaussian_rows(M + N, D, generator=generator)
    net, x, y, mu = small_problem(rows, generator)
    run = train_exact(TRAINER, net, x, y, steps=15, track=mu.unsqueeze(0))
    labels = torch.ones(20000, dtype=torch.float64)
    points = mu + torch.randn(len(labels), len(mu), generator=generator, dtype=torch.float64)
    ways = (
        points @ run.net.W.T,
        gaussian_products(run.final.gram, run.final.tracked[0], labels, generator=generator),
    )
    for margins in (
        run.final.gram.output,
        lambda P: attacked_margins(run.final.gram, P, labels, METHOD, BALL),
    ):
        with_weights, without = ((margins(P) > 0).double() for P in ways)
        spread = math.sqrt((with_weights.var() + without.var()) / len(labels))
        assert abs(float(with_weights.mean() - without.mean())) <= 5 * spread
