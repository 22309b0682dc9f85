"""The fast transform against plain sums over the cube."""

import itertools
import math

import pytest
import torch

from karat.core.walsh import cube, parity_correlations, sets_of_size


def test_transform_is_the_mean_of_products():
    D = 4
    z = cube(D)
    f = torch.randn(2**D, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    table = parity_correlations(f)
    for row in range(2**D):
        chosen = [j for j in range(D) if row >> j & 1]
        parity = z[:, chosen].prod(dim=1)
        assert torch.allclose(table[row], (f * parity[:, None]).mean(dim=0))


def test_parseval_holds():
    f = torch.randn(64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert parity_correlations(f).square().sum() == pytest.approx(float(f.square().mean()))


def test_different_parities_are_uncorrelated():
    D = 6
    z = cube(D)
    sets = list(itertools.combinations(range(D), 3))
    table = torch.stack([z[:, list(chosen)].prod(dim=1) for chosen in sets])
    assert torch.allclose(table @ table.T / 2**D, torch.eye(len(sets), dtype=torch.float64))


@pytest.mark.parametrize("k", range(6))
def test_sets_of_size_are_all_of_them(k):
    assert len(sets_of_size(5, k)) == math.comb(5, k)


def test_a_length_that_is_no_power_of_two_is_refused():
    with pytest.raises(ValueError, match=r"must have 2\^D rows, got 6"):
        parity_correlations(torch.zeros(6))
