"""Contract of Ball for every norm, with and without a box, on vectors and images, in both precisions."""

import math
import re

import pytest
import torch
from torch import Tensor

from karat.core import Ball, ShapeError, dual_exponent, norm

NORMS = [1.0, 2.0, math.inf]
BOXES = [None, (0.0, 1.0)]
DTYPES = [torch.float32, torch.float64]
RADII = {1.0: 1.3, 2.0: 0.7, math.inf: 0.2}
SHAPES = [(40, 9), (40, 3, 2, 2)]

each_norm = pytest.mark.parametrize("p", NORMS)
each_box = pytest.mark.parametrize("box", BOXES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
each_shape = pytest.mark.parametrize("shape", SHAPES)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def inputs(shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Tensor:
    """Inputs of the unit box, a third of their coordinates exactly on its faces."""
    x = torch.rand(shape, generator=generator, dtype=dtype)
    face = torch.rand(shape, generator=generator)
    return torch.where(face < 1 / 6, 0.0, torch.where(face > 5 / 6, 1.0, x)).to(dtype)


def noise(shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Tensor:
    """Directions whose lengths run from deep inside to far outside the balls of this file."""
    scale = torch.logspace(-2, 2, shape[0], dtype=dtype).reshape(-1, *[1] * (len(shape) - 1))
    return scale * torch.randn(shape, generator=generator, dtype=dtype)


def inner(u: Tensor, v: Tensor) -> Tensor:
    return (u * v).flatten(1).sum(1)


def rounding(dtype: torch.dtype) -> float:
    return 16 * torch.finfo(dtype).eps


# Projection ------------------------------------------------------------------------------------------


@each_norm
@each_box
@each_dtype
@each_shape
def test_projection_lands_inside_and_keeps_shape_and_dtype(p, box, dtype, shape, generator):
    ball, x, delta = Ball(p, RADII[p], box), inputs(shape, generator, dtype), noise(shape, generator, dtype)
    point = ball.project(delta, x)
    assert point.shape == delta.shape
    assert point.dtype == dtype
    assert (ball.excess(point, x) <= rounding(dtype)).all()


@each_norm
@each_box
@each_dtype
def test_projection_is_idempotent(p, box, dtype, generator):
    ball, x = Ball(p, RADII[p], box), inputs((40, 9), generator, dtype)
    once = ball.project(noise((40, 9), generator, dtype), x)
    torch.testing.assert_close(ball.project(once, x), once, rtol=rounding(dtype), atol=rounding(dtype))


@each_norm
@each_box
def test_projection_leaves_interior_points_untouched(p, box, generator):
    ball, x = Ball(p, RADII[p], box), inputs((200, 6), generator)
    inside = 0.9 * ball.sample(x, generator=generator)
    assert torch.equal(ball.project(inside, x), inside)


@each_norm
@each_box
def test_projection_is_non_expansive(p, box, generator):
    ball, x = Ball(p, RADII[p], box), inputs((40, 9), generator)
    u, v = noise((40, 9), generator), noise((40, 9), generator)
    assert (norm(ball.project(u, x) - ball.project(v, x), 2) <= norm(u - v, 2) * (1 + 1e-12)).all()


@each_norm
@each_box
@each_dtype
@each_shape
def test_projection_is_the_nearest_point(p, box, dtype, shape, generator):
    """The variational inequality <delta - P, v - P> <= 0 for all v of the set marks the projection."""
    ball, x, delta = Ball(p, RADII[p], box), inputs(shape, generator, dtype), noise(shape, generator, dtype)
    point = ball.project(delta, x)
    normal = delta - point
    allowed = rounding(dtype) * (1 + norm(normal, 2))
    rivals = [ball.sample(x, generator=generator) for _ in range(30)]
    rivals += [ball.extreme_point(torch.randn(shape, generator=generator, dtype=dtype), x) for _ in range(30)]
    # The hardest rival is the point of the set that goes furthest along the normal.
    rivals += [ball.extreme_point(normal, x), torch.zeros_like(delta)]
    for rival in rivals:
        assert (inner(normal, rival - point) <= allowed).all()


@each_norm
@each_box
def test_projection_to_radius_zero_is_zero(p, box, generator):
    x, delta = inputs((40, 9), generator), noise((40, 9), generator)
    assert not Ball(p, 0.0, box).project(delta, x).any()


@each_norm
def test_a_box_that_is_far_away_changes_nothing(p, generator):
    x, delta, g = (noise((40, 9), generator) for _ in range(3))
    plain, boxed = Ball(p, RADII[p]), Ball(p, RADII[p], (-1e6, 1e6))
    torch.testing.assert_close(boxed.project(delta, x), plain.project(delta), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(boxed.extreme_point(g, x), plain.extreme_point(g), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(boxed.excess(delta, x), plain.excess(delta), rtol=1e-12, atol=1e-12)


@each_norm
def test_a_ball_that_is_far_wider_than_the_box_is_the_box(p, generator):
    x, delta = inputs((40, 9), generator), noise((40, 9), generator)
    torch.testing.assert_close(Ball(p, 1e6, (0, 1)).project(delta, x), (x + delta).clamp(0, 1) - x)


@each_norm
@each_dtype
@pytest.mark.parametrize("power", [6, 12, 18, 25])
def test_projection_of_a_huge_point_still_has_the_radius(p, dtype, power):
    # l1: the huge entries agree to the last digit, so their threshold has more digits than the format holds.
    delta = torch.tensor([[1.0, -1.0, 1.0, 0.5]], dtype=dtype) * 10.0**power
    point = Ball(p, 0.1).project(delta)
    torch.testing.assert_close(norm(point, p), torch.tensor([0.1], dtype=dtype), rtol=rounding(dtype), atol=0)


@each_norm
@each_box
@each_dtype
def test_a_huge_point_is_projected_into_the_set(p, box, dtype, generator):
    ball, x = Ball(p, 0.1, box), inputs((40, 9), generator, dtype)
    for power in (6, 12, 25):
        delta = 10.0**power * torch.randn(40, 9, generator=generator, dtype=dtype)
        assert (ball.excess(ball.project(delta, x), x) <= rounding(dtype)).all()


# Extreme points --------------------------------------------------------------------------------------


@each_norm
@each_dtype
@each_shape
def test_the_extreme_point_attains_the_dual_norm(p, dtype, shape, generator):
    g = noise(shape, generator, dtype)
    point = Ball(p, 0.3).extreme_point(g)
    assert point.shape == shape
    assert point.dtype == dtype
    torch.testing.assert_close(inner(g, point), 0.3 * norm(g, dual_exponent(p)))
    assert (Ball(p, 0.3).excess(point) <= rounding(dtype)).all()


@each_norm
@each_box
@each_dtype
@each_shape
def test_no_point_of_the_set_goes_further_than_the_extreme_point(p, box, dtype, shape, generator):
    ball, x = Ball(p, RADII[p], box), inputs(shape, generator, dtype)
    g = torch.randn(shape, generator=generator, dtype=dtype)
    point = ball.extreme_point(g, x)
    assert (ball.excess(point, x) <= rounding(dtype)).all()
    best = inner(g, point)
    for _ in range(60):
        rival = ball.project(torch.randn(shape, generator=generator, dtype=dtype) + g, x)
        assert (inner(g, rival) <= best + rounding(dtype) * (1 + best)).all()
    # Projecting a far point along g comes as near to the extreme point as one likes.
    far = inner(g, ball.project(1e3 * g, x))
    assert (far <= best + rounding(dtype) * (1 + best)).all()
    assert (far >= best - 1e-2).all()


@each_norm
@each_box
def test_the_extreme_point_of_a_zero_gradient_is_zero(p, box, generator):
    x, g = inputs((40, 9), generator), torch.zeros(40, 9, dtype=torch.float64)
    assert not Ball(p, 0.5, box).extreme_point(g, x).any()
    g[:, 0] = 1.0
    point = Ball(p, 0.5, box).extreme_point(g, x)
    assert not point[:, 1:].any()
    assert (point[:, 0] > 0).any()


@each_norm
@each_box
@pytest.mark.parametrize(
    ("dtype", "size"), [(torch.float64, 1e-300), (torch.float32, 1e-37), (torch.float32, 1e30)]
)
def test_the_extreme_point_does_not_depend_on_the_size_of_the_gradient(p, box, dtype, size, generator):
    ball, x = Ball(p, 0.5, box), inputs((40, 9), generator, dtype)
    g = torch.randn(40, 9, generator=generator, dtype=dtype)
    torch.testing.assert_close(
        ball.extreme_point(size * g, x), ball.extreme_point(g, x), rtol=1e-5, atol=1e-6
    )


@each_norm
@each_box
@pytest.mark.parametrize(("dtype", "smallest"), [(torch.float32, 1.5e-45), (torch.float64, 5e-324)])
def test_a_gradient_of_the_smallest_numbers_still_keeps_the_budget(p, box, dtype, smallest):
    ball, x = Ball(p, 0.2, box), torch.full((1, 9), 0.5, dtype=dtype)
    point = ball.extreme_point(torch.full_like(x, smallest), x)
    assert (point >= 0).all()
    torch.testing.assert_close(norm(point, p), torch.tensor([0.2], dtype=dtype))


@each_norm
@each_box
def test_the_extreme_point_at_radius_zero_is_zero(p, box, generator):
    x, g = inputs((40, 9), generator), noise((40, 9), generator)
    assert not Ball(p, 0.0, box).extreme_point(g, x).any()


def test_ties_of_an_l1_gradient_go_to_the_first_coordinate():
    g = torch.tensor([[1.0, -2.0, 2.0]])
    assert Ball(1, 0.5).extreme_point(g).tolist() == [[0.0, -0.5, 0.0]]


def test_tiny_entries_of_a_gradient_count_once_the_large_ones_are_blocked_by_the_box():
    x = torch.tensor([[1.0, 0.9, 0.5, 0.5]], dtype=torch.float64)
    g = torch.tensor([[1.0, 1.0, 3e-200, 4e-200]], dtype=torch.float64)
    point = Ball(2, 0.5, (0, 1)).extreme_point(g, x)
    rest = math.sqrt(0.25 - 0.01)
    expected = torch.tensor([[0.0, 0.1, 0.6 * rest, 0.8 * rest]], dtype=torch.float64)
    torch.testing.assert_close(point, expected, rtol=1e-12, atol=1e-15)


@each_dtype
def test_an_l1_budget_is_not_swamped_by_a_wide_box(dtype):
    ball, x = Ball(1, 0.1, (-1e6, 1.0)), torch.tensor([[0.95, 0.0, 0.0]], dtype=dtype)
    point = ball.extreme_point(torch.tensor([[3.0, -2.0, 1.0]], dtype=dtype), x)
    torch.testing.assert_close(point, torch.tensor([[0.05, -0.05, 0.0]], dtype=dtype), rtol=1e-5, atol=1e-8)


# Radii -----------------------------------------------------------------------------------------------


@each_norm
@each_box
def test_one_radius_per_sample_is_one_ball_per_sample(p, box, generator):
    x, delta, g = inputs((6, 9), generator), noise((6, 9), generator), noise((6, 9), generator)
    radii = torch.tensor([0.0, 1e-9, 0.1, 0.5, 2.0, 1e3], dtype=torch.float64)
    ball = Ball(p, radii, box)
    for i, tau in enumerate(radii.tolist()):
        own, row = Ball(p, tau, box), slice(i, i + 1)
        torch.testing.assert_close(
            ball.project(delta, x)[row], own.project(delta[row], x[row]), rtol=1e-12, atol=0
        )
        torch.testing.assert_close(
            ball.extreme_point(g, x)[row], own.extreme_point(g[row], x[row]), rtol=1e-12, atol=0
        )
        torch.testing.assert_close(ball.excess(delta, x)[row], own.excess(delta[row], x[row]))


@each_norm
@each_box
def test_a_wrong_number_of_radii_is_a_shape_error(p, box, generator):
    ball, x = Ball(p, torch.ones(3), box), inputs((4, 2), generator)
    message = exactly("`tau` of `Ball` holds 3 radii for 4 samples.")
    for act in (ball.project, ball.extreme_point, ball.excess):
        with pytest.raises(ShapeError, match=message):
            act(x, x)
    with pytest.raises(ShapeError, match=message):
        ball.sample(x, generator=generator)


def test_the_radius_takes_the_dtype_of_the_samples():
    x = torch.zeros(3, 2, dtype=torch.float64)
    assert torch.equal(Ball(2, 0.1).radius(x), torch.full((3,), 0.1, dtype=torch.float64))
    assert Ball(2, torch.tensor(0.5)).radius(x.float()).dtype == torch.float32


@each_norm
def test_single_numbers_are_samples_of_one_coordinate(p):
    delta = torch.tensor([-3.0, 0.1, 2.0])
    assert Ball(p, 0.5).project(delta).tolist() == pytest.approx([-0.5, 0.1, 0.5])
    assert Ball(p, 0.5).extreme_point(delta).tolist() == pytest.approx([-0.5, 0.5, 0.5])
    boxed = Ball(p, 0.5, (0, 1)).project(delta, torch.tensor([0.2, 0.2, 0.8]))
    assert boxed.tolist() == pytest.approx([-0.2, 0.1, 0.2])


# Excess ----------------------------------------------------------------------------------------------


@each_norm
def test_the_excess_is_the_signed_distance_in_the_balls_own_norm(p):
    delta = torch.tensor([[0.5, 0.0], [2.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(
        Ball(p, 1.0).excess(delta), torch.tensor([-0.5, 1.0, -1.0], dtype=torch.float64)
    )


def test_the_excess_counts_the_worst_of_ball_and_box():
    x, delta = torch.tensor([[0.9, 0.5], [0.9, 0.5]]), torch.tensor([[0.3, 0.0], [0.05, 0.0]])
    excess = Ball(2, 0.25, (0, 1)).excess(delta, x)
    torch.testing.assert_close(excess, torch.tensor([0.2, -0.05]))


# Values and errors -----------------------------------------------------------------------------------


def test_balls_compare_by_value_and_do_not_hash():
    radii = torch.tensor([0.1, 0.2])
    assert Ball(2, 0.1) == Ball("2", torch.tensor(0.1, dtype=torch.float64))
    assert Ball("inf", radii, (0, 1)) == Ball(math.inf, radii.clone(), (0.0, 1.0))
    assert Ball(2, 0.1) != Ball(1, 0.1)
    assert Ball(2, 0.1) != Ball(2, 0.2)
    assert Ball(2, 0.1) != Ball(2, 0.1, (0, 1))
    assert Ball(2, radii) != Ball(2, torch.tensor([0.1]))
    assert Ball(2, 0.1) != 0.1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ball(2, radii))


def test_with_tau_keeps_norm_and_box():
    assert Ball(1, 0.1, (0, 1)).with_tau(0.4) == Ball(1, 0.4, (0, 1))
    with pytest.raises(ValueError, match=exactly("`tau` of `Ball` must be a finite number >= 0, got -1.")):
        Ball(1, 0.1).with_tau(-1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 0.1), ValueError, "`p` of `Ball` must be one of 1, 2, inf; got 3."),
        ((2, -0.1), ValueError, "`tau` of `Ball` must be a finite number >= 0, got -0.1."),
        ((2, math.inf), ValueError, "`tau` of `Ball` must be a finite number >= 0, got inf."),
        ((2, "a"), TypeError, "`tau` of `Ball` must be a number, got 'a'."),
        (
            (2, torch.tensor([0.5, -1.0])),
            ValueError,
            "`tau` of `Ball` must hold finite numbers >= 0, got -1.",
        ),
        ((2, torch.tensor(math.nan)), ValueError, "`tau` of `Ball` must hold finite numbers >= 0, got nan."),
        ((2, torch.ones(2, 1)), ShapeError, "`tau` of `Ball` must have shape () or (n,), got (2, 1)."),
        ((2, 0.1, (1, 0)), ValueError, "`box` of `Ball` must have low < high, got (1, 0)."),
        ((2, 0.1, (0, math.inf)), ValueError, "`box` of `Ball` must be a finite number, got inf."),
        ((2, 0.1, 1.0), TypeError, "`box` of `Ball` must be a pair (low, high), got 1.0."),
        ((2, 0.1, (0, 1, 2)), TypeError, "`box` of `Ball` must be a pair (low, high), got (0, 1, 2)."),
    ],
)
def test_impossible_balls_are_refused(arguments, error, message):
    with pytest.raises(error, match=exactly(message)):
        Ball(*arguments)


@each_norm
def test_a_box_needs_inputs_of_the_right_shape_inside_it(p):
    ball, delta = Ball(p, 0.1, (0, 1)), torch.zeros(2, 3)
    for act in (ball.project, ball.extreme_point, ball.excess):
        with pytest.raises(
            ValueError, match=exactly("a `Ball` with a box needs the inputs `x` it is placed around.")
        ):
            act(delta)
        with pytest.raises(ShapeError, match=exactly("`x` must have shape (2, 3), got (1, 3).")):
            act(delta, torch.zeros(1, 3))
        with pytest.raises(ValueError, match=exactly("`x` leaves the box (0.0, 1.0) of `Ball`.")):
            act(delta, torch.full((2, 3), 1.5))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
def test_half_precision_is_projected_in_single_precision(p, dtype, generator):
    delta = torch.randn(6, 50, generator=generator).to(dtype)
    ball = Ball(p, 0.7)
    assert torch.equal(ball.project(delta), ball.project(delta.float()).to(dtype))
    assert torch.equal(ball.extreme_point(delta), ball.extreme_point(delta.float()).to(dtype))


@pytest.mark.parametrize(
    "tau", [1e39, torch.tensor([1.0, 1e39], dtype=torch.float64)], ids=["number", "tensor"]
)
def test_a_radius_that_the_inputs_type_cannot_hold_is_refused(tau):
    with pytest.raises(ValueError, match=r"`tau` of `Ball` must fit into torch.float32.*got 1e\+39"):
        Ball(2, tau).project(torch.ones(2, 3))
    assert Ball(2, tau).radius(torch.ones(2, 3, dtype=torch.float64)).max() == 1e39
