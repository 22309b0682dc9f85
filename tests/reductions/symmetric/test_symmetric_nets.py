"""Symmetric nets on sparse points are the lifted nets in d dimensions: values, gradients, attacks."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from karat.attacks import PGD, Steepest, run_attack
from karat.core.ball import Ball
from karat.data.dictionaries import draw_dictionary
from karat.data.sparse_code import MULTI_SCALE, SparseCode
from karat.data.sparse_coding import draw_w_star
from karat.reductions.symmetric import NeuronClass, SparsePoints, SymmetricNet, attack, draw_points, strongest
from karat.training.odd import OddClassifier

D = 50
NETS = {
    "pure": SymmetricNet(d=D, threshold=0.2, sigma_rho=0.02),
    "soiled": SymmetricNet(d=D, alpha=1.3, beta=0.05, threshold=0.2, sigma_rho=0.05),
    "against": SymmetricNet(d=D, alpha=1.1, beta=-0.04, threshold=0.15, sigma_rho=0.03),
    "hubs and copies": SymmetricNet(
        d=D, alpha=1.0, beta=0.02, gamma=0.1, threshold=0.1, sigma_rho=0.2, copies=2, hubs=4
    ),
    "no noise": SymmetricNet(d=D, alpha=1.2, beta=0.03, threshold=0.2),
}
CLASSES = {
    "two classes": NETS["soiled"].replace(more=(NeuronClass(alpha=0.6, beta=-0.02),)),
    "three classes and hubs": NETS["hubs and copies"].replace(
        more=(NeuronClass(alpha=0.5, beta=0.01, copies=3), NeuronClass(alpha=-0.05, beta=0.03))
    ),
}
with_classes = pytest.mark.parametrize(
    "net", [pytest.param(net, id=name) for name, net in (NETS | CLASSES).items()]
)
every_net = pytest.mark.parametrize("net", [pytest.param(net, id=name) for name, net in NETS.items()])


def points(n: int = 30, d: int = D, seed: int = 0) -> SparsePoints:
    return draw_points(SparseCode(k=6, D=d, small_rate=0.6), n, generator=np.random.default_rng(seed))


def lifted(net: SymmetricNet, of: SparsePoints, dictionary: str = "unitary"):
    """The net in d dimensions, and how points get there and perturbations back."""
    generator = torch.Generator().manual_seed(3)
    M = draw_dictionary(dictionary, net.d, net.d, generator=generator)
    w_star = draw_w_star("signs", net.d, generator=generator)
    places = of.positions(np.random.default_rng(5))
    x = (torch.from_numpy(of.dense(places)) * w_star) @ M.T
    return net.lift(M, w_star), x, torch.from_numpy(of.label), M * w_star, places


@with_classes
def test_outputs_and_gradients_are_those_of_the_lifted_net(net):
    some = points()
    full, x, _, features, places = lifted(net, some)
    f, gradient = full.value_and_input_gradient(x)
    assert np.allclose(net(some), f.numpy(), rtol=1e-10, atol=1e-12)
    slope, rest = net.input_gradient(net.look(some))
    want = SparsePoints(D, slope, some.offsets, rest).dense(places)
    assert np.allclose(want, (gradient @ features).numpy(), rtol=1e-9, atol=1e-11)


@with_classes
@pytest.mark.parametrize(("p", "tau", "dictionary"), [(2, 0.3, "unitary"), (math.inf, 0.05, "identity")])
def test_the_fast_gradient_method_is_that_of_d_dimensions(net, p, tau, dictionary):
    some = points()
    full, x, y, _, _ = lifted(net, some, dictionary)
    want = run_attack(Steepest(), OddClassifier(full), x, y, Ball(p, tau)).margin
    found = attack(net, some, p, tau)
    assert np.allclose(found.margin, want.numpy(), rtol=1e-8, atol=1e-10)
    assert np.all(found.length(p) <= tau * (1 + 1e-12))


def test_equal_classes_are_copies():
    some, net = points(), NETS["soiled"].replace(gamma=0.1, hubs=2)
    twice = net.replace(copies=2)
    beside = net.replace(more=(NeuronClass(alpha=net.alpha, beta=net.beta),))
    assert np.allclose(beside(some), twice(some), rtol=1e-13)
    assert (beside.m, beside.squared_norm) == (twice.m, pytest.approx(twice.squared_norm))
    margins = [attack(one, some, 2, 0.3).margin for one in (beside, twice)]
    assert np.allclose(*margins, rtol=1e-12)


@with_classes
def test_norms_and_distances_are_those_of_the_lifted_net(net):
    other = net.with_coefficients(1.1 * net.coefficients)
    eye, ones = torch.eye(D, dtype=torch.float64), torch.ones(D, dtype=torch.float64)
    W, moved = net.lift(eye, ones).W, other.lift(eye, ones).W
    assert len(W) == net.m
    assert net.squared_norm == pytest.approx(float(W.square().sum()), rel=1e-12)
    assert other.moved_from(net) == pytest.approx(float((moved - W).square().sum()), rel=1e-12)


def test_at_radius_zero_nothing_moves():
    some, net = points(), NETS["soiled"]
    assert np.allclose(strongest(net, some, 2, 0.0).margin, some.label * net(some), rtol=1e-13, atol=1e-15)


def test_more_steps_never_help_the_net():
    some, net = points(100), NETS["soiled"]
    fast, longer = (strongest(net, some, 2, 0.4, steps=steps).margin for steps in (0, 20))
    assert np.all(longer <= fast + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "tau"), [(2, 0.06), (2, 0.12), (math.inf, 0.002)])
@pytest.mark.parametrize("beta", [0.0, 0.004, -0.0005])
def test_attacks_in_all_of_2000_dimensions_break_no_more_points(p, tau, beta):
    """PGD from many starts, random ones included, in the full space against PGD among equal coordinates."""
    code = SparseCode(k=40, D=2000, small_rate=1.0)
    some = draw_points(code, 150, generator=np.random.default_rng(1))
    net = SymmetricNet(d=2000, alpha=1.3, beta=beta, threshold=0.08, sigma_rho=0.008)
    full, x, y, _, _ = lifted(net, some, "identity")
    full = full.replace(W=full.W.float(), b=full.b.float())
    margins = [strongest(net, some, p, tau).margin]
    for method in (PGD(steps=20), PGD(steps=20, start=Steepest()), PGD(steps=20, random_start=True)):
        generator = torch.Generator().manual_seed(0)
        result = run_attack(
            method, OddClassifier(full), x.float(), y.float(), Ball(p, tau), generator=generator
        )
        margins.append(result.margin.double().numpy())
    best_full = np.min(margins[1:], axis=0)
    assert np.mean(margins[0] < 0) >= np.mean(best_full < 0) - 1e-9
    assert np.all(margins[0] <= best_full + 1e-3 * np.abs(best_full).max())


def test_draws_have_the_law_of_dense_codes():
    """Counts, levels and signs; each comparison errs with probability 1e-6 if the laws are equal."""
    code = SparseCode(k=16, D=400, scales=MULTI_SCALE)
    sparse = draw_points(code, 4000, generator=np.random.default_rng(2))
    dense = code.sample(4000, generator=torch.Generator().manual_seed(2)).numpy()
    assert stats.ks_2samp(sparse.support, (dense != 0).sum(axis=1)).pvalue > 1e-6
    assert stats.ks_2samp(sparse.values, dense[dense != 0]).pvalue > 1e-6
    assert stats.ks_2samp(sparse.score, dense.sum(axis=1)).pvalue > 1e-6
    assert sparse.support.mean() == pytest.approx(code.expected_support, rel=0.05)


def test_a_tie_has_the_label_plus_one():
    tie = SparsePoints(10, np.array([0.5, -0.5]), np.array([0, 2, 2]), np.zeros(2))
    assert tie.label.tolist() == [1.0, 1.0]


def test_selected_rows_keep_their_coordinates():
    some = points(7)
    chosen = np.array([True, False, False, True, True, False, True])
    left = some.select(chosen)
    assert np.array_equal(left.score, some.score[chosen])
    assert np.array_equal(left.support, some.support[chosen])


def test_points_of_another_dimension_are_refused():
    with pytest.raises(ValueError, match=r"must have d = 50 coordinates, got 60\.$"):
        NETS["pure"](points(d=60))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d": 1}, "`d` of `SymmetricNet` must be at least 2"),
        ({"alpha": math.nan}, "`alpha` of `SymmetricNet`"),
    ],
)
def test_bad_nets_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SymmetricNet(**({"d": 5, "threshold": 0.1} | changes))


def test_a_class_needs_numbers():
    with pytest.raises(ValueError, match="`beta` of `NeuronClass`"):
        NeuronClass(alpha=1.0, beta=math.inf)
