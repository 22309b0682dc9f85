import pytest
import torch

from karat.core import Relu, SmoothedRelu
from karat.nets import OddTwoLayer, init


@pytest.fixture(params=[0.0, 0.4])
def net(request, generator):
    W = torch.randn(6, 4, generator=generator, dtype=torch.float64)
    return OddTwoLayer(W, torch.tensor(-0.3, dtype=torch.float64), request.param)


def test_the_net_is_odd_to_the_last_bit(net, x):
    assert torch.equal(net(-x), -net(x))
    assert torch.equal(net.input_gradient(-x), net.input_gradient(x))


def test_noise_is_a_smoothed_activation():
    W, b = torch.ones(1, 1), torch.tensor(-1.0)
    assert OddTwoLayer(W, b).activation == Relu()
    assert OddTwoLayer(W, b).replace(sigma_rho=0.5).activation == SmoothedRelu(0.5)
    with pytest.raises(
        ValueError, match=r"^`sigma_rho` of `OddTwoLayer` must be a finite number >= 0, got -1.0"
    ):
        OddTwoLayer(W, b, -1.0)


def test_without_noise_a_pair_is_a_soft_threshold():
    net = OddTwoLayer(torch.tensor([[2.0]]), torch.tensor(-1.0))
    # <w, x> = 2x, threshold 1: sign(2x) (|2x| - 1)_+
    points = torch.tensor([[-1.5], [-0.25], [0.0], [0.5], [1.0]])
    assert net(points).tolist() == [-2.0, 0.0, 0.0, 0.0, 1.0]


def test_the_net_is_the_mean_over_its_noise(x, generator):
    """Each of 7 means over 40,000 draws lies within 5.4 standard errors of f: false alarm 5e-7."""
    W, draws = torch.randn(6, 4, generator=generator, dtype=torch.float64), 40_000
    net = OddTwoLayer(W, torch.tensor(-0.3, dtype=torch.float64), 0.4)
    for i in range(len(x)):
        values = net.with_noise(x[i : i + 1].expand(draws, -1), generator=generator)
        error = values.std() / draws**0.5
        assert abs(values.mean() - net(x[i : i + 1])[0]) <= 5.4 * error


def test_without_noise_a_draw_is_the_net_itself(x, generator):
    net = init.small_odd(4, 6, 1.0, 0.3, generator=generator)
    torch.testing.assert_close(net.with_noise(x, generator=generator), net(x), rtol=1e-12, atol=1e-12)


def test_both_halves_of_a_pair_share_their_noise(x, generator):
    # Under a bias far above |<w, x>| and the noise both ReLUs are active, rho cancels: f = 2 sum_i <w_i, x>.
    W = torch.randn(6, 4, generator=generator, dtype=x.dtype)
    net = OddTwoLayer(W, torch.tensor(100.0, dtype=x.dtype), sigma_rho=1.0)
    torch.testing.assert_close(net.with_noise(x, generator=generator), 2 * (x @ W.T).sum(dim=1))


def test_noise_is_drawn_anew_for_every_sample_and_reproducibly(net, generator):
    x = torch.ones(2, 4, dtype=torch.float64)
    state = generator.get_state()
    first = net.with_noise(x, generator=generator)
    assert bool(first[0] == first[1]) == (net.sigma_rho == 0)
    generator.set_state(state)
    assert torch.equal(net.with_noise(x, generator=generator), first)
