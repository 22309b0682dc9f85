"""Nets along rays, and the exact first crossing they make possible."""

import pytest
import torch

from karat.attacks import GradientStep, gradient_crossing
from karat.attacks.ray import search
from karat.core import Ball, HasLine
from karat.nets import Deep, Linear, ModuleClassifier, OddTwoLayer, as_classifier, init, to_module


def forbid(name, monkeypatch):
    def refuse(*args, **options):
        raise AssertionError(f"{name} was called")

    monkeypatch.setattr(search, name, refuse)


def test_the_line_gives_the_margin_on_the_ray(make_net, x, y, generator):
    net = make_net()
    classifier = as_classifier(net)
    assert isinstance(classifier, HasLine)
    direction = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    line = classifier.line(x, direction, y)
    if isinstance(net, Deep):
        assert line is None
        return
    for t in torch.linspace(0, 3, 5, dtype=x.dtype):
        margin = classifier.margin(x + t * direction, y)
        torch.testing.assert_close(line.margin(t.expand(len(x))), margin)


def test_wrong_labels_are_refused_on_a_line(generator, x):
    net = init.gaussian(4, 6, generator=generator)
    with pytest.raises(ValueError, match="labels"):
        as_classifier(net).line(x, x, torch.zeros(len(x)))


@pytest.fixture(params=["gaussian", "pytorch_default", "odd", "linear"])
def piecewise_linear(request, generator):
    if request.param == "odd":
        W = torch.randn(30, 4, generator=generator, dtype=torch.float64)
        return OddTwoLayer(W, torch.tensor(-0.2, dtype=torch.float64))
    if request.param == "linear":
        return Linear(torch.randn(4, generator=generator, dtype=torch.float64))
    return getattr(init, request.param)(4, 30, generator=generator)


def test_the_crossing_of_a_relu_net_is_found_exactly(piecewise_linear, x, monkeypatch):
    classifier = as_classifier(piecewise_linear)
    y = piecewise_linear(x).sign()
    scanned = gradient_crossing(ModuleClassifier(to_module(piecewise_linear)), x, y, 20.0, points=400)
    forbid("search_scan", monkeypatch)
    crossing = gradient_crossing(classifier, x, y, 20.0)
    torch.testing.assert_close(crossing.length, scanned.length, rtol=1e-9, atol=1e-12)
    reached = torch.isfinite(crossing.length)
    assert bool(reached.any())
    delta = GradientStep()(classifier, x[reached], y[reached], Ball(2, 20.0))
    margin = classifier.margin(x[reached] + delta, y[reached])
    assert bool((margin <= 0).all())
    torch.testing.assert_close(margin, torch.zeros_like(margin), atol=1e-9, rtol=0)


def test_the_crossing_of_a_smooth_net_is_searched_on_its_line(x, generator, activation, monkeypatch):
    forbid("search_breakpoints", monkeypatch)
    net = init.gaussian(4, 30, generator=generator, activation=activation("smooth_leaky_relu"))
    y = net(x).sign()
    lengths = [
        gradient_crossing(classifier, x, y, 20.0).length
        for classifier in (as_classifier(net), ModuleClassifier(to_module(net)))
    ]
    torch.testing.assert_close(*lengths, rtol=1e-9, atol=1e-12)
