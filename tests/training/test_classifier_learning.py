"""Classifier learning against the general trainer, and linear learning against both."""

import pytest
import torch

from karat.core.activations import TruncatedRelu
from karat.core.divergence import Diverged
from karat.core.losses import Hinge
from karat.nets import TwoLayer
from karat.training import Constant, Trainer
from karat.training.classifier_learning import ClassifierLearning, shuffled_batches
from karat.training.fixed_features import (
    LinearLearning,
    Tangent,
    distinct_half,
    gradient_kernel,
    kernel_ridge,
)


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def problem():
    x = torch.randn(90, 5, generator=_generator(), dtype=torch.float64)
    y = torch.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0).double()
    half = torch.randn(4, 5, generator=_generator(1), dtype=torch.float64)
    a = torch.randn(4, generator=_generator(2), dtype=torch.float64)
    b = 0.3 * torch.randn(4, generator=_generator(3), dtype=torch.float64)
    net = TwoLayer(half.repeat(2, 1), torch.cat([a, -a]), b.repeat(2), activation=TruncatedRelu())
    return x, y, net


def test_equal_rates_without_fading_are_the_general_trainer(problem):
    x, y, net = problem
    stage = ClassifierLearning(steps=25, lr_a=0.05, lr_W=0.05, momentum=0.9, batch_size=20, fade=False)
    ours, _ = stage.run(net, x, y, generator=_generator(4))
    trainer = Trainer(lr=Constant(0.05), trainable=("W", "a", "b"), loss=Hinge(), momentum=0.9, batch_size=20)
    theirs = trainer.run(net, x, y, steps=25, generator=_generator(4)).net
    for name, tensor in theirs.parameters().items():
        assert torch.allclose(ours.parameters()[name], tensor, atol=1e-12)


def test_frozen_hidden_layer_is_linear_learning_on_hidden_features(problem):
    x, y, net = problem
    stage = ClassifierLearning(steps=20, lr_a=0.1, lr_W=0.0, momentum=0.9, batch_size=30)
    ours, _ = stage.run(net, x, y, generator=_generator(4))
    H = net.activation(net.preactivations(x))
    plan = LinearLearning(steps=20, lrs=(0.1, 0.5), momentum=0.9, batch_size=30)
    a, _ = plan.on_features(H, y, generator=_generator(4), start=net.a)
    assert torch.allclose(a[0], ours.a, atol=1e-12)
    assert not torch.allclose(a[1], ours.a)


def test_distinct_half_at_twice_the_rate_is_the_whole_paired_net(problem):
    x, y, net = problem
    H = net.activation(net.preactivations(x))
    plan = LinearLearning(steps=15, lrs=(0.1,), batch_size=30)
    whole, _ = plan.on_features(H, y, generator=_generator(5))
    twice = LinearLearning(steps=15, lrs=(0.2,), batch_size=30)
    half, _ = twice.on_features(H[:, :4], y, generator=_generator(5))
    assert torch.allclose(H @ whole[0], H[:, :4] @ half[0], atol=1e-12)
    tangent, _ = plan.on_tangents(net, x, y, generator=_generator(5))
    small, _ = twice.on_tangents(distinct_half(net), x, y, generator=_generator(5))
    assert torch.allclose(tangent(x), small(x), atol=1e-12)


def test_a_tangent_model_is_the_derivative_of_the_net(problem):
    x, _, net = problem
    change = {
        name: torch.randn(t.shape, generator=_generator(6), dtype=t.dtype)
        for name, t in net.parameters().items()
    }
    model = Tangent(net, change["a"], change["W"], change["b"])
    step = 1e-6
    moved = net.replace(**{name: t + step * change[name] for name, t in net.parameters().items()})
    assert torch.allclose(model(x), (moved(x) - net(x)) / step, atol=1e-4)


def test_tangent_kernel_is_the_inner_product_of_gradients(problem):
    x, _, net = problem
    features = []
    for row in x[:6]:
        gradient = net.weight_gradient(row[None], torch.ones(1, dtype=x.dtype))
        features.append(torch.cat([gradient[name].flatten() for name in ("a", "W", "b")]))
    table = torch.stack(features)
    assert torch.allclose(gradient_kernel(net, x[:6], x[:6]), table @ table.T)


def test_kernel_ridge_solves_its_equation_and_interpolates_in_the_limit():
    x = torch.randn(20, 3, generator=_generator(), dtype=torch.float64)
    K = torch.exp(-torch.cdist(x, x).square())
    y = torch.sign(x[:, 0])
    strong, weak = kernel_ridge(K, y, (1.0, 1e-9))
    assert torch.allclose(K @ strong + strong, y)
    assert torch.allclose(K @ weak, y, atol=1e-6)


def test_balanced_batches_hold_both_classes_equally():
    y = torch.tensor([1.0] * 3 + [-1.0] * 97)
    batch = next(shuffled_batches(y, 20, generator=_generator(), balanced=True))
    assert int((y[batch] > 0).sum()) == 10


def test_an_epoch_passes_through_every_sample_once():
    batches = shuffled_batches(torch.ones(12), 4, generator=_generator())
    seen = torch.cat([next(batches) for _ in range(3)])
    assert seen.sort().values.tolist() == list(range(12))


def test_adam_moves_every_coordinate_by_its_rate_in_the_first_step(problem):
    x, y, net = problem
    stage = ClassifierLearning(steps=1, lr_a=0.1, lr_W=0.01, batch_size=90, optimiser="adam", fade=False)
    after, _ = stage.run(net, x, y, generator=_generator())
    moved = (after.W - net.W).abs()
    assert torch.allclose(moved[moved > 1e-6], torch.full_like(moved[moved > 1e-6], 0.01), rtol=1e-3)


def test_divergence_is_raised(problem):
    x, y, net = problem
    huge = net.replace(a=torch.full_like(net.a, 1e308))
    with pytest.raises(Diverged):
        ClassifierLearning(steps=5, lr_a=1.0, lr_W=1.0).run(huge, x, y, generator=_generator())


def test_a_net_without_biases_is_refused(problem):
    x, y, net = problem
    with pytest.raises(ValueError, match="hidden biases"):
        ClassifierLearning(steps=1, lr_a=1.0, lr_W=1.0).run(net.replace(b=None), x, y, generator=_generator())
