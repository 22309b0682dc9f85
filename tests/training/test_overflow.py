"""Numbers that overflow end an attack or a training in an error, and never write where they should not."""

import dataclasses
import math
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.attacks import routes
from karat.attacks.inner_products.attack import attacked_margins, attacked_perturbations
from karat.attacks.inner_products.gram import gram_net
from karat.attacks.pgd import PGD
from karat.attacks.signs import walk
from karat.core import Ball, Diverged, Relu, Softplus
from karat.nets import OddTwoLayer, TwoLayer, as_classifier
from karat.reductions.span import train_exact
from karat.study.record import cell_generator
from karat.study.registry import find_experiment
from karat.training import Adversary, Constant, Trainer
from karat.training.odd import forward

PASSES = sys.modules["karat.training.odd.forward"]
METHOD = PGD(steps=20)
SCALES = (1e-45, 1e-30, 1e-19, 1e-8, 1.0, 1e8, 1e15, 1e19, 1e25, 1e30, 1e38)


def problem(n=6, d=5, m=70, *, dtype=torch.float32, weights=1.0, inputs=1.0, outputs=1.0, activation=None):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    W, a, x = normal(m, d) * weights, normal(m) * outputs, normal(n, d) * inputs
    net = TwoLayer(W.to(dtype), a.to(dtype), None, None, activation or Relu())
    return net, x.to(dtype), normal(n).sign().to(dtype)


@pytest.mark.parametrize(
    ("dtype", "tau", "largest"), [(torch.float32, 1e35, "1e+30"), (torch.float64, 1e200, "1e+150")]
)
def test_a_radius_that_must_overflow_is_refused(dtype, tau, largest):
    module = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.ReLU(), torch.nn.Linear(100, 1)).to(
        dtype
    )
    x = torch.randn(200, 100, generator=torch.Generator().manual_seed(0)).to(dtype)
    with pytest.raises(
        OverflowError, match=f"radius or step .* the largest allowed is {largest}".replace("+", r"\+")
    ):
        karat.attack(module, x, torch.ones(200), Ball(2, tau), "pgd")


def test_a_radius_that_the_type_of_the_inputs_cannot_hold_is_refused():
    net, x, y = problem()
    with pytest.raises(ValueError, match=r"`tau` of `Ball` must fit into torch.float32, .* got 1e\+39"):
        karat.attack(net, x, y, Ball(2, 1e39), "pgd")


def test_inner_products_are_for_single_and_double_precision():
    net, x, y = problem(dtype=torch.bfloat16)
    with pytest.raises(TypeError, match=r"run in float32 or float64, got torch.bfloat16"):
        attacked_perturbations(net, x, y, METHOD, Ball(2, 0.5))


@pytest.mark.parametrize("form", ["sides", "dense"])
@pytest.mark.parametrize("keep", ["best", "last"])
@pytest.mark.parametrize(
    ("size", "tau"),
    [
        ({"weights": 1e15}, 1e29),
        ({"weights": 1e25}, 1.0),
        ({"outputs": 1e38}, 1e5),
        ({"inputs": math.nan}, 1.0),
    ],
    ids=["products", "gram", "gradient", "nan"],
)
def test_an_attack_that_overflows_says_so(form, keep, size, tau):
    net, x, y = problem(**size)
    with pytest.raises(OverflowError, match=r"leaves the range of torch.float32"):
        attacked_margins(gram_net(net), x @ net.W.T, y, PGD(steps=20, keep=keep), Ball(2, tau), form=form)


def test_weights_too_small_for_their_coefficients_are_an_overflow():
    """delta = W^T u is of size 1 and W of size 1e-41: u does not fit."""
    net, x, y = problem(weights=1e-15, outputs=1e-3)
    delta = attacked_perturbations(net, x, y, METHOD, Ball(2, 1.0))
    assert bool(torch.isfinite(delta).all())
    with pytest.raises(OverflowError, match=r"leaves the range of torch.float32"):
        attacked_perturbations(net, x, y, METHOD, Ball(2, 1e25))


@pytest.mark.parametrize("activation", [Relu(), Softplus()], ids=str)
@pytest.mark.parametrize("tau", [1e100, 1e29])
def test_training_with_a_radius_that_overflows_diverges(activation, tau):
    net, x, y = problem(weights=1e10, activation=activation)
    trainer = Trainer(lr=Constant(0.1), trainable=("W",), adversary=Adversary(METHOD, Ball(2, tau)))
    run = train_exact(trainer, net, x, y, steps=3)
    with pytest.raises(Diverged, match="at step 0"):
        _ = run.net


def test_an_observer_whose_attack_overflows_ends_the_run_as_diverged():
    net, x, y = problem()
    trainer = Trainer(lr=Constant(0.1), trainable=("W",))

    def observe(step, state):
        margins = attacked_margins(state.gram, state.P, y, METHOD, Ball(2, 1.0 if step < 2 else 1e100))
        return {"worst": float(margins.min())}

    run = train_exact(trainer, net, x, y, steps=3, observe=observe, observe_at=range(4))
    assert [step for step, _ in run.measurements] == [0, 1]
    with pytest.raises(Diverged, match=r"at step 2: .*1e\+100"):
        _ = run.net


