import math

import pytest
import torch

from karat.nets import TwoLayer, to_module
from karat.training import CubicNorms, SquaredNorms


def autograd(regulariser, net):
    """Gradients of the value by autograd, for the parameters it touches."""
    module = to_module(net)
    regulariser.value(module.net()).backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    "regulariser", [SquaredNorms({"W": 0.3, "a": 0.7}), SquaredNorms({"b": 0.1}), CubicNorms(0.4)]
)
def test_the_gradient_is_that_of_the_value(regulariser, two_layer):
    gradient, expected = regulariser.gradient(two_layer), autograd(regulariser, two_layer)
    assert set(gradient) == set(expected)
    for name, term in gradient.items():
        torch.testing.assert_close(term, expected[name])


def test_squared_norms_have_no_half(two_layer):
    value = SquaredNorms({"W": 0.5, "a": 2.0}).value(two_layer)
    torch.testing.assert_close(value, 0.5 * two_layer.W.square().sum() + 2 * two_layer.a.square().sum())
    assert torch.equal(SquaredNorms({"W": 0.5}).gradient(two_layer)["W"], two_layer.W)


def test_the_cubic_term_is_the_cube_of_the_euclidean_norm():
    net = TwoLayer(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.ones(2))
    # |w|_2 = 5: 25/2 + 125/3, where the cubed l3 norm would give 25/2 + 91/3.
    assert CubicNorms(6.0).value(net).item() == pytest.approx(6 * (25 / 2 + 125 / 3))
    assert CubicNorms(0.5).gradient(net)["W"].tolist() == [[9.0, 12.0], [0.0, 0.0]]


def test_rotating_the_weights_does_not_change_the_cubic_penalty(two_layer, generator):
    draw = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    rotated = two_layer.replace(W=two_layer.W @ torch.linalg.qr(draw).Q)
    torch.testing.assert_close(CubicNorms(1.0).value(rotated), CubicNorms(1.0).value(two_layer))


@pytest.mark.parametrize("regulariser", [SquaredNorms({"W": 0.0}), CubicNorms(0.0)])
def test_no_decay_is_no_penalty(regulariser, two_layer):
    assert regulariser.value(two_layer) == 0
    assert not regulariser.gradient(two_layer)["W"].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SquaredNorms({"W": -1.0}),
            r"^`W` of `SquaredNorms` must be a finite number >= 0, got -1.0\.$",
        ),
        (lambda: SquaredNorms({}), r"^`decays` of `SquaredNorms` must name at least one parameter\.$"),
        (lambda: CubicNorms(math.inf), r"^`decay` of `CubicNorms` must be a finite number >= 0, got inf\.$"),
    ],
)
def test_wrong_decays_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_parameter_the_net_does_not_have_is_named(build, generator):
    deep = build["deep"](generator)
    with pytest.raises(
        ValueError, match=r"^`CubicNorms` names the parameter 'W', but the net has A, W1, W2, a\.$"
    ):
        CubicNorms(1.0).gradient(deep)
    with pytest.raises(ValueError, match=r"^`SquaredNorms` names the parameter 'V', but the net has"):
        SquaredNorms({"V": 1.0}).value(deep)
