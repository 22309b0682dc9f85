"""Dictionaries and their norms."""

import math
import re

import pytest
import torch

from karat.data import (
    DICTIONARIES,
    coherence,
    draw_dictionary,
    hadamard,
    identity,
    incoherent,
    orthonormal,
    unitary,
)


@pytest.mark.parametrize("kind", ["identity", "unitary", "orthonormal", "hadamard"])
def test_square_dictionaries_are_orthogonal(kind, generator):
    M = draw_dictionary(kind, 16, 16, generator=generator)
    assert torch.allclose(M.T @ M, torch.eye(16, dtype=torch.float64))
    assert torch.allclose(M @ M.T, torch.eye(16, dtype=torch.float64))
    assert coherence(M) < 1e-12


@pytest.mark.parametrize("kind", DICTIONARIES)
def test_columns_have_unit_norm(kind, generator):
    M = draw_dictionary(kind, 8, 8, generator=generator)
    assert torch.allclose(torch.linalg.vector_norm(M, dim=0), torch.ones(8, dtype=torch.float64))


def test_orthonormal_columns_may_be_fewer_than_rows(generator):
    M = orthonormal(9, 4, generator=generator)
    assert M.shape == (9, 4)
    assert torch.allclose(M.T @ M, torch.eye(4, dtype=torch.float64))


def test_unitary_dictionaries_are_uniformly_oriented(generator, close_to_mean):
    draws = torch.stack([unitary(3, generator=generator) for _ in range(1000)])
    close_to_mean(draws, torch.zeros(3, 3))
    close_to_mean(draws**2, torch.full((3, 3), 1 / 3))
    close_to_mean(torch.linalg.det(draws), 0.0)


def test_hadamard_entries_have_equal_size():
    M = hadamard(32)
    assert torch.allclose(M.abs(), torch.full((32, 32), 1 / math.sqrt(32), dtype=torch.float64))


def test_coherence_is_the_largest_inner_product_of_different_columns(generator):
    M = incoherent(10, 15, generator=generator)
    brute = max(abs(float(M[:, i] @ M[:, j])) for i in range(15) for j in range(15) if i != j)
    assert coherence(M) == pytest.approx(brute)
    assert 0 < coherence(M) < 1


def test_identity_has_ones_on_its_diagonal():
    assert torch.equal(identity(7), torch.eye(7, dtype=identity(7).dtype))
    assert coherence(identity(7)) == 0


@pytest.mark.parametrize(
    ("kind", "d", "D", "message"),
    [
        ("hadamard", 12, 12, "`d` of `hadamard` must be a power of two such as 8 or 16, got 12."),
        ("hadamard", 8, 4, "`D` of the hadamard dictionary must equal `d` = 8, got 4."),
        ("identity", 0, 0, "`d` of `identity` must be a whole number >= 1, got 0."),
        ("unitary", 3, 4, "`D` of the unitary dictionary must equal `d` = 3, got 4."),
        ("orthonormal", 3, 4, "`D` of `orthonormal` must be at most `d` = 3, got 4."),
        ("incoherent", 3, 0, "`D` of `incoherent` must be a whole number >= 1, got 0."),
        (
            "sparse",
            3,
            3,
            "`dictionary` of `draw_dictionary` must be one of 'identity', 'unitary', 'orthonormal', "
            "'hadamard', 'incoherent'; got 'sparse'.",
        ),
    ],
)
def test_impossible_dictionaries_are_refused_in_one_sentence(kind, d, D, message, generator):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw_dictionary(kind, d, D, generator=generator)