def test_a_state_that_is_not_finite_is_not_observed():
    net, x, y = problem()
    trainer = Trainer(lr=Constant(1e30), trainable=("W",))
    seen = []
    run = train_exact(
        trainer, net, x, y, steps=9, observe=lambda step, _: seen.append(step) or {}, observe_at=range(10)
    )
    assert run.divergence is not None
    assert max(seen) < run.divergence.step


def test_a_step_size_that_its_type_cannot_hold_diverges():
    net, x, y = problem()
    run = train_exact(Trainer(lr=Constant(1e39), trainable=("W",)), net, x, y, steps=3)
    with pytest.raises(Diverged, match=r"at step 0: the step size 1e\+39 does not fit into torch.float32"):
        _ = run.net


@pytest.mark.parametrize("name", ["benign.fig6", "benign.fig5", "benign.boundary"])
def test_experiments_at_impossible_radii_diverge(name):
    experiment = find_experiment(name)
    config = dataclasses.replace(experiment.presets["tiny"].config, ratio=1e30)
    with pytest.raises(Diverged, match=r"the largest allowed is 1e\+30"):
        experiment.run(config, cell_generator(name, 0))


@pytest.mark.parametrize("sigma", [0.0, 0.1])
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("split", [False, True])
def test_an_odd_net_is_not_finite_where_a_projection_is_not(sigma, value, split, monkeypatch):
    monkeypatch.setattr(PASSES, "_SMALLEST", 0 if split else 10**9)
    W = 1e-3 * torch.ones(8, 3)
    W[7] = 2.0
    x = torch.ones(4, 3)
    x[1, 0] = value
    f, _ = forward(OddTwoLayer(W, torch.tensor(-1.0), sigma), x)
    assert torch.isfinite(f).tolist() == [True, False, True, True]


@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_the_fast_odd_pass_refuses_a_positive_bias(sigma):
    net = OddTwoLayer(torch.ones(2, 3), torch.tensor(50.0), sigma)
    with pytest.raises(ValueError, match="`b` of `OddTwoLayer` must be <= 0 for the fast pass, got 50"):
        forward(net, torch.ones(4, 3))


scales = st.sampled_from(SCALES)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    weights=scales,
    inputs=scales,
    outputs=scales,
    tau=scales,
    keep=st.sampled_from(["best", "last"]),
    until_broken=st.booleans(),
    m=st.sampled_from([1, 63, 64, 65, 70]),
    smooth=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_l2_attacks_at_any_scale_stay_in_the_ball_or_say_why(
    weights, inputs, outputs, tau, keep, until_broken, m, smooth, dtype
):
    activation = Softplus() if smooth else Relu()
    net, x, y = problem(
        m=m, dtype=dtype, weights=weights, inputs=inputs, outputs=outputs, activation=activation
    )
    method = PGD(steps=5, keep=keep, until_broken=until_broken)
    try:
        delta = attacked_perturbations(net, x, y, method, Ball(2, tau))
    except OverflowError:
        return
    assert bool((delta.double().norm(dim=1) <= tau * (1 + 1e-5)).all())


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    weights=scales,
    inputs=scales,
    outputs=scales,
    tau=scales,
    keep=st.sampled_from(["best", "last"]),
    until_broken=st.booleans(),
)
def test_linf_attacks_at_any_scale_stay_in_the_ball(weights, inputs, outputs, tau, keep, until_broken):
    net, x, y = problem(weights=weights, inputs=inputs, outputs=outputs)
    before = routes.WORTH, walk.LIMIT
    try:
        routes.WORTH, walk.LIMIT = 0, math.inf
        method = PGD(steps=5, keep=keep, until_broken=until_broken)
        delta = method(as_classifier(net), x, y, Ball(math.inf, tau))
    finally:
        routes.WORTH, walk.LIMIT = before
    assert bool((delta.double().abs() <= tau * (1 + 1e-6) + 1e-45).all())
    assert bool(torch.isfinite(delta).all())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    weights=scales,
    inputs=scales,
    threshold=scales,
    noise=st.sampled_from([0.0, 0.1, 3.0]),
    split=st.booleans(),
)
def test_odd_nets_at_any_scale_are_finite_only_if_their_projections_are(
    weights, inputs, threshold, noise, split
):
    net, x, _ = problem(weights=weights, inputs=inputs)
    odd = OddTwoLayer(net.W, -torch.tensor(threshold), noise * threshold if threshold > 1e-38 else 0.0)
    before = PASSES._SMALLEST
    try:
        PASSES._SMALLEST = 0 if split else 10**9
        f, gates = forward(odd, x)
    finally:
        PASSES._SMALLEST = before
    finite = torch.isfinite(x @ net.W.T).all(dim=1)
    assert not bool(torch.isfinite(f)[~finite].any())
    assert gates.input_gradient(net.W).shape == x.shape
