"""Certificates of symmetric nets: never above what an attack reaches, exact where the net is linear."""

import math

import numpy as np
import pytest
import torch
from test_symmetric_nets import CLASSES, NETS, every_net, lifted, points

from karat.attacks import PGD, Steepest, run_attack
from karat.core.ball import Ball
from karat.data.sparse_code import SparseCode
from karat.reductions.symmetric import SymmetricNet, attack, draw_points, strongest
from karat.reductions.symmetric.kernels import pair
from karat.reductions.symmetric.worst_case import minorant, tangent_deviation, worst_margins
from karat.training.odd import OddClassifier

RADII = [(2, 0.02), (2, 0.3), (2, 1.5), (math.inf, 0.01), (math.inf, 0.2)]


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.05, 0.4])
def test_the_piecewise_linear_function_stays_below(noise):
    at, value = minorant(0.1, noise)
    u = np.linspace(-3, 3, 6001)
    below = np.interp(u, at, value) + np.minimum(u - at[0], 0) + np.maximum(u - at[-1], 0)
    exact = np.array([pair(x, 0.1, noise)[0] for x in u])
    assert np.all(below <= exact + 1e-12)
    # At the kink the first half loses its whole mean excess, sigma phi(0), and chords a little more.
    assert np.max(exact - below) <= 0.45 * noise + 1e-12


@every_net
@pytest.mark.parametrize(("p", "tau"), RADII)
def test_no_attack_goes_below_a_certificate(net, p, tau):
    some = points(40)
    full, x, y, _, _ = lifted(net, some, "identity")
    proven = worst_margins(net, some, p, tau)
    reached = [strongest(net, some, p, tau).margin]
    for method in (PGD(steps=30, start=Steepest()), PGD(steps=30, random_start=True, restarts=3)):
        generator = torch.Generator().manual_seed(0)
        reached.append(
            run_attack(method, OddClassifier(full), x, y, Ball(p, tau), generator=generator).margin.numpy()
        )
    assert np.all(proven <= np.min(reached, axis=0) + 1e-9)


@pytest.mark.parametrize("net", [NETS["soiled"], NETS["against"]])
def test_without_threshold_and_noise_the_certificate_is_the_dual_norm(net):
    """f is then linear, and the worst margin is y f less tau times the dual norm of the gradient."""
    linear = net.replace(threshold=0.0, sigma_rho=0.0)
    some = points(20)
    slope, rest = linear.input_gradient(linear.look(some.moved(1.0, np.ones(20))))
    others = some.d - some.support
    for p, tau in ((2, 0.3), (math.inf, 0.05)):
        dual = (
            np.sqrt(some.row_sums(slope**2) + others * rest**2)
            if p == 2
            else some.row_sums(np.abs(slope)) + others * np.abs(rest)
        )
        worst = some.label * linear(some) - tau * dual
        proven = worst_margins(linear, some, p, tau, cells=4096)
        assert np.all(proven <= worst + 1e-9)
        # In l_inf the sum of a perturbation that lowers some neurons and lifts others is not kept track of.
        if p == 2 or linear.beta >= 0:
            assert np.allclose(proven, worst, atol=3e-2)


def test_at_radius_zero_the_certificate_is_the_margin():
    some = points(20)
    net = NETS["no noise"]
    assert np.allclose(worst_margins(net, some, 2, 0.0), some.label * net(some), atol=1e-9)


def test_in_l_inf_the_universal_direction_is_the_worst_case_of_a_growing_net():
    some, net = points(60), NETS["soiled"]
    along = attack(net, some, math.inf, 0.05, start="universal").margin
    assert np.allclose(worst_margins(net, some, math.inf, 0.05), along, rtol=1e-13, atol=1e-15)


def test_certificates_close_the_bracket_at_a_dimension_of_1e8():
    code = SparseCode(k=493, D=10**8, small_rate=4.0)
    some = draw_points(code, 60, generator=np.random.default_rng(0))
    net = SymmetricNet(d=10**8, alpha=1.3, threshold=493**-0.6, sigma_rho=0.066 * 493**-0.6)
    reached, proven = strongest(net, some, 2, 0.018).margin, worst_margins(net, some, 2, 0.018)
    assert np.all(proven <= reached)
    assert np.array_equal(proven > 0, reached > 0)


def test_a_net_without_a_pure_part_is_not_certified():
    assert np.all(worst_margins(NETS["pure"].replace(alpha=0.1, beta=0.2), points(3), 2, 0.1) == -math.inf)


@every_net
def test_the_bound_on_the_deviation_covers_every_perturbation(net):
    some, tau = points(20), 0.25
    full, x, _, _, _ = lifted(net, some, "identity")
    bound = tangent_deviation(net, some, tau)
    f, gradient = full.value_and_input_gradient(x)
    generator = torch.Generator().manual_seed(1)
    for trial in range(40):
        # Random directions, and single coordinates, on which the whole radius wakes one neuron.
        delta = torch.randn(x.shape, generator=generator, dtype=x.dtype)
        if trial % 2:
            delta = torch.zeros_like(x)
            one = torch.randint(net.d, (len(x),), generator=generator)
            delta[torch.arange(len(x)), one] = (-1.0) ** (trial // 2)
        delta *= tau / delta.norm(dim=1, keepdim=True)
        deviation = (full(x + delta) - f - (gradient * delta).sum(dim=1)).abs().numpy()
        assert np.all(deviation <= bound + 1e-9)


def test_a_linear_net_does_not_deviate():
    linear = NETS["pure"].replace(threshold=0.0, sigma_rho=0.0)
    some = points(10).moved(3.0, np.full(10, 3.0))
    assert np.all(tangent_deviation(linear, some, 0.05) <= 1e-6)


def test_other_norms_are_refused():
    with pytest.raises(ValueError, match="must be 2 or inf, got 1"):
        worst_margins(NETS["pure"], points(2), 1, 0.1)


@pytest.mark.parametrize("net", CLASSES.values(), ids=CLASSES)
def test_nets_of_several_classes_are_refused(net):
    for bound in (
        lambda: worst_margins(net, points(2), 2, 0.1),
        lambda: tangent_deviation(net, points(2), 0.1),
    ):
        with pytest.raises(ValueError, match=r"written for one class of neurons, got [23]\.$"):
            bound()
