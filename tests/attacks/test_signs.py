"""l_inf PGD by changes of sign is PGD by gradients."""

import math

import pytest
import torch

from karat.attacks import PGD, routes, run_attack
from karat.attacks.signs import walk
from karat.attacks.signs.walk import walkable_hinges
from karat.core import Ball
from karat.core.activations import LeakyRelu, Relu, Softplus
from karat.nets import TwoLayer, as_classifier


class Gradients:
    """A classifier that hides its neurons."""

    def __init__(self, classifier):
        self._classifier = classifier

    def margin(self, x, y):
        return self._classifier.margin(x, y)

    def margin_and_gradient(self, x, y):
        return self._classifier.margin_and_gradient(x, y)


def problem(n=40, d=30, m=50, *, activation=None, biases=True, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=dtype)

    b, c = (normal(m), normal(())) if biases else (None, None)
    net = TwoLayer(normal(m, d), normal(m), b, c, activation or Relu(), 1 / math.sqrt(m))
    return as_classifier(net), normal(n, d), normal(n).sign()


@pytest.fixture
def always(monkeypatch):
    """Walk however small the problem and however many signs change."""
    monkeypatch.setattr(routes, "WORTH", 0)
    monkeypatch.setattr(walk, "LIMIT", math.inf)


def compare(method, classifier, x, y, ball):
    def run(seen):
        return method(seen, x, y, ball, generator=torch.Generator().manual_seed(1))

    walked, stepped = run(classifier), run(Gradients(classifier))
    assert not torch.equal(walked, torch.zeros_like(x))
    torch.testing.assert_close(walked, stepped, rtol=0, atol=1e-12)
    return walked


@pytest.mark.slow
@pytest.mark.parametrize("activation", [Relu(), LeakyRelu(0.1), LeakyRelu(1.0)])
@pytest.mark.parametrize("tau", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("keep", ["best", "last"])
def test_it_is_pgd(always, activation, tau, keep):
    classifier, x, y = problem(activation=activation)
    compare(PGD(steps=20, keep=keep), classifier, x, y, Ball(math.inf, tau))


@pytest.mark.slow
@pytest.mark.parametrize(
    "knobs",
    [
        {"restarts": 3},
        {"restarts": 3, "keep": "last"},
        {"random_start": True},
        {"until_broken": True},
        {"until_broken": True, "keep": "last"},
        {"until_broken": True, "restarts": 3},
        {"steps": 2},
        {"step": 0.037},
        {"step_ratio": 1.7},
        {"gradient": "sign", "steps": 100},
        {"start": lambda classifier, x, y, ball, *, generator=None: ball.project(x)},
    ],
    ids=lambda knobs: " ".join(knobs),
)
@pytest.mark.parametrize("biases", [True, False])
def test_it_is_pgd_with_every_knob(always, knobs, biases):
    classifier, x, y = problem(biases=biases, seed=2)
    compare(PGD(**({"steps": 15} | knobs)), classifier, x, y, Ball(math.inf, 0.2))


def test_radii_may_differ_and_vanish(always):
    classifier, x, y = problem()
    tau = torch.linspace(0, 1, len(x), dtype=x.dtype)
    delta = compare(PGD(), classifier, x, y, Ball(math.inf, tau))
    assert bool((delta[0] == 0).all())


def test_samples_beyond_the_first_chunks(always, monkeypatch):
    monkeypatch.setattr(walk, "FIRST", 16 * 30)
    monkeypatch.setattr(walk, "CHUNK", 7 * 30)
    classifier, x, y = problem()
    compare(PGD(), classifier, x, y, Ball(math.inf, torch.full((len(x),), 0.2, dtype=x.dtype)))


def test_strides_and_graphs_do_not_matter(always):
    classifier, x, y = problem()
    transposed = x.T.contiguous().T.requires_grad_()
    compare(PGD(until_broken=True), classifier, transposed, y, Ball(math.inf, 0.2))


def test_where_many_signs_change_the_rest_is_stepped(always, monkeypatch):
    monkeypatch.setattr(walk, "LIMIT", 1e-9)
    monkeypatch.setattr(walk, "FIRST", 16 * 30)
    classifier, x, y = problem()
    tau = torch.linspace(0.1, 1, len(x), dtype=x.dtype)
    for until_broken in (False, True):
        compare(PGD(until_broken=until_broken, restarts=2), classifier, x, y, Ball(math.inf, tau))


def test_single_precision_finds_the_same_robust_accuracy(always):
    classifier, x, y = problem(n=200, d=100, m=100, dtype=torch.float32)
    for tau in (0.02, 0.1):
        ball = Ball(math.inf, tau)
        walked, stepped = (
            run_attack(PGD(), seen, x, y, ball).margin for seen in (classifier, Gradients(classifier))
        )
        assert abs(int((walked > 0).sum()) - int((stepped > 0).sum())) <= 1
        assert float((walked - stepped).abs().median()) < 1e-5


def test_a_sample_that_loses_its_last_neuron_stops(always):
    """relu(x - 1/2) - 0.1 at x = 1: below 1/2 the net is flat, and rounding must not move it on."""
    one = torch.ones(1, dtype=torch.float64)
    W = torch.tensor([[1.0, 0.1]], dtype=torch.float64)
    net = as_classifier(TwoLayer(W, one, -0.5 * one, -0.1 * one[0]))
    x = torch.tensor([[1.0, 0.0]], dtype=torch.float64).repeat(3, 1)
    delta = compare(PGD(steps=50, keep="last"), net, x, one.repeat(3), Ball(math.inf, 5.0))
    assert bool((delta.abs() < 1).all())


def test_infinite_weights_are_left_to_the_gradients(always):
    classifier, x, y = problem()
    broken = as_classifier(classifier.net.replace(a=classifier.net.a * math.inf))
    ball = Ball(math.inf, 0.1)
    walked, stepped = (PGD()(seen, x, y, ball) for seen in (broken, Gradients(broken)))
    torch.testing.assert_close(walked, stepped, equal_nan=True)


def test_a_classifier_without_hinges_is_stepped(always):
    classifier, x, y = problem()
    assert walkable_hinges(classifier, x, y, 20) is not None
    smooth = problem(activation=Softplus())[0]
    for other in [(classifier, x.float(), y), (smooth, x, y), (Gradients(classifier), x, y)]:
        assert walkable_hinges(*other, 20) is None


def test_small_problems_are_stepped():
    assert walkable_hinges(*problem(), 2) is None
