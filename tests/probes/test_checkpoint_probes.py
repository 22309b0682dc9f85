"""Measurements on two sets of weights of any module, each against a second route."""

import math

import pytest
import torch
from torch import nn

from karat.nets.weight_layers import WeightLayer, weight_layers
from karat.probes.activity import gate_layers, gates
from karat.probes.bases import principal_coefficients
from karat.probes.density import participation_ratio
from karat.probes.kernel_drift import affordable_samples, compare_kernels, empirical_kernel, output_directions
from karat.probes.layer_change import layer_change, layer_changes
from karat.probes.linearisation import linearisation_error


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def net(seed, outputs=3):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        parts = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, outputs)]
        return nn.Sequential(*parts).double().eval()


X = torch.randn(6, 1, 5, 5, generator=seeded(1), dtype=torch.float64)


def explicit_jacobian(model, x):
    """(n, outputs, parameters) by torch.func, the second route to the kernel."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    table = torch.func.jacrev(lambda p: torch.func.functional_call(model, p, (x,)))(parameters)
    return torch.cat([part.flatten(2) for part in table.values()], dim=2)


def test_the_tangent_kernel_is_that_of_explicit_jacobians():
    model = net(0)
    J = explicit_jacobian(model, X)
    wanted = torch.einsum("icp,jcp->ij", J, J)
    torch.testing.assert_close(empirical_kernel(model, X, torch.eye(3)), wanted)
    v = torch.tensor([[1.0, -2.0, 0.5]])
    wanted = torch.einsum("icp,jdp,c,d->ij", J, J, v[0].double(), v[0].double())
    torch.testing.assert_close(empirical_kernel(model, X, v), wanted)


def test_the_tangent_kernel_leaves_the_module_as_it_was():
    model = net(0).requires_grad_(False)
    empirical_kernel(model, X[:2], torch.eye(3))
    assert not any(p.requires_grad for p in model.parameters())
    assert all(p.grad is None for p in model.parameters())


def test_random_directions_estimate_the_trace_kernel_without_bias():
    # Sign vectors: E v v^T = I, so the mean over all of them is exact.
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
    model = net(0)
    mean = empirical_kernel(model, X, signs) / len(signs)
    torch.testing.assert_close(mean, empirical_kernel(model, X, torch.eye(3)))
    assert torch.equal(output_directions(3, generator=seeded()), torch.eye(3))
    assert output_directions(100, generator=seeded()).abs().unique().tolist() == [1.0]


def test_kernel_alignment_is_a_cosine_and_ignores_scale():
    K, L = (empirical_kernel(net(seed), X, torch.eye(3)) for seed in (0, 1))
    drift = compare_kernels(K, L)
    flat = torch.nn.functional.cosine_similarity(K.flatten(), L.flatten(), dim=0)
    assert drift.alignment == pytest.approx(float(flat))
    H = torch.eye(6, dtype=torch.float64) - 1 / 6
    centred = torch.nn.functional.cosine_similarity((H @ K @ H).flatten(), (H @ L @ H).flatten(), dim=0)
    assert drift.centred == pytest.approx(float(centred))
    assert compare_kernels(K, 3 * K).centred == pytest.approx(1)
    assert compare_kernels(K, 3 * K).change == pytest.approx(2)
    # A constant added to a kernel is shared by all inputs and must not count as drift.
    assert compare_kernels(K, K + 5).centred == pytest.approx(1)


def test_large_nets_get_fewer_samples():
    assert affordable_samples(nn.Linear(10, 10), 24) == 24
    assert affordable_samples(nn.Linear(2000, 2000), 24, numbers=40_000_000) == 9
    assert affordable_samples(nn.Linear(2000, 2000), 24, numbers=10) == 4


def test_a_net_that_is_linear_in_its_weights_has_no_linearisation_error():
    x = torch.randn(9, 5, generator=seeded())
    assert linearisation_error(nn.Linear(5, 2), nn.Linear(5, 2), x) == pytest.approx(0, abs=1e-9)


def test_linearisation_error_agrees_with_explicit_jacobians():
    # Without batch norm: PyTorch has no derivative in its running statistics.
    first, last = (
        nn.Sequential(*(part for part in net(seed) if not isinstance(part, nn.BatchNorm2d)))
        for seed in (0, 1)
    )
    step = torch.cat(
        [(new - old).flatten() for old, new in zip(first.parameters(), last.parameters(), strict=True)]
    )
    linear = first(X) + explicit_jacobian(first, X) @ step
    wanted = torch.linalg.norm(last(X) - linear) / torch.linalg.norm(last(X) - first(X))
    assert linearisation_error(first, last, X) == pytest.approx(wanted.item(), rel=1e-5)


def test_small_movements_are_lazy_and_equal_nets_unknown():
    first, last = net(0), net(0)
    with torch.no_grad():
        for p in last.parameters():
            p += 1e-4 * torch.randn(p.shape, generator=seeded(2), dtype=p.dtype)
    assert linearisation_error(first, last, X) < 0.01
    assert math.isnan(linearisation_error(first, first, X))


def test_a_variance_that_the_step_would_make_negative_is_handled():
    first, last = net(0), net(0)
    last[1].running_var *= 5000
    assert math.isfinite(linearisation_error(first, last, X))


def layer(weight, name="layer"):
    return WeightLayer(name, "conv", weight)


def test_layer_change_agrees_with_loops():
    w, end, start = (torch.randn(5, 2, 3, 3, generator=seeded(seed)) for seed in (1, 2, 3))
    found = layer_change(layer(w), layer(end), layer(start))

    def theta(a, b):
        return abs(float((a * b).sum() / (a.norm() * b.norm())))

    assert found.theta == pytest.approx(sum(theta(w[i], end[i]) for i in range(5)) / 5)
    assert found.start_before == pytest.approx(sum(theta(start[i], w[i]) for i in range(5)) / 5)
    pairs = [theta(w[i], w[j]) for i in range(5) for j in range(5) if i != j]
    assert found.pairs_before == pytest.approx(sum(pairs) / 20)
    assert found.apart_before == pytest.approx(sum(p <= 0.2 for p in pairs) / 20)
    assert found.frobenius == pytest.approx(float((end - w).norm()))
    assert found.relative == pytest.approx(float((end - w).norm() / w.norm()))
    assert found.row == pytest.approx(max(float((end[i] - w[i]).norm()) for i in range(5)))
    assert found.row_scaled == pytest.approx(math.sqrt(5) * found.row)


def test_chance_level_is_the_mean_angle_of_unrelated_rows():
    # Mean of |cos| over 2000 rows has standard error 0.6 * chance / sqrt(2000); 5 sigma, false alarm 6e-7.
    a, b = (torch.randn(2000, 60, generator=seeded(seed)) for seed in (4, 5))
    found = layer_change(layer(a), layer(b))
    assert found.theta == pytest.approx(found.chance, rel=5 * 0.76 / math.sqrt(2000) + 0.01)


def test_rows_near_zero_are_left_out_of_angles_only():
    w = torch.randn(4, 6, generator=seeded(6))
    w[3] *= 1e-3
    end = w.clone()
    end[3] += 1.0
    found = layer_change(layer(w), layer(end))
    assert found.live == 3
    assert found.theta == pytest.approx(1)
    assert found.row == pytest.approx(math.sqrt(6))


def test_a_layer_that_does_not_change_has_theta_one_and_no_movement():
    w = torch.randn(4, 6, generator=seeded(7))
    found = layer_change(layer(w), layer(w))
    assert (found.theta, found.kept, found.frobenius) == (pytest.approx(1), 1, 0)
    assert math.isnan(found.start_before)


def test_other_architectures_are_refused():
    one, other = weight_layers(net(0)), weight_layers(net(0, outputs=4))
    with pytest.raises(ValueError, match="must have the same layers of the same sizes"):
        layer_changes(one, other)


def test_gates_count_signs_and_name_the_layer_before():
    first, second = net(0), net(1)
    (gate,) = gates(first, second, X)
    old, new = first[:2](X) > 0, second[:2](X) > 0
    assert gate.layer == "0"
    assert gate.units == 36
    assert gate.active_before == pytest.approx(float(old.double().mean()))
    assert gate.changed == pytest.approx(float((old != new).double().mean()))
    p, q = old.double().mean(0), new.double().mean(0)
    assert gate.chance == pytest.approx(float((p + q - 2 * p * q).mean()))


def test_equal_nets_change_no_sign():
    (gate,) = gates(net(0), net(0), X)
    assert gate.changed == 0


def test_a_net_without_rectifiers_has_no_gates():
    assert gates(nn.Linear(3, 2), nn.Linear(3, 2), torch.ones(2, 3)) == ()
    assert gate_layers(nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), torch.ones(2, 3)) == [None]


def test_principal_coefficients_are_those_of_the_full_eigenbasis():
    data = torch.randn(40, 7, generator=seeded(8), dtype=torch.float64) * torch.arange(1.0, 8.0)
    vectors = torch.randn(3, 7, generator=seeded(9), dtype=torch.float64)
    found = principal_coefficients(vectors, data, generator=seeded())
    _, _, axes = torch.linalg.svd(data - data.mean(0))
    torch.testing.assert_close(found.abs(), (vectors @ axes.T).abs())


def test_fewer_data_than_dimensions_keep_lengths_and_the_spanned_part():
    d, n = 200, 20
    data = torch.randn(n, d, generator=seeded(10), dtype=torch.float64)
    vectors = torch.randn(50, d, generator=seeded(11), dtype=torch.float64)
    found = principal_coefficients(vectors, data, generator=seeded())
    assert found.shape == (50, d)
    torch.testing.assert_close(found.norm(dim=1), vectors.norm(dim=1))
    _, _, axes = torch.linalg.svd(data - data.mean(0), full_matrices=False)
    torch.testing.assert_close(found[:, : n - 1].abs(), (vectors @ axes[: n - 1].T).abs())
    # Noise is noise in every basis: effective number (d + 2) / 3 = 67.3, standard error 0.7 over 50 vectors.
    assert float(participation_ratio(found).mean()) == pytest.approx((d + 2) / 3, abs=4)
