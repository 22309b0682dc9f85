"""Laws of the initialisations. Every Kolmogorov-Smirnov test here has false-alarm probability 1e-6."""

import math

import pytest
import torch
from scipy import stats

from karat.core import Softplus
from karat.nets import init

LEVEL = 1e-6


def follows(tensor, law) -> bool:
    return stats.kstest(tensor.flatten().double().numpy(), law.cdf).pvalue > LEVEL


def draws(generator, **settings):
    """One net of every initialisation."""
    return {
        "gaussian": init.gaussian(5, 8, generator=generator, **settings),
        "symmetric": init.symmetric(5, 8, 0.1, generator=generator, **settings),
        "paired": init.paired(5, 8, generator=generator, sd_W=1, sd_b=1, sd_a=1, scale=1.0, **settings),
        "pytorch_default": init.pytorch_default(5, 8, generator=generator, **settings),
        "small_odd": init.small_odd(5, 8, 0.1, 0.2, generator=generator, **settings),
        "deep_gaussian": init.deep_gaussian(5, 8, 2, generator=generator, **settings),
    }


def test_equal_seeds_give_equal_nets_and_others_do_not():
    first, again, other = (draws(torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    for name, net in first.items():
        for key, tensor in net.parameters().items():
            assert torch.equal(tensor, again[name].parameters()[key])
        assert any(
            not torch.equal(tensor, other[name].parameters()[key]) for key, tensor in net.parameters().items()
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_tensor_has_the_dtype_asked_for(generator, dtype):
    for net in draws(generator, dtype=dtype).values():
        assert {tensor.dtype for tensor in net.parameters().values()} == {dtype}


def test_gaussian_has_standard_normal_rows_and_random_signs(generator):
    net = init.gaussian(50, 400, generator=generator)
    assert follows(net.W, stats.norm())
    assert set(net.a.tolist()) == {-1.0, 1.0}
    # A fair coin thrown 400 times: false alarm 1e-6.
    assert stats.binomtest(int((net.a > 0).sum()), 400).pvalue > LEVEL
    assert net.scale == 1 / 20
    assert net.b is None
    assert net.c is None


def test_gaussian_output_weights_do_not_depend_on_the_hidden_ones(generator):
    net = init.gaussian(50, 400, generator=generator)
    # sum_s a_s w_s is N(0, 400 I_50): its squared norm / 400 is chi-square, false alarm 1e-6.
    statistic = ((net.a @ net.W).square().sum() / 400).item()
    assert LEVEL / 2 < stats.chi2(50).cdf(statistic) < 1 - LEVEL / 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("m", [2, 6, 64, 1000])
def test_paired_nets_are_zero_up_to_rounding(generator, dtype, m):
    nets = [
        init.symmetric(50, m, 1.0, generator=generator, dtype=dtype),
        init.paired(50, m, generator=generator, sd_W=1.0, scale=1.0, dtype=dtype),
        init.paired(
            50,
            m,
            generator=generator,
            sd_W=1.0,
            sd_a=2.0,
            sd_b=0.5,
            scale=0.1,
            dtype=dtype,
            activation=Softplus(),
        ),
    ]
    x = torch.randn(20, 50, generator=generator, dtype=dtype)
    unit = torch.finfo(dtype).eps
    for net in nets:
        size = net.scale * (net.activation(net.preactivations(x)).abs() @ net.a.abs())
        # Rounding of a product of length d, and of a sum of m terms.
        assert bool((net(x).abs() <= (50 + m) * unit * size).all())
        bound = (50 + m) * unit * net.scale * (net.a.abs() @ net.W.abs())
        # ReLU neurons that sit within rounding of their kink could differ; none do for these draws.
        assert bool((net.input_gradient(x).abs() <= bound).all())


def test_symmetric_is_benigns_initialisation(generator):
    net = init.symmetric(50, 400, 0.03, generator=generator)
    assert torch.equal(net.W[:200], net.W[200:])
    assert follows(net.W[:200], stats.norm(scale=0.03))
    assert net.a.tolist() == [1.0] * 200 + [-1.0] * 200
    assert net.scale == 1 / 20


def test_paired_has_the_asked_standard_deviations(generator):
    net = init.paired(50, 400, generator=generator, sd_W=0.5, sd_a=2.0, sd_b=3.0, scale=1.0)
    assert torch.equal(net.W[:200], net.W[200:])
    assert torch.equal(net.b[:200], net.b[200:])
    assert torch.equal(net.a[:200], -net.a[200:])
    assert follows(net.W[:200], stats.norm(scale=0.5))
    assert follows(net.a[:200], stats.norm(scale=2.0))
    assert follows(net.b[:200], stats.norm(scale=3.0))
    signs = init.paired(5, 400, generator=generator, sd_W=0.5, scale=1.0)
    assert set(signs.a.tolist()) == {-1.0, 1.0}
    assert signs.b is None


def test_pytorch_default_has_the_law_of_torch_linear(generator):
    d, m = 25, 300
    net = init.pytorch_default(d, m, generator=generator)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = torch.nn.Linear(d, m), torch.nn.Linear(m, 1)
    pairs = [(net.W, first.weight), (net.b, first.bias), (net.a, second.weight)]
    for ours, theirs in pairs:
        same = stats.ks_2samp(ours.flatten().numpy(), theirs.detach().double().flatten().numpy())
        assert same.pvalue > LEVEL
    for tensor, fan_in in ((net.W, d), (net.b, d), (net.a, m), (net.c, m)):
        assert tensor.abs().max() <= 1 / math.sqrt(fan_in)
    # 7,500 uniform draws miss the last 1/200 of their range with probability 5e-17.
    assert net.W.max() > 0.99 / math.sqrt(d)
    assert follows(net.W, stats.uniform(-1 / math.sqrt(d), 2 / math.sqrt(d)))
    # The variance 1/(3 d) of U(-1/sqrt d, 1/sqrt d) within 6 standard errors, sd(u^2)/mean(u^2) = sqrt(4/5).
    assert abs(3 * d * net.W.square().mean().item() - 1) < 6 * math.sqrt(0.8 / net.W.numel())
    assert net.scale == 1.0


def test_pytorch_default_biases_are_optional_and_do_not_shift_the_draws():
    nets = [
        init.pytorch_default(5, 8, generator=torch.Generator().manual_seed(1), bias=bias)
        for bias in (True, False)
    ]
    assert list(nets[1].parameters()) == ["W", "a"]
    assert torch.equal(nets[0].W, nets[1].W)
    assert torch.equal(nets[0].a, nets[1].a)


def test_small_odd_subtracts_its_bias(generator):
    net = init.small_odd(50, 100, 0.01, 0.05, generator=generator)
    assert follows(net.W, stats.norm(scale=0.01))
    assert net.b.item() == -0.05
    assert net.sigma_rho == 0


def test_deep_gaussian_has_variance_two_over_m(generator):
    net = init.deep_gaussian(30, 100, 2, generator=generator)
    law = stats.norm(scale=math.sqrt(2 / 100))
    assert all(follows(tensor, law) for tensor in (net.A, *net.layers))
    assert follows(net.a, stats.norm())
    assert not torch.equal(net.layers[0], net.layers[1])


@pytest.mark.parametrize("name", ["symmetric", "paired"])
def test_an_odd_number_of_neurons_cannot_be_paired(generator, name):
    settings = {"init_scale": 1.0} if name == "symmetric" else {"sd_W": 1.0, "scale": 1.0}
    message = f"^`m` of `{name}` must be even, for neurons come in pairs; got 7\\.$"
    with pytest.raises(ValueError, match=message):
        getattr(init, name)(4, 7, generator=generator, **settings)


def test_sizes_and_scales_are_checked(generator):
    with pytest.raises(ValueError, match=r"^`d` of `gaussian` must be a whole number >= 1, got 0\.$"):
        init.gaussian(0, 4, generator=generator)
    with pytest.raises(
        ValueError, match=r"^`depth` of `deep_gaussian` must be a whole number >= 1, got 0\.$"
    ):
        init.deep_gaussian(3, 4, 0, generator=generator)
    with pytest.raises(
        ValueError, match=r"^`init_scale` of `symmetric` must be a finite number >= 0, got -1\.$"
    ):
        init.symmetric(3, 4, -1, generator=generator)
    with pytest.raises(ValueError, match=r"^`sd_b` of `paired` must be a finite number >= 0, got nan\.$"):
        init.paired(3, 4, generator=generator, sd_W=1.0, sd_b=math.nan, scale=1.0)
