"""Residual and quadratic nets: shapes, draws from the generator, and independence of nets side by side."""

import pytest
import torch

from karat.nets.convnets import QuadraticNets, ResNet
from karat.training.images.classification import Classification, balance_and_confidence, cross_entropy


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.slow
def test_the_usual_resnet18_is_m_64():
    """11.17 million parameters for ten classes of small colour images."""
    net = ResNet(64, 10, generator=_generator())
    assert sum(p.numel() for p in net.parameters()) == 11_173_962
    assert net.filters(3).shape == (512, 512 * 9)


@pytest.mark.slow
def test_output_has_one_logit_per_class_at_any_resolution():
    net = ResNet(2, 3, generator=_generator())
    for side in (8, 16, 32):
        assert net(torch.randn(2, 3, side, side, generator=_generator())).shape == (2, 3)


def test_equal_generators_draw_equal_nets_whatever_the_global_state():
    torch.manual_seed(1)
    first = ResNet(2, 2, generator=_generator(5))
    torch.manual_seed(2)
    second = ResNet(2, 2, generator=_generator(5))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_quadratic_nets_are_squares_of_linear_functions():
    nets = QuadraticNets((2, 3), 4, 5, generator=_generator())
    x = torch.randn(6, 4, generator=_generator(1))
    hidden = nets.hidden(x).square()
    assert torch.allclose(nets(x)[1], nets.tops[1](hidden[:, 2:]))


@pytest.mark.slow
def test_nets_trained_side_by_side_are_trained_alone():
    x = torch.randn(60, 4, generator=_generator(1))
    labels = (x[:, 0] * x[:, 1] > 0).long()
    both = QuadraticNets((2, 3), 4, 2, generator=_generator())
    alone = QuadraticNets((3,), 4, 2, generator=_generator())
    with torch.no_grad():
        alone.hidden.weight.copy_(both.hidden.weight[2:])
        alone.hidden.bias.copy_(both.hidden.bias[2:])
        alone.tops[0].weight.copy_(both.tops[1].weight)
        alone.tops[0].bias.copy_(both.tops[1].bias)
    plan = Classification(steps=20, lr=0.01, batch_size=20)
    for module in (both, alone):
        plan.run(module, x, labels, generator=_generator(2))
    with torch.no_grad():
        assert torch.allclose(both(x)[1], alone(x)[0], atol=1e-5)


def test_cross_entropy_is_that_of_torch():
    logits = torch.randn(7, 3, generator=_generator())
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 0])
    want = torch.nn.functional.cross_entropy(logits, labels)
    assert cross_entropy(logits, labels).item() == pytest.approx(float(want))
    assert torch.allclose(cross_entropy(torch.stack([logits, logits]), labels), want.expand(2))


def test_regulariser_is_least_when_answers_are_certain_and_balanced():
    certain, uniform = torch.eye(4), torch.full((4, 4), 0.25)
    single = torch.eye(4)[:1].expand(4, -1)
    best = float(balance_and_confidence(certain, 0.5))
    assert best < float(balance_and_confidence(uniform, 0.5))
    assert best < float(balance_and_confidence(single, 0.5))


def test_regulariser_has_finite_slopes_at_certain_answers():
    logits = torch.tensor([[400.0, 0.0], [0.0, 400.0]], requires_grad=True)
    balance_and_confidence(torch.softmax(logits, dim=1), 0.5).backward()
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())
