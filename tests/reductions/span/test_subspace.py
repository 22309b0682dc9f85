"""Coordinates of the span of weights and data keep every inner product that training sees."""

import pytest
import torch
from torch import Tensor

from karat.core import ShapeError
from karat.nets.init import pytorch_default, symmetric
from karat.nets.two_layer import TwoLayer
from karat.reductions.span import Subspace, span_of
from karat.reductions.span.factor import pivoted_cholesky


def data(n: int, d: int, seed: int = 0) -> Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def net_of(W: Tensor) -> TwoLayer:
    return TwoLayer(W, torch.ones(len(W), dtype=W.dtype))


def assert_isometric(space: Subspace, x: Tensor, rtol: float = 1e-12) -> None:
    """All inner products of weights and data, relative to the lengths of the two vectors."""
    before, after = torch.cat([space.original.W, x]), torch.cat([space.net.W, space.x])
    length = before.norm(dim=1).clamp_min(1e-300)
    error = (after @ after.T - before @ before.T).abs() / torch.outer(length, length)
    assert float(error.max()) < rtol


def test_generic_rows_have_one_coordinate_each() -> None:
    x, net = data(10, 200), pytorch_default(200, 15, generator=torch.Generator().manual_seed(1))
    space = span_of(net, x)
    assert space.r == 25
    assert_isometric(space, x)


def test_columns_are_added_up_over_blocks() -> None:
    x, net = data(3, 9001), pytorch_default(9001, 4, generator=torch.Generator().manual_seed(1))
    space = span_of(net, x)
    assert space.r == 7
    assert_isometric(space, x)


@pytest.mark.parametrize("init_scale", [1.0, 1e-9, 1e9])
def test_repeated_neurons_share_coordinates_at_any_size_of_the_weights(init_scale: float) -> None:
    x, net = data(10, 100), symmetric(100, 20, init_scale, generator=torch.Generator().manual_seed(1))
    space = span_of(net, x)
    assert space.r == 10 + 10
    assert_isometric(space, x)


def test_nothing_changes_when_the_dimension_is_no_larger_than_the_rows() -> None:
    x, net = data(10, 20), pytorch_default(20, 15, generator=torch.Generator().manual_seed(1))
    space = span_of(net, x)
    assert space.r == 20
    assert space.net is net
    assert space.points(x) is x
    assert space.lift(net) is net


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-7, 1e-9])
def test_rows_that_are_nearly_dependent_keep_their_difference(distance: float) -> None:
    """At distance 1e-7 the Gram matrix cannot tell dependence from rounding; the rows can."""
    W = data(5, 80)
    x = torch.cat([data(4, 80, seed=1), W[:1] + distance * data(1, 80, seed=2)])
    space = span_of(net_of(W), x)
    assert_isometric(space, x)
    gap = (space.x[-1] - space.net.W[0]).norm()
    assert float(gap) == pytest.approx(float((x[-1] - W[0]).norm()), rel=1e-5)


def test_zero_rows_are_allowed() -> None:
    W = torch.cat([torch.zeros(2, 50, dtype=torch.float64), data(3, 50)])
    x = data(4, 50, seed=1)
    space = span_of(net_of(W), x)
    assert space.r == 7
    assert float(space.net.W[:2].abs().max()) == 0
    nothing = span_of(
        net_of(torch.zeros(2, 50, dtype=torch.float64)), torch.zeros(3, 50, dtype=torch.float64)
    )
    assert nothing.r == 0


def test_further_points_keep_their_products_with_the_weights() -> None:
    x, net = data(10, 200), pytorch_default(200, 15, generator=torch.Generator().manual_seed(1))
    space, further = span_of(net, x), data(7, 200, seed=5)
    torch.testing.assert_close(
        space.points(further) @ space.net.W.T, further @ net.W.T, rtol=1e-11, atol=1e-13
    )
    torch.testing.assert_close(space.points(x), space.x, rtol=1e-11, atol=1e-12)
    assert bool((space.points(further).norm(dim=1) <= further.norm(dim=1)).all())


def test_lifting_undoes_the_reduction() -> None:
    x, net = data(10, 200), pytorch_default(200, 15, generator=torch.Generator().manual_seed(1))
    space = span_of(net, x)
    moved = net.replace(W=net.W + data(15, 10, seed=3) @ x)
    small = space.net.replace(W=space.net.W + data(15, 10, seed=3) @ space.x)
    torch.testing.assert_close(space.lift(small).W, moved.W, rtol=1e-11, atol=1e-12)


def test_float32_rows_stay_float32() -> None:
    net = pytorch_default(200, 15, generator=torch.Generator().manual_seed(1), dtype=torch.float32)
    space = span_of(net, data(10, 200).float())
    assert space.net.W.dtype == space.x.dtype == space.points(data(2, 200).float()).dtype == torch.float32


def test_data_of_another_dimension_is_refused() -> None:
    net = pytorch_default(20, 5, generator=torch.Generator().manual_seed(1))
    with pytest.raises(ShapeError, match=r"`x` must have shape \(\*, 20\), got \(10, 21\)"):
        span_of(net, data(10, 21))


def test_pivoted_cholesky_finds_the_rank() -> None:
    rows = data(8, 3)
    root, order = pivoted_cholesky(rows @ rows.T, 1e-12)
    assert root.shape == (8, 3)
    torch.testing.assert_close(root @ root.T, rows @ rows.T)
    assert sorted(order.tolist()) == list(range(8))
    torch.testing.assert_close(root[order[:3]].triu(1), torch.zeros(3, 3, dtype=torch.float64))
