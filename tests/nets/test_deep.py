import math

import pytest
import torch
from scipy import stats

from karat.nets import Deep, init


def test_deep_equals_the_same_layers_in_torch(generator):
    net = init.deep_gaussian(5, 8, 3, generator=generator)
    blocks = []
    for layer in net.layers:
        linear = torch.nn.Linear(8, 8, bias=False, dtype=torch.float64)
        linear.weight.data = layer
        blocks += [linear, torch.nn.ReLU()]
    first = torch.nn.Linear(5, 8, bias=False, dtype=torch.float64)
    first.weight.data = net.A
    last = torch.nn.Linear(8, 1, bias=False, dtype=torch.float64)
    last.weight.data = net.a.unsqueeze(0)
    x = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(net(x), torch.nn.Sequential(first, *blocks, last)(x).squeeze(1).detach())


@pytest.mark.slow
def test_norms_at_the_start_stay_near_sqrt_two(generator):
    """Every |x^(h)|/sqrt 2 lies in [2/3, 4/3], the window of convergence, Lemma A.2.

    The log of the squared norm has variance about (2 + 5 h)/m = .0085 at m = 2000, h = 3; the window's nearer
    end is .575 = 6.2 standard deviations away: false alarm below 1e-7 over 4 inputs and 4 layers.
    """
    x = torch.nn.functional.normalize(torch.randn(4, 30, generator=generator, dtype=torch.float64))
    net = init.deep_gaussian(30, 2000, 3, generator=generator)
    for state in net.hidden(x)[1]:
        scaled = state.norm(dim=1) / math.sqrt(2)
        assert bool(((scaled >= 2 / 3) & (scaled <= 4 / 3)).all())


def test_the_first_matrix_alone_doubles_the_squared_norm(generator):
    """|A|_F^2 m/2 is chi-square with m d degrees of freedom: false alarm 1e-6."""
    net = init.deep_gaussian(40, 500, 1, generator=generator)
    count = net.A.numel()
    low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], count)
    # Per unit input the squared norm |A e_j|^2 is 2 on average, so |x^(0)| = sqrt 2 > 4/3.
    mean = (net.A.square().sum() / 40).item()
    assert 2 * low / count <= mean <= 2 * high / count
    assert math.sqrt(2 * low / count) > 4 / 3


def test_layers_are_named_by_their_number(generator):
    net = init.deep_gaussian(3, 4, 2, generator=generator)
    assert list(net.parameters()) == ["A", "W1", "W2", "a"]
    assert (net.m, net.d) == (4, 3)
    other = net.replace(W2=torch.zeros(4, 4, dtype=torch.float64))
    assert other.layers[0] is net.layers[0]
    assert not other(torch.ones(1, 3, dtype=torch.float64)).any()


def test_a_deep_net_needs_a_layer_and_square_ones():
    with pytest.raises(ValueError, match=r"^`layers` of `Deep` must hold at least one matrix\.$"):
        Deep(torch.ones(2, 3), (), torch.ones(2))
    with pytest.raises(ValueError, match=r"^`W2` must have shape \(2, 2\), got \(2, 3\)\.$"):
        Deep(torch.ones(2, 3), (torch.ones(2, 2), torch.ones(2, 3)), torch.ones(2))


def test_an_unknown_layer_is_refused_with_the_names_there_are(generator):
    net = init.deep_gaussian(3, 4, 2, generator=generator)
    with pytest.raises(ValueError, match=r"^`Deep` has no tensor 'W3'; it has A, W1, W2, a\.$"):
        net.replace(W3=torch.zeros(4, 4))
