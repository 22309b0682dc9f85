"""The two feature-learning steps against autograd, full gradients, and the net in input space."""

import pytest
import torch

from karat.core.activations import SmoothedTruncatedRelu, TruncatedRelu
from karat.data import PatternDictionary, orthonormal, parity_law
from karat.nets import TwoLayer, init
from karat.reductions.span.pattern_space import (
    PatternNet,
    start_in_pattern_space,
)
from karat.training.classifier_learning import ClassifierLearning
from karat.training.feature_steps import (
    class_weights,
    feature_step,
    float32_forgetting,
    is_paired,
    rank_one_step,
    value_and_slope,
)

K, D, M = 3, 8, 6


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def _problem(n=200, dtype=torch.float64):
    model = PatternDictionary.draw(parity_law(K), d=D, D=D, dictionary="identity", generator=_generator())
    samples = model.sample(n, generator=_generator(1), dtype=dtype)
    net = init.paired(
        D,
        2 * M,
        generator=_generator(2),
        sd_W=1 / K,
        sd_a=1.0,
        sd_b=0.3,
        scale=1.0,
        activation=SmoothedTruncatedRelu(0.2),
        dtype=dtype,
    )
    return samples, net


def _autograd(net, x, y, weights):
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in net.parameters().items()}
    loss = (weights * (1 - y * net.replace(**leaves)(x)).clamp_min(0)).mean()
    loss.backward()
    return {name: leaf.grad for name, leaf in leaves.items()}


@pytest.mark.parametrize("paired", [True, False])
def test_a_step_is_minus_lr_times_the_gradient_of_the_weighted_hinge_loss(paired):
    samples, net = _problem()
    if not paired:
        net = net.replace(a=net.a + 0.3)
    assert is_paired(net) is paired
    weights = class_weights(samples.y)
    gradient = _autograd(net, samples.x, samples.y, weights)
    after = feature_step(net, samples.x, samples.y, lr=0.1, decay_a=0.5, decay_W=2.0, weights=weights)
    assert torch.allclose(after.W, (1 - 0.4) * net.W - 0.1 * gradient["W"], atol=1e-12)
    assert torch.allclose(after.a, (1 - 0.1) * net.a - 0.1 * gradient["a"], atol=1e-12)
    assert torch.allclose(after.b, net.b - 0.1 * gradient["b"], atol=1e-12)


def test_exact_forgetting_is_the_limit_of_the_decay_one_over_two_lr():
    samples, net = _problem()
    exact = feature_step(net, samples.x, samples.y, lr=0.1)
    close = feature_step(net, samples.x, samples.y, lr=0.1, decay_W=5.0 * (1 - 1e-10))
    assert torch.allclose(exact.W, close.W, atol=1e-9)


def test_value_and_slope_agree_with_the_activation():
    z = torch.linspace(-3, 4, 1001, dtype=torch.float64)
    for activation in (SmoothedTruncatedRelu(0.2), SmoothedTruncatedRelu(0.02), TruncatedRelu()):
        value, slope = value_and_slope(activation, z.clone())
        assert torch.allclose(value, activation(z), atol=1e-14)
        assert torch.allclose(slope, activation.derivative(z), atol=1e-14)


@pytest.mark.parametrize("lr_first", [1e-8, 1e-5])
def test_rank_one_step_is_the_real_second_step_when_the_first_rate_is_small(lr_first):
    samples, net = _problem()
    first = feature_step(net, samples.x, samples.y, lr=lr_first)
    short = rank_one_step(first, samples.x, samples.y)
    real = feature_step(first, samples.x, samples.y, lr=1.0, decay_a=0.5)
    assert short.valid
    for name in ("W", "a", "b"):
        want = getattr(real, name)
        assert torch.allclose(getattr(short.net, name), want, atol=10 * short.spread)
    assert torch.linalg.matrix_rank(short.net.W) == 1


def test_rank_one_step_is_not_called_valid_when_the_first_rate_is_large():
    samples, net = _problem()
    first = feature_step(net, samples.x, samples.y, lr=1.0)
    assert not rank_one_step(first, samples.x, samples.y).valid


