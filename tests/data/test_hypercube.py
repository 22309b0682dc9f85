"""Gaussian clusters on the corners of a cube."""

import re

import pytest
import torch

from karat.data import HypercubeMixture


@pytest.fixture
def model(generator):
    return HypercubeMixture.draw(d=10, k=3, sigma_r=0.7, generator=generator)


def test_without_noise_inputs_are_centres(generator):
    model = HypercubeMixture.draw(d=10, k=3, sigma_r=0.0, generator=generator)
    centres, labels = model.centres()
    samples = model.sample(200, generator=generator)
    assert torch.allclose(samples.x, centres[samples.component])
    assert torch.equal(samples.y, labels[samples.component])


def test_labels_are_the_parity_of_the_corner(model, generator):
    samples = model.sample(500, generator=generator)
    assert torch.equal(samples.y, samples.z.prod(dim=1))


def test_corners_are_uniform(model, generator, follows):
    samples = model.sample(8000, generator=generator)
    follows(samples.component, torch.full((8,), 1 / 8, dtype=torch.float64))


def test_noise_has_variance_sigma_squared_k_over_d(model, generator, close_to_mean):
    samples = model.sample(20_000, generator=generator)
    noise = samples.x - samples.z @ model.M.T
    close_to_mean(noise[:, :, None] * noise[:, None, :], 0.49 * 3 / 10 * torch.eye(10))


def test_centres_are_the_corners_of_a_cube_with_balanced_labels(model):
    centres, labels = model.centres()
    assert centres.shape == (8, 10)
    assert torch.allclose(centres.norm(dim=1), torch.full((8,), 3**0.5, dtype=torch.float64))
    assert float(labels.sum()) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": 0}, "`d` of `HypercubeMixture` must be a whole number >= 1, got 0."),
        ({"k": 6}, "`k` of `HypercubeMixture` must be at most `d` = 5, got 6."),
        ({"sigma_r": -1.0}, "`sigma_r` of `HypercubeMixture` must be a finite number >= 0, got -1.0."),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(change, message, generator):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        HypercubeMixture.draw(**{"d": 5, "k": 2, "sigma_r": 1.0, "generator": generator} | change)


def test_columns_that_are_not_orthonormal_are_refused():
    with pytest.raises(ValueError, match="`M` of `HypercubeMixture` must have orthonormal columns"):
        HypercubeMixture(M=torch.ones(3, 2), sigma_r=1.0)
