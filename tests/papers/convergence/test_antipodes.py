"""Nets without biases on antipodes: the forms, the floors below their losses, and the data."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from karat.core.activations import Softplus
from karat.core.tangent_kernel import profile_of
from karat.nets import TwoLayer
from karat.papers.convergence.experiments import antipodes
from karat.papers.convergence.experiments.activations import activation_of
from karat.papers.convergence.experiments.antipodes import AntipodesConfig, lifted
from karat.papers.convergence.experiments.parity import (
    certified_distance,
    certified_floor,
    form_features,
    form_of,
    has_form,
    part_of,
)
from karat.papers.convergence.experiments.sets import PseudoHuber, antipodal_centres, draw_sets, ring_centres

FAMILY = ("relu", "smoothed_relu", "softplus", "smooth_leaky_relu")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def random_net(activation, d, m, g):
    W, a = (torch.randn(shape, generator=g, dtype=torch.float64) for shape in ((m, d), (m,)))
    return TwoLayer(W=W, a=a, activation=activation_of(activation), scale=1 / math.sqrt(m))


@pytest.mark.parametrize("activation", [*FAMILY, "quadratic_relu"])
def test_the_part_of_a_net_is_a_form_in_its_features(activation):
    """Fitted on as many points as there are coefficients, the form predicts the part elsewhere."""
    g = generator()
    net = random_net(activation, 3, 40, g)
    x = torch.randn(60, 3, generator=g, dtype=torch.float64)
    part = part_of(net, net.activation, x)
    features = form_features(net.activation, x)
    k = features.shape[1]
    coefficients = torch.linalg.solve(features[:k], part[:k])
    assert torch.allclose(features @ coefficients, part, atol=1e-10)
    assert torch.allclose(form_of(net, x), part, atol=1e-12)


@pytest.mark.parametrize("activation", [*FAMILY, "quadratic_relu"])
def test_kernels_have_the_parity_of_their_nets(activation):
    """The even part of the quadratic ReLU's profile is u^2, the odd part of others is linear."""
    profile = profile_of(activation_of(activation))
    u = torch.linspace(-0.99, 0.99, 41, dtype=torch.float64)
    if activation == "quadratic_relu":
        assert torch.allclose((profile(u) + profile(-u)) / 2, u.square(), atol=1e-12)
    else:
        odd = (profile(u) - profile(-u)) / 2
        assert torch.allclose(odd, odd[-1] / u[-1] * u, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_floor_meets_the_smallest_loss_that_another_solver_finds(seed):
    g = generator(seed)
    x = torch.randn(9, 3, generator=g, dtype=torch.float64)
    y = torch.randn(9, generator=g, dtype=torch.float64).sign()
    floor, found = certified_floor(x, y)
    loss = PseudoHuber()
    other = minimize(lambda c: float(loss(y * (x @ torch.from_numpy(c))).mean()), [0.0] * 3, tol=1e-12).fun
    assert floor <= other + 1e-12
    assert found == pytest.approx(floor, abs=1e-8)
    assert other == pytest.approx(floor, abs=1e-6)


def test_no_form_lies_below_the_floors():
    g = generator(1)
    x = torch.randn(10, 3, generator=g, dtype=torch.float64)
    y = torch.randn(10, generator=g, dtype=torch.float64).sign()
    floor, _ = certified_floor(x, y)
    distance = certified_distance(x, y)
    c = torch.randn(3, 2000, generator=g, dtype=torch.float64) * 3
    values = x @ c
    assert float(PseudoHuber()(y.unsqueeze(1) * values).mean(dim=0).min()) >= floor
    assert float((values - y.unsqueeze(1)).abs().amax(dim=0).min()) >= distance


def test_labels_that_a_form_has_leave_no_floor():
    g = generator(2)
    x = torch.randn(10, 3, generator=g, dtype=torch.float64)
    y = (x @ torch.ones(3, dtype=torch.float64)).sign()
    assert certified_floor(x[:3], y[:3])[0] == 0.0
    assert certified_distance(x[:3], y[:3]) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n", [6, 8, 10, 12])
def test_labels_of_the_ring_are_orthogonal_to_the_forms(n):
    x, y = ring_centres(n, 4, 0.1)
    half = n // 2
    assert torch.allclose(x[:half], -x[half:])
    assert torch.equal(y[:half] == y[half:], torch.full((half,), n % 4 == 0))
    assert torch.allclose(torch.einsum("n,ni,nj->ij", y, x, x), torch.zeros(4, 4, dtype=x.dtype))
    assert torch.allclose(y @ x, torch.zeros(4, dtype=x.dtype))
    features = x[:half] if n % 4 else form_features(activation_of("quadratic_relu"), x[:half])
    assert certified_floor(features, y[:half])[0] == pytest.approx(math.sqrt(2) - 1, abs=1e-8)
    assert certified_distance(features, y[:half]) == pytest.approx(1.0, abs=1e-8)


def test_malformed_rings_and_pairs_are_refused():
    with pytest.raises(ValueError, match="n = 6, 8, 10"):
        ring_centres(7, 3, 0.1)
    with pytest.raises(ValueError, match="n = 4, 6, 8"):
        draw_sets(5, 3, 0.1, 1, generator(), data="same")


@pytest.mark.parametrize("opposite", [False, True])
def test_antipodal_pairs_share_or_oppose_their_labels(opposite):
    x, y = antipodal_centres(8, 3, 0.1, generator(), opposite=opposite)
    assert torch.equal(x[:4], -x[4:])
    assert torch.equal(y[:4], -y[4:] if opposite else y[4:])


def test_lifted_points_have_unit_length_and_no_antipodes():
    x, _ = antipodal_centres(8, 3, 0.1, generator(), opposite=False)
    seen = lifted(x)
    assert torch.allclose(torch.linalg.vector_norm(seen, dim=1), torch.ones(8, dtype=x.dtype))
    assert float((seen @ seen.T).min()) >= -1e-12


@pytest.mark.parametrize(
    ("activation", "data"), [("quadratic_relu", "same"), ("smooth_leaky_relu", "opposite")]
)
def test_training_stays_above_the_floor_and_biases_bring_it_below(activation, data):
    config = AntipodesConfig(
        m=256, activation=activation, rows="gaussian", data=data, n=16, tau=0.15, K=1, lr=0.2, steps=1500
    )
    plain = antipodes.run(config, generator(2))
    assert plain.floor <= plain.form_loss + 1e-12
    assert plain.floor <= plain.best_loss <= 1.05 * plain.floor
    assert plain.parity_error < 1e-12
    biased = antipodes.run(AntipodesConfig(**{**vars(config), "lift": True}), generator(2))
    assert biased.best_loss < biased.floor == plain.floor
    assert biased.parity_error > 0.01


def test_labels_that_the_nets_can_have_leave_no_floor():
    config = AntipodesConfig(m=16, steps=2, data="opposite")
    assert antipodes.run(config, generator()).floor == 0.0
    assert antipodes.run(AntipodesConfig(m=16, steps=2), generator()).distance_floor == 0.0


@pytest.mark.parametrize("activation", [*FAMILY, "shifted_softplus"])
def test_only_a_shifted_bend_lets_the_kernel_give_antipodes_their_labels(activation):
    """From above by least squares in the kernel's space, from below by linear functions."""
    config = AntipodesConfig(
        m=16, activation=activation, rows="gaussian", data="opposite", n=16, tau=0.15, K=1, steps=1
    )
    result = antipodes.run(config, generator(1))
    if activation == "shifted_softplus":
        assert result.distance_floor == 0.0
        assert result.distance_found < 1e-9
    else:
        assert 0.2 < result.distance_floor <= result.distance_found + 1e-9


def test_the_slope_of_a_shifted_softplus_has_every_hermite_weight():
    points, weights = np.polynomial.hermite_e.hermegauss(120)
    slope = Softplus(shift=1.0).derivative(torch.from_numpy(points)).numpy() * weights
    size = [float(slope @ np.polynomial.hermite_e.hermeval(points, [0] * k + [1])) for k in range(9)]
    assert min(map(abs, size)) > 1e-3
    assert not has_form(Softplus(shift=1.0))
    assert has_form(Softplus())