def test_rank_one_step_needs_smoothing():
    samples, net = _problem()
    with pytest.raises(ValueError, match="smoothed truncated ReLU"):
        rank_one_step(net.replace(activation=TruncatedRelu()), samples.x, samples.y)


def test_class_weights_balance_the_classes():
    y = torch.tensor([1.0] * 3 + [-1.0] * 7, dtype=torch.float64)
    weights = class_weights(y)
    assert (weights * (y > 0)).mean() == pytest.approx(0.5)
    assert weights.mean() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="both labels"):
        class_weights(torch.ones(3))


def test_single_precision_forgetting_leaves_an_isotropic_residue():
    W = torch.randn(50, 400, generator=_generator(), dtype=torch.float64) / 3
    zero = torch.zeros_like(W)
    residue = float32_forgetting(W, zero, 2.5e-7)
    relative = float(residue.norm() / W.norm())
    assert 1e-8 < relative < 3e-7
    # A power of two divides without rounding: nothing is left.
    assert float32_forgetting(W, zero, 2.0**-22).abs().max() == 0


def _in_input_space(space, M, rest, x_patterns):
    """The same net in R^d: w = M q + orthogonal part."""
    W = space.net.W @ M.T + rest
    return TwoLayer(W, space.net.a, space.net.b, activation=space.net.activation), x_patterns @ M.T


def test_pattern_space_is_exact_against_input_space():
    """Two feature steps with inexact decay and 30 SGD steps: outputs and cosines agree to rounding."""
    d = 40
    samples, _ = _problem(400)
    M = orthonormal(d, D, generator=_generator(5))
    space = start_in_pattern_space(
        d, D, M.shape[1], sd_W=1 / K, sd_a=1.0, sd_b=0.1,
        activation=SmoothedTruncatedRelu(0.2), generator=_generator(6),
    )  # fmt: skip
    noise = torch.randn(len(space.rest) // 2, d, generator=_generator(7), dtype=torch.float64)
    rest = (noise - noise @ M @ M.T).repeat(2, 1)
    space = PatternNet(space.net, rest)  # coordinates in R^d are as good as those of the span
    plain, x = _in_input_space(space, M, rest, samples.x)
    reduced = space
    for lr, decay in ((0.1, 4.0), (0.5, 0.8)):
        keep = 1 - 2 * lr * decay
        plain = feature_step(plain, x, samples.y, lr=lr, decay_W=decay)
        reduced = reduced.moved(feature_step(reduced.net, samples.x, samples.y, lr=lr, decay_W=decay), keep)
    stage = ClassifierLearning(steps=30, lr_a=0.1, lr_W=0.1, batch_size=50)
    relu = TruncatedRelu()
    plain, _ = stage.run(plain.replace(activation=relu), x, samples.y, generator=_generator(8))
    small, _ = stage.run(reduced.net.replace(activation=relu), samples.x, samples.y, generator=_generator(8))
    reduced = reduced.moved(small)
    assert torch.allclose(plain(x), small(samples.x), atol=1e-12)
    direction = torch.ones(D, dtype=torch.float64)
    want = torch.nn.functional.cosine_similarity(plain.W, (M @ direction).expand_as(plain.W), dim=1)
    assert torch.allclose(reduced.cosines(direction), want, atol=1e-12)


def test_lengths_of_the_start_have_the_law_of_d_dimensions():
    """chi^2_d has mean d and variance 2d: 4000 pairs put the mean within 5 sd = 5 sqrt(2 d/4000)."""
    d, sd = 60, 0.5
    space = start_in_pattern_space(
        d, D, 4000, sd_W=sd, sd_a=1.0, sd_b=0.1, activation=TruncatedRelu(), generator=_generator()
    )
    squares = space.weights()[:4000].square().sum(dim=1) / sd**2
    assert abs(float(squares.mean()) - d) < 5 * (2 * d / 4000) ** 0.5


def test_equal_seeds_share_pattern_coordinates_for_every_d():
    nets = [
        start_in_pattern_space(
            d, D, 5, sd_W=1.0, sd_a=1.0, sd_b=1.0, activation=TruncatedRelu(), generator=_generator(3)
        ).net
        for d in (D, 50, 100_000)
    ]
    assert all(torch.equal(nets[0].W, net.W) and torch.equal(nets[0].a, net.a) for net in nets)
