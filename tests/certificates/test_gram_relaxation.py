"""The one-product certificate: sound against strong attacks and grids, exact where nothing can flip."""

import pytest
import torch

from karat.attacks import PGD
from karat.attacks.inner_products.gram import gram_net
from karat.certificates.gram_relaxation import certified_margins
from karat.core import Ball, LeakyRelu, Relu, Softplus
from karat.nets import TwoLayer, as_classifier


def _net(seed: int, m: int, d: int, activation: object) -> TwoLayer:
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    return TwoLayer(normal(m, d), normal(m), normal(m), normal(1)[0], activation, scale=0.7)


@pytest.mark.parametrize("activation", [Relu(), LeakyRelu(0.2)])
@pytest.mark.parametrize("seed", range(4))
def test_no_point_of_a_dense_grid_beats_the_certificate(activation: object, seed: int) -> None:
    net = _net(seed, 12, 2, activation)
    g = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(20, 2, generator=g, dtype=torch.float64)
    y = torch.where(net(x) > 0, 1.0, -1.0).double()
    tau = 0.4
    bound = certified_margins(gram_net(net), x @ net.W.T, y, tau)
    angle = torch.linspace(0, 2 * torch.pi, 200, dtype=torch.float64)
    ring = torch.stack([angle.cos(), angle.sin()], dim=1)
    disc = torch.cat([share * tau * ring for share in torch.linspace(0, 1, 20, dtype=torch.float64)])
    worst = torch.stack([y * net(x + delta) for delta in disc]).amin(dim=0)
    assert bool((bound <= worst + 1e-12).all())


def test_attacks_in_high_dimension_never_beat_the_certificate() -> None:
    net = _net(7, 40, 30, Relu())
    x = torch.randn(200, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = torch.where(net(x) > 0, 1.0, -1.0).double()
    delta = PGD(steps=50)(as_classifier(net), x, y, Ball(2, 0.5))
    assert bool((certified_margins(gram_net(net), x @ net.W.T, y, 0.5) <= y * net(x + delta)).all())


def test_certificate_is_exact_where_no_neuron_can_flip() -> None:
    net = _net(3, 10, 5, Relu()).replace(b=torch.full((10,), 100.0, dtype=torch.float64))
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    y = torch.ones(6, dtype=torch.float64)
    exact = net(x) - 0.3 * torch.linalg.vector_norm(net.input_gradient(x), dim=1)
    bound = certified_margins(gram_net(net), x @ net.W.T, y, 0.3)
    assert torch.allclose(bound, exact, rtol=1e-9)


def test_zero_radius_gives_the_margin() -> None:
    net = _net(5, 20, 4, LeakyRelu(0.1))
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    y = -torch.ones(8, dtype=torch.float64)
    assert torch.allclose(certified_margins(gram_net(net), x @ net.W.T, y, 0.0), y * net(x), atol=1e-10)


def test_float32_inputs_pay_for_their_rounding() -> None:
    net = _net(9, 30, 6, Relu())
    x = torch.randn(50, 6, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    y = torch.ones(50, dtype=torch.float64)
    small = net.replace(**{name: value.float() for name, value in net.parameters().items()})
    coarse = certified_margins(gram_net(small), x.float() @ small.W.T, y.float(), 0.3)
    fine = certified_margins(gram_net(net), x @ net.W.T, y, 0.3)
    assert bool((coarse <= fine).all())


def test_other_activations_are_refused() -> None:
    net = _net(1, 4, 3, Softplus())
    with pytest.raises(ValueError, match="needs ReLU or leaky ReLU"):
        certified_margins(gram_net(net), torch.zeros(1, 4).double(), torch.ones(1).double(), 0.1)
