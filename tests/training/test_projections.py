import math

import pytest
import torch

from karat.core import two_inf_norm
from karat.nets import init
from karat.training import FrobeniusBall, TwoInfBall, frobenius_ball

RADIUS = 0.5


@pytest.fixture
def centre(generator):
    return init.gaussian(5, 8, generator=generator)


@pytest.fixture(params=["two_inf", "frobenius"])
def ball(request, centre):
    return (
        TwoInfBall(centre.W, RADIUS) if request.param == "two_inf" else frobenius_ball(centre, RADIUS, ("W",))
    )


def distance(ball, V):
    """How far V is from the ball's centre, in the ball's own norm."""
    if isinstance(ball, TwoInfBall):
        return two_inf_norm(V - ball.centre)
    return torch.linalg.vector_norm(V - ball.centres["W"])


def moved(centre, size, generator):
    return centre.replace(W=centre.W + size * torch.randn(8, 5, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize("size", [0.3, 1.0, 100.0])
def test_projection_lands_in_the_ball_and_is_idempotent(ball, centre, size, generator):
    once = ball(moved(centre, size, generator))
    assert distance(ball, once.W) <= RADIUS * (1 + 1e-12)
    torch.testing.assert_close(ball(once).W, once.W, rtol=0, atol=1e-14)


def test_projection_is_the_nearest_point(ball, centre, generator):
    """P is the projection of V to a convex set exactly if <V - P, Z - P> <= 0 for every Z of the set."""
    V = moved(centre, 1.0, generator)
    P = ball(V).W
    for _ in range(200):
        Z = ball(moved(centre, 1.0, generator)).W
        assert ((V.W - P) * (Z - P)).sum() <= 1e-12


def test_inside_the_ball_nothing_changes_to_the_last_bit(ball, centre, generator):
    net = moved(centre, 0.01, generator)
    assert distance(ball, net.W) < RADIUS
    assert ball(net).W is net.W


def test_radius_zero_returns_the_centre(centre, generator):
    net = moved(centre, 1.0, generator)
    assert torch.equal(TwoInfBall(centre.W, 0.0)(net).W, centre.W)
    assert torch.equal(frobenius_ball(centre, 0.0, ("W",))(net).W, centre.W)


def test_the_two_inf_ball_moves_each_neuron_on_its_own(centre):
    step = torch.zeros(8, 5, dtype=torch.float64)
    step[0, 1], step[1, 2] = 2.0, 0.25
    W = TwoInfBall(centre.W, RADIUS)(centre.replace(W=centre.W + step)).W
    torch.testing.assert_close(W[0], centre.W[0] + step[0] / 4)
    # Neurons inside keep their bits.
    assert torch.equal(W[1:], (centre.W + step)[1:])


def test_the_frobenius_ball_shrinks_all_neurons_alike(centre, generator):
    net = moved(centre, 1.0, generator)
    displacement = net.W - centre.W
    expected = centre.W + displacement * (RADIUS / displacement.norm())
    torch.testing.assert_close(frobenius_ball(centre, RADIUS, ("W",))(net).W, expected)


def test_the_frobenius_ball_treats_every_layer_on_its_own(build, generator):
    deep = build["deep"](generator)
    ball = frobenius_ball(deep, RADIUS, ("W1", "W2"))
    far = deep.replace(W1=deep.layers[0] + 1, W2=deep.layers[1] + 1e-3, A=deep.A + 1)
    back = ball(far)
    torch.testing.assert_close((back.layers[0] - deep.layers[0]).norm().item(), RADIUS)
    assert back.layers[1] is far.layers[1]
    assert back.A is far.A


def test_projection_leaves_the_given_net_alone(ball, centre, generator):
    net = moved(centre, 1.0, generator)
    W, start = net.W.clone(), centre.W.clone()
    ball(net)
    assert torch.equal(net.W, W)
    assert torch.equal(centre.W, start)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_finite_stay_so(ball, centre, value):
    W = centre.W.clone()
    W[0, 0] = value
    assert not bool(torch.isfinite(ball(centre.replace(W=W)).W).all())


def test_float32_weights_stay_float32(generator):
    centre = init.gaussian(5, 8, generator=generator, dtype=torch.float32)
    W = TwoInfBall(centre.W, RADIUS)(centre.replace(W=centre.W + 1)).W
    assert W.dtype == torch.float32
    assert two_inf_norm(W - centre.W) <= RADIUS * (1 + 1e-5)


def test_wrong_settings_are_named(centre, build, generator):
    with pytest.raises(
        ValueError, match=r"^`weight_radius` of `TwoInfBall` must be a finite number >= 0, got -1\.$"
    ):
        TwoInfBall(centre.W, -1)
    with pytest.raises(
        ValueError, match=r"^`weight_radius` of `FrobeniusBall` must be a finite number >= 0, got"
    ):
        FrobeniusBall({"W": centre.W}, math.nan)
    with pytest.raises(
        ValueError, match=r"^`FrobeniusBall` names the parameter 'W1', but the net has W, a\.$"
    ):
        frobenius_ball(centre, 1.0, ("W1",))
    with pytest.raises(
        ValueError, match=r"^`TwoInfBall` names the parameter 'W', but the net has A, W1, W2, a\.$"
    ):
        TwoInfBall(centre.W, 1.0)(build["deep"](generator))
