"""Density of vectors in a basis against formulas, orthogonality and white noise."""

import math

import pytest
import torch
from scipy.fft import dctn

from karat.core.checks import ShapeError
from karat.probes.bases import cosine_waves, frequency_coefficients, principal_components
from karat.probes.density import (
    components_for,
    leading_share,
    mean_density,
    noise_density,
    participation_ratio,
)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_equal_coefficients_participate_fully_whatever_their_signs_and_scale():
    signs = torch.randn(5, 40, generator=generator()).sign()
    assert participation_ratio(7 * signs).tolist() == pytest.approx([40] * 5)
    assert components_for(signs, 0.9).tolist() == [36] * 5


def test_one_coefficient_counts_as_one_and_a_zero_vector_as_none():
    c = torch.tensor([[0.0, -2.0, 0.0], [0.0, 0.0, 0.0]])
    assert participation_ratio(c).tolist() == [1.0, 0.0]
    assert components_for(c).tolist()[0] == 1


def test_components_for_is_the_least_number_by_brute_force():
    c = torch.randn(20, 30, generator=generator(), dtype=torch.float64)
    for row, found in zip(c, components_for(c, 0.75).tolist(), strict=True):
        energy = sorted((row**2).tolist(), reverse=True)
        assert sum(energy[:found]) >= 0.75 * sum(energy) > sum(energy[: found - 1])


def test_noise_density_agrees_with_drawn_noise():
    """4000 vectors: means lie within 4 standard errors, false alarm below 1e-4 per quantity."""
    noise = torch.randn(4000, 300, generator=generator(), dtype=torch.float64)
    formula = noise_density(300)
    squares = 1 / participation_ratio(noise)
    assert abs(float(squares.mean()) - 1 / formula.participation) < 4 * float(squares.std()) / math.sqrt(4000)
    shares = leading_share(noise)
    assert abs(float(shares.mean()) - formula.leading) < 4 * float(shares.std()) / math.sqrt(4000)
    # k90 is a limit: at 300 coefficients it is off by less than one.
    assert abs(float(components_for(noise).double().mean()) - formula.k90) < 1


def test_waves_are_orthonormal_and_agree_with_scipy():
    waves = cosine_waves(9)
    assert torch.allclose(waves @ waves.T, torch.eye(9, dtype=torch.float64), atol=1e-12)
    image = torch.randn(1, 1, 8, 8, generator=generator(), dtype=torch.float64)
    other = dctn(image[0, 0].numpy(), norm="ortho")
    ours = frequency_coefficients(image)[0]
    assert sorted(ours.tolist()) == pytest.approx(sorted(other.ravel().tolist()))
    assert float(ours[0]) == pytest.approx(other[0, 0])


def test_frequency_coefficients_keep_energy_and_put_slow_waves_first():
    x = torch.randn(3, 2, 8, 8, generator=generator(), dtype=torch.float64)
    assert torch.allclose(frequency_coefficients(x).square().sum(1), x.flatten(1).square().sum(1))
    flat = frequency_coefficients(torch.ones(1, 3, 8, 8))
    assert float(leading_share(flat, 3)) == pytest.approx(1.0)


def test_principal_components_are_orthonormal_and_ordered_by_variance():
    spread = torch.tensor([1.0, 5.0, 2.0, 0.0])
    x = torch.randn(500, 4, generator=generator(), dtype=torch.float64) * spread + 3
    basis = principal_components(x)
    assert torch.allclose(basis @ basis.T, torch.eye(4, dtype=torch.float64), atol=1e-10)
    assert basis.abs().argmax(dim=1).tolist() == [1, 2, 0, 3]


def test_components_that_single_precision_cannot_find_are_found_in_double(monkeypatch):
    plain = torch.linalg.eigh

    class Nothing:
        def __init__(self, size):
            self.eigenvectors = torch.full((size, size), torch.nan)

    monkeypatch.setattr(
        torch.linalg, "eigh", lambda square: plain(square) if square.dtype == torch.float64 else Nothing(4)
    )
    basis = principal_components(torch.randn(50, 4, generator=generator()))
    assert torch.allclose(basis @ basis.T, torch.eye(4, dtype=torch.float64), atol=1e-10)


def test_a_smooth_image_is_denser_in_pixels_than_in_waves():
    ramp = torch.linspace(0, 1, 16).expand(2, 1, 16, 16)
    pixels, waves = mean_density(ramp.flatten(1)), mean_density(frequency_coefficients(ramp))
    assert waves.participation < 0.05 * pixels.participation


def test_wrong_shapes_are_named():
    with pytest.raises(ShapeError, match=r"`images` must have shape"):
        frequency_coefficients(torch.zeros(2, 9))
    with pytest.raises(ShapeError, match="`coefficients` must have shape"):
        mean_density(torch.zeros(9))


@pytest.mark.slow
def test_components_of_few_images_with_empty_pixels_are_still_a_basis():
    images = torch.nn.functional.pad(torch.rand(40, 1, 12, 12, generator=generator()), (10,) * 4)
    basis = principal_components(images).double()
    assert torch.allclose(basis @ basis.T, torch.eye(1024, dtype=torch.float64), atol=1e-4)
