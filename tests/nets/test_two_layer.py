import math

import pytest
import torch

from karat.core import LeakyRelu
from karat.nets import TwoLayer, inverse_root_width


def test_value_on_a_net_small_enough_for_paper():
    net = TwoLayer(
        torch.tensor([[1.0, 0.0], [0.0, -2.0]]),
        torch.tensor([3.0, -1.0]),
        torch.tensor([0.5, 1.0]),
        torch.tensor(10.0),
        scale=0.5,
    )
    # preactivations 1.5 and -3: f = 0.5 (3 * 1.5 - 0) + 10
    assert net(torch.tensor([[1.0, 2.0]])).item() == 12.25
    assert net.input_gradient(torch.tensor([[1.0, 2.0]])).tolist() == [[1.5, 0.0]]


def test_without_biases_the_net_is_positively_homogeneous(x, generator):
    W = torch.randn(5, 4, generator=generator, dtype=x.dtype)
    net = TwoLayer(W, torch.ones(5, dtype=x.dtype), activation=LeakyRelu(0.1))
    torch.testing.assert_close(net(3 * x), 3 * net(x))
    torch.testing.assert_close((net.input_gradient(x) * x).sum(dim=1), net(x))


def test_the_output_scale_is_one_over_root_width():
    assert inverse_root_width(16) == 0.25
    assert inverse_root_width(2) == 1 / math.sqrt(2)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan])
def test_the_output_scale_must_be_positive(scale):
    with pytest.raises(ValueError, match=r"^`scale` of `TwoLayer` must be a finite number > 0, got"):
        TwoLayer(torch.ones(2, 3), torch.ones(2), scale=scale)


def test_a_missing_bias_is_no_parameter():
    net = TwoLayer(torch.ones(2, 3), torch.ones(2))
    assert list(net.parameters()) == ["W", "a"]
    assert list(net.weight_gradient(torch.ones(1, 3), torch.ones(1))) == ["W", "a"]
    assert list(net.replace(c=torch.tensor(0.0)).parameters()) == ["W", "a", "c"]
    assert (net.m, net.d) == (2, 3)
