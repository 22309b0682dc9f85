"""Uniform points on the sphere."""

import math
import re

import pytest
import torch
from scipy.stats import ks_2samp

from karat.data import UnitSphere, smallest_distance


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{}, {"labels": "halfspace"}, {"labels": "halfspace", "margin": 0.3}])
def test_points_have_unit_norm(options, dtype, generator):
    x = UnitSphere(d=7, **options).sample(500, generator=generator, dtype=dtype).x
    assert torch.allclose(x.norm(dim=1), torch.ones(500, dtype=dtype))


@pytest.mark.parametrize("labels", ["random", "halfspace"])
def test_points_are_uniform_up_to_second_moments(labels, generator, close_to_mean):
    samples = UnitSphere(d=5, labels=labels).sample(20_000, generator=generator)
    close_to_mean(samples.x, torch.zeros(5))
    close_to_mean(samples.x[:, :, None] * samples.x[:, None, :], torch.eye(5) / 5)
    close_to_mean(samples.y, 0.0)


def test_random_labels_are_uncorrelated_with_the_points(generator, close_to_mean):
    samples = UnitSphere(d=5).sample(20_000, generator=generator)
    close_to_mean(samples.y[:, None] * samples.x, torch.zeros(5))


@pytest.mark.parametrize("margin", [0.0, 0.2, 0.6])
def test_halfspace_labels_are_right_with_the_asked_margin(margin, generator):
    normal = torch.tensor([0.6, 0.0, -0.8], dtype=torch.float64)
    model = UnitSphere(d=3, labels="halfspace", margin=margin, normal=normal)
    samples = model.sample(2000, generator=generator)
    assert float((samples.y * (samples.x @ normal)).min()) >= margin - 1e-12


@pytest.mark.parametrize("d", [2, 3, 6])
def test_a_margin_conditions_the_uniform_law(d, generator):
    # Two-sample Kolmogorov-Smirnov against rejection, false alarm 1e-6 for each coordinate.
    free = UnitSphere(d=d, labels="halfspace").sample(20_000, generator=generator)
    kept = free.take(free.x[:, 0].abs() >= 0.4)
    drawn = UnitSphere(d=d, labels="halfspace", margin=0.4).sample(4000, generator=generator)
    for coordinate in (0, d - 1):
        first, second = (sample.x[:, coordinate].numpy() for sample in (kept, drawn))
        assert ks_2samp(first, second).pvalue > 1e-6


def test_rare_margins_in_high_dimension_are_sampled_exactly(generator):
    # P(|x_1| >= 0.6) is about 1e-99 at d = 1000, where x_1 sits within a few 1 / (d margin) of the margin.
    samples = UnitSphere(d=1000, labels="halfspace", margin=0.6).sample(200, generator=generator)
    height = samples.x[:, 0].abs()
    assert float(height.min()) >= 0.6
    assert float(height.max()) < 0.62


def test_separated_samples_keep_their_distance(generator):
    model = UnitSphere(d=6, separation=0.35)
    for _ in range(5):
        assert smallest_distance(model.sample(12, generator=generator).x) >= 0.35


def test_smallest_distance_matches_brute_force(generator):
    x = UnitSphere(d=4).sample(9, generator=generator).x
    brute = min(math.dist(x[i], x[j]) for i in range(9) for j in range(i))
    assert smallest_distance(x) == pytest.approx(brute)
    assert smallest_distance(x[:1]) == math.inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d": 0}, "`d` of `UnitSphere` must be a whole number >= 2, got 0."),
        ({"labels": "none"}, "`labels` of `UnitSphere` must be one of 'random', 'halfspace'; got 'none'."),
        (
            {"labels": "halfspace", "margin": 1.0},
            "`margin` of `UnitSphere` must be a number in [0, 1), got 1.0.",
        ),
        ({"margin": 0.1}, "`margin` of `UnitSphere` needs `labels` = 'halfspace', got 'random'."),
        (
            {"separation": 3.0},
            "`separation` of `UnitSphere` must be a finite number >= 0 and <= 2, got 3.0.",
        ),
        ({"normal": torch.ones(3)}, "`normal` of `UnitSphere` must have length 1, got 1.73205."),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        UnitSphere(**{"d": 3} | options)


def test_impossible_separation_is_refused_when_sampling(generator):
    with pytest.raises(
        ValueError, match=r"`separation` of `UnitSphere` must be smaller than 1\.9: no 5 points"
    ):
        UnitSphere(d=2, separation=1.9).sample(5, generator=generator)
