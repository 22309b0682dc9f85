"""Random points of a ball: inside it, uniform, and fixed by the generator."""

import math

import pytest
import torch
from scipy import stats

from karat.core import Ball, norm

NORMS = [1.0, 2.0, math.inf]
# Second moment of a coordinate of a uniform point of the unit ball in dimension d.
SECOND_MOMENT = {
    1.0: lambda d: 2 / ((d + 1) * (d + 2)),
    2.0: lambda d: 1 / (d + 2),
    math.inf: lambda d: 1 / 3,
}

each_norm = pytest.mark.parametrize("p", NORMS)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@each_norm
@pytest.mark.parametrize("box", [None, (0.0, 1.0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(500, 5), (500, 1, 2, 3), (500, 1)])
def test_samples_lie_inside_with_the_shape_and_dtype_of_x(p, box, dtype, shape, generator):
    x, ball = torch.rand(shape, generator=generator, dtype=dtype), Ball(p, 0.4, box)
    delta = ball.sample(x, generator=generator)
    assert delta.shape == shape
    assert delta.dtype == dtype
    assert (ball.excess(delta, x) <= 4 * torch.finfo(dtype).eps).all()


@each_norm
@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_radius_of_a_sample_follows_the_volume(p, d):
    # P(|delta|_p <= r tau) = r^d, so (|delta|_p / tau)^d is uniform; Kolmogorov-Smirnov at false alarm 1e-7.
    delta = Ball(p, 0.3).sample(torch.zeros(20_000, d, dtype=torch.float64), generator=seeded(d))
    assert stats.kstest((norm(delta, p) / 0.3).pow(d).numpy(), "uniform").pvalue > 1e-7


@each_norm
def test_the_first_two_moments_of_samples_are_those_of_the_uniform_law(p):
    # 4 means, 4 squares, 6 products: 14 checks at 6 standard errors, false alarm 14 * 2e-9 < 3e-8.
    d, n, tau = 4, 40_000, 2.0
    delta = Ball(p, tau).sample(torch.zeros(n, d, dtype=torch.float64), generator=seeded(0)) / tau
    products = delta.unsqueeze(1) * delta.unsqueeze(2)
    expected = SECOND_MOMENT[p](d) * torch.eye(d, dtype=torch.float64)
    assert (delta.mean(0).abs() <= 6 * delta.std(0) / math.sqrt(n)).all()
    assert ((products.mean(0) - expected).abs() <= 6 * products.std(0) / math.sqrt(n)).all()


@each_norm
def test_cells_of_the_plane_are_hit_in_proportion_to_their_area(p):
    # Points drawn in the square and kept when inside the ball are uniform by construction: the second route.
    n = 40_000
    square = 2 * torch.rand(2 * n, 2, generator=seeded(1), dtype=torch.float64) - 1
    accepted = square[norm(square, p) <= 1][:n]
    drawn = Ball(p, 1.0).sample(torch.zeros(len(accepted), 2, dtype=torch.float64), generator=seeded(2))

    def counts(points: torch.Tensor) -> torch.Tensor:
        cells = ((points + 1) * 3).long().clamp(0, 5)
        return torch.bincount(cells[:, 0] * 6 + cells[:, 1], minlength=36)

    table = torch.stack([counts(accepted), counts(drawn)])
    table = table[:, table.sum(0) > 0].numpy()
    # Chi-squared test of equal laws at false alarm 1e-7.
    assert stats.chi2_contingency(table).pvalue > 1e-7


@each_norm
@pytest.mark.parametrize("box", [None, (0.0, 1.0)])
def test_the_generator_fixes_the_sample(p, box):
    x, ball = torch.full((10, 3), 0.5), Ball(p, 0.7, box)
    assert torch.equal(ball.sample(x, generator=seeded(3)), ball.sample(x, generator=seeded(3)))
    assert not torch.equal(ball.sample(x, generator=seeded(3)), ball.sample(x, generator=seeded(4)))


@each_norm
def test_samples_scale_with_their_own_radius(p):
    x, radii = torch.zeros(4, 3, dtype=torch.float64), torch.tensor([0.0, 0.5, 1.0, 8.0], dtype=torch.float64)
    unit = Ball(p, 1.0).sample(x, generator=seeded(5))
    own = Ball(p, radii).sample(x, generator=seeded(5))
    torch.testing.assert_close(own, radii.unsqueeze(1) * unit)
    assert not own[0].any()
