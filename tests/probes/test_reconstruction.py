"""Lasso paths against scikit-learn, closed forms and optimality; atoms of layers; spans."""

import math

import pytest
import torch
from sklearn.linear_model import Lasso
from torch import nn

from karat.core.checks import ShapeError
from karat.probes.lasso import lasso_path
from karat.probes.reconstruction import (
    as_targets,
    blurred,
    blurred_noise,
    filter_atoms,
    rescaled,
)
from karat.probes.span import span_error, worst_span_error


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def problem(atoms: int = 40, d: int = 25, n: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    g = generator()
    A = torch.nn.functional.normalize(torch.randn(atoms, d, generator=g, dtype=torch.float64), dim=1)
    return torch.randn(n, d, generator=g, dtype=torch.float64), A


@pytest.mark.slow
def test_path_agrees_with_coordinate_descent_of_scikit_learn():
    x, A = problem()
    path = lasso_path(x, A, ratios=(0.3, 0.1), iterations=2000)
    for i, target in enumerate(x):
        weight = 0.1 * float((A @ target).abs().max())
        # scikit-learn divides the squared error by twice the number of rows, here d.
        other = Lasso(alpha=weight / 25, fit_intercept=False, tol=1e-12, max_iter=100_000)
        other.fit(A.T.numpy(), target.numpy())
        assert path.codes[-1][i].tolist() == pytest.approx(other.coef_.tolist(), abs=1e-6)
        assert int(path.nonzeros[1, i]) == int((other.coef_ != 0).sum())


@pytest.mark.slow
def test_gap_is_a_gap_and_closes():
    x, A = problem()
    few, many = (lasso_path(x, A, ratios=(0.2,), iterations=count).gaps for count in (3, 2000))
    assert float(many.max()) < 1e-10
    assert bool((few >= -1e-12).all())
    assert float(few.min()) > float(many.max())


@pytest.mark.slow
def test_every_solution_is_optimal_by_its_subgradient():
    x, A = problem()
    path = lasso_path(x, A, ratios=(0.4, 0.15), iterations=3000)
    c = path.codes[-1]
    slope = (x - c @ A) @ A.T
    weight = 0.15 * (x @ A.T).abs().amax(dim=1, keepdim=True)
    assert bool((slope.abs() <= weight * (1 + 1e-6)).all())
    active = c != 0
    assert torch.allclose((slope * c.sign())[active], weight.expand_as(c)[active], rtol=1e-6)


def test_orthonormal_atoms_give_the_soft_threshold():
    x = torch.tensor([[3.0, -1.0, 0.4]], dtype=torch.float64)
    path = lasso_path(x, torch.eye(3, dtype=torch.float64), ratios=(0.25,), iterations=50)
    assert path.codes[-1][0].tolist() == pytest.approx([2.25, -0.25, 0.0])
    assert path.codes[-1][0, 2] == 0
    assert int(path.nonzeros[0, 0]) == 2
    error = (0.75**2 + 0.75**2 + 0.4**2) / float(x.square().sum())
    assert float(path.errors[0, 0]) == pytest.approx(error)


@pytest.mark.slow
def test_the_path_does_not_depend_on_the_scale_of_targets_and_atoms():
    x, A = problem()
    one, other = lasso_path(x, A), lasso_path(100 * x, 3 * A)
    assert torch.equal(one.nonzeros, other.nonzeros)
    assert torch.allclose(one.errors, other.errors)


@pytest.mark.slow
def test_nonzeros_at_interpolates_and_is_infinite_below_the_floor():
    x, _ = problem()
    path = lasso_path(x, torch.eye(25, dtype=torch.float64)[:5], iterations=200)
    floor = float(span_error(x, torch.eye(25)[:5]).min())
    assert bool(torch.isinf(path.nonzeros_at(0.9 * floor)).all())
    full = lasso_path(x, torch.eye(25, dtype=torch.float64))
    at = [full.nonzeros_at(level) for level in (0.5, 0.2, 0.05)]
    assert bool((at[0] <= at[1]).all())
    assert bool((at[1] <= at[2]).all())
    assert float(full.nonzeros_at(1.0).max()) == 0


@pytest.mark.parametrize("ratios", [(), (0.1, 0.2), (1.0, 0.5), (0.5, 0.5), (0.5, 0.0)])
def test_ratios_must_fall_inside_the_unit_interval(ratios):
    x, A = problem()
    with pytest.raises(ValueError, match="`ratios` of `lasso_path` must fall"):
        lasso_path(x, A, ratios=ratios)


def test_atoms_of_a_convolution_are_its_transpose():
    layer = nn.Conv2d(2, 3, 3, stride=2, padding=1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(3, 2, 3, 3, generator=generator()))
    atoms = filter_atoms(layer.weight.detach(), (2, 6, 6), stride=2, padding=1)
    # Column of the transpose: the gradient of one output in the input.
    x = torch.zeros(1, 2, 6, 6, requires_grad=True)
    outputs = layer(x).flatten()
    assert len(atoms) == len(outputs)
    for index in range(len(outputs)):
        (column,) = torch.autograd.grad(outputs[index], x, retain_graph=True)
        assert torch.allclose(atoms[index], column.flatten() / column.norm(), atol=1e-6)


def test_filters_that_do_not_fit_the_images_are_refused():
    with pytest.raises(ShapeError, match="do not fit images"):
        filter_atoms(torch.zeros(2, 3, 3, 3), (1, 8, 8), stride=1, padding=1)


def test_blurring_keeps_constants_and_makes_noise_smooth():
    constant = torch.full((2, 3, 5, 5), 0.7)
    assert torch.allclose(blurred(constant, 3), constant)
    noise = blurred_noise(torch.zeros(50, 1, 11, 11), 5, generator=generator())
    inner = noise[:, :, 2:-2, 2:-2]
    neighbours = (inner[..., 1:] * inner[..., :-1]).mean() / inner.square().mean()
    assert float(neighbours) == pytest.approx(0.8, abs=0.06)  # boxes of five columns share four
    with pytest.raises(ValueError, match="`size` of `blurred` must be odd"):
        blurred(constant, 4)


def test_targets_have_mean_zero_and_perturbations_the_size_of_their_image():
    g = generator()
    images, delta = torch.rand(3, 3, 4, 4, generator=g), 0.01 * torch.randn(3, 3, 4, 4, generator=g)
    assert float(as_targets(images).reshape(3, 3, 16).mean(dim=2).abs().max()) < 1e-6
    assert torch.allclose(rescaled(delta, images).norm(dim=1), as_targets(images).norm(dim=1))


def test_span_error_is_that_of_least_squares():
    x, _ = problem()
    for rows in (10, 60):
        A = torch.randn(rows, 25, generator=generator(), dtype=torch.float64)
        A[:, 20:] = 0  # rank 20 at most
        fit = torch.linalg.lstsq(A.T, x.T, driver="gelsd").solution.T @ A
        exact = (x - fit).square().sum(dim=1) / x.square().sum(dim=1)
        found = span_error(x, A)
        assert torch.allclose(found, exact, atol=1e-7)
        assert bool((found >= exact - 1e-12).all())


def test_span_error_limits():
    x, _ = problem()
    assert float(span_error(x, torch.eye(25)).max()) < 1e-12
    assert span_error(x, torch.zeros(3, 25)).tolist() == [1.0] * 4
    assert math.isclose(float(span_error(torch.ones(1, 2), torch.tensor([[1.0, -1.0]]))), 1.0)


def test_the_worst_span_error_is_that_of_the_weakest_direction():
    atoms = torch.randn(12, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    atoms[:, 3] *= 1e-5
    weakest = torch.linalg.eigh(atoms.T @ atoms).eigenvectors[:, 0]
    others = torch.randn(200, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    worst = worst_span_error(atoms)
    assert worst == pytest.approx(float(span_error(weakest[None], atoms)), rel=1e-6)
    assert float(span_error(others, atoms).max()) <= worst
    assert worst_span_error(atoms[:7]) == 1.0  # seven atoms leave a direction out
    assert worst_span_error(torch.zeros(9, 8)) == 1.0
