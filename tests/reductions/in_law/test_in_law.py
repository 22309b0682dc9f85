"""Draws by law against matrices, in distribution; what the plane sees of a given matrix, exactly."""

import math

import pytest
import torch
from scipy.stats import ks_2samp, kstest

from karat.nets import TwoLayer, init
from karat.reductions.in_law import (
    PlaneStart,
    Problem,
    draw_plane_start,
    largest_margins,
    plane_start_of,
    reduce,
    step,
)
from karat.reductions.in_law.diagram import start_matrix

D, M, DRAWS = 20, 300, 400
# A correct law raises one of the ten comparisons below with probability at most 1e-3.
FALSE_ALARM = 1e-4


def seed(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def from_matrix(number: int) -> PlaneStart:
    net = init.gaussian(D, M, generator=seed(number))
    x = torch.nn.functional.normalize(
        torch.randn(D, generator=seed(10**6 + number), dtype=net.W.dtype), dim=0
    )
    return plane_start_of(net, x)[0]


def by_law(number: int) -> PlaneStart:
    return draw_plane_start(D, M, generator=seed(2 * 10**6 + number), dtype=torch.float64)


def flip_length(start: PlaneStart) -> float:
    """First length of a walk against the gradient at which the start changes sign."""
    y = 1 if start.value > 0 else -1
    walks = torch.linspace(0, 3, 301).tolist()
    margins = largest_margins(start, y, walks, [0.0] * len(walks))
    return next((walk for walk, margin in zip(walks, margins, strict=True) if margin <= 0), math.inf)


def seen(start: PlaneStart) -> dict[str, float]:
    reach = largest_margins(start, 1, [0.0, 0.5, 2.0], [0.3, 0.3, 0.0])
    near = start.z.abs() < 0.2
    return {
        "value": start.value,
        "gradient": start.gradient,
        "largest margin at x": reach[0],
        "largest margin on the way": reach[1],
        "value far away": reach[2],
        "flip length": flip_length(start),
        "rows near their kink": float((start.a * start.h)[near].sum()),
        "one row": float(start.h[0]),
        "one active row": float((start.a * start.h)[start.z > 0][0]),
        "longest row": float(start.h.abs().max()),
    }


@pytest.fixture(scope="module")
def draws() -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    return [seen(from_matrix(i)) for i in range(DRAWS)], [seen(by_law(i)) for i in range(DRAWS)]


@pytest.mark.parametrize("quantity", list(seen(by_law(0))))
def test_draws_by_law_are_distributed_as_matrices_are(
    draws: tuple[list[dict[str, float]], list[dict[str, float]]], quantity: str
) -> None:
    matrices, law = ([one[quantity] for one in each] for each in draws)
    assert ks_2samp(matrices, law).pvalue > FALSE_ALARM


def test_the_comparison_sees_a_wrong_law(
    draws: tuple[list[dict[str, float]], list[dict[str, float]]],
) -> None:
    """Rows that do not know the gradient, as if h were independent of everything."""
    forgotten = []
    for i in range(DRAWS):
        start = by_law(i)
        h = torch.randn(M, generator=seed(i), dtype=torch.float64)
        forgotten.append(
            seen(PlaneStart(start.positive, start.z, h, start.gradient, D))["largest margin on the way"]
        )
    assert ks_2samp([one["largest margin on the way"] for one in draws[0]], forgotten).pvalue < FALSE_ALARM


def test_lifted_entries_are_independent_standard_normals() -> None:
    """False alarm 1e-4 each."""
    nets = [start_matrix(Problem(d=7, m=9, weight_radius=0.0, seed=i)) for i in range(400)]
    W = torch.stack([net.W for net in nets])
    assert kstest(W.flatten().numpy(), "norm").pvalue > FALSE_ALARM
    # Sums over a row and over a column are where dependence would show.
    for sums, count in ((W.sum(dim=2), 7), (W.sum(dim=1), 9)):
        assert kstest(sums.flatten().numpy() / math.sqrt(count), "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("y", [-1, 1])
def test_what_the_plane_sees_of_a_matrix_is_exact(y: int) -> None:
    """Value, gradient, and the supremum over the ball, which no net of the ball exceeds and one attains."""
    V, walk = 0.2, 0.7
    net = init.gaussian(D, M, generator=seed(5))
    x = torch.nn.functional.normalize(torch.randn(D, generator=seed(6), dtype=torch.float64), dim=0)
    start, g = plane_start_of(net, x)
    value, gradient = net.value_and_input_gradient(x.unsqueeze(0))
    assert start.value == pytest.approx(float(value), rel=1e-12)
    # f is homogeneous: the gradient along x is f.
    assert math.hypot(start.gradient, start.value) == pytest.approx(float(gradient.norm()), rel=1e-12)
    p = torch.nn.functional.normalize(x - y * walk * g, dim=0)
    (supremum,) = largest_margins(start, y, [walk], [V])
    for _ in range(20):
        moved = torch.nn.functional.normalize(
            torch.randn(M, D, generator=seed(7), dtype=torch.float64), dim=1
        )
        assert y * float(net.replace(W=net.W + V * moved)(p.unsqueeze(0))) < supremum
    ends = [net.preactivations(p.unsqueeze(0))[0] + shift for shift in (-V, V)]
    best = torch.maximum(*(y * net.a * torch.relu(end) for end in ends)).sum() / math.sqrt(M)
    assert supremum == pytest.approx(float(best), rel=1e-12)


def test_single_precision_is_enough() -> None:
    starts = [draw_plane_start(400, 10**5, generator=seed(1), dtype=torch.float32)]
    start = starts[0]
    precise = PlaneStart(start.positive, start.z.double(), start.h.double(), start.gradient, start.d)
    tangents, radii = [0.0, 0.2, 1.0], [0.01, 0.01, 0.1]
    assert largest_margins(start, 1, tangents, radii) == pytest.approx(
        largest_margins(precise, 1, tangents, radii), abs=1e-4
    )


def test_the_gradient_grows_with_the_root_of_the_dimension() -> None:
    for d in (10**3, 10**6, 10**9):
        start = draw_plane_start(d, 2000, generator=seed(2))
        assert start.gradient / math.sqrt(d / 2) == pytest.approx(1, abs=0.15)


def test_without_a_ball_and_at_the_input_the_margin_is_that_of_the_start() -> None:
    state = reduce(Problem(d=50, m=80, weight_radius=0.0, y=-1))
    assert state.margin == pytest.approx(-state.start.value, rel=1e-12)
    assert step(state).margin < state.margin


def test_a_single_inactive_neuron_has_no_gradient() -> None:
    starts = [draw_plane_start(5, 1, generator=seed(i)) for i in range(20)]
    silent = [start for start in starts if float(start.z[0]) <= 0]
    assert silent
    assert all(start.gradient == 0 == start.value for start in silent)


def test_a_gradient_along_the_input_alone_has_no_direction_across() -> None:
    x = torch.tensor([1.0, 0.0], dtype=torch.float64)
    start, g = plane_start_of(TwoLayer(x.unsqueeze(0), torch.ones(1, dtype=torch.float64)), x)
    assert float(g.norm()) == 0 == start.gradient
