"""Minimal radii and curves of brackets."""

import pytest
import torch

from karat.attacks import PGD, minimal_radius
from karat.certificates import (
    bracket,
    bracket_of,
    certify,
    minimal_radius_bracket,
    status_curve,
)
from karat.core import Ball, dual_exponent
from karat.nets import Linear, as_classifier, init


def test_the_radius_of_a_linear_net_is_its_distance(p, generator):
    w = torch.randn(4, generator=generator, dtype=torch.float64)
    net = Linear(w)
    x = torch.randn(10, 4, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    found = minimal_radius_bracket(net, x, y, Ball(p, 50.0), rtol=1e-3)
    distance = net(x).abs() / torch.linalg.vector_norm(w, ord=dual_exponent(p))
    assert bool((found.certified <= distance).all())
    assert bool((found.broken >= distance).all())
    assert torch.allclose(found.certified, distance, rtol=2e-3)
    assert torch.allclose(found.broken, distance, rtol=2e-3)


def test_the_bracket_holds_what_attacks_find(generator):
    net = init.pytorch_default(3, 10, generator=generator)
    x = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    ball = Ball(2, 4.0)
    found = minimal_radius_bracket(net, x, y, ball, 1.0, rtol=0.02)
    attacked = minimal_radius(as_classifier(net), x, y, ball, method=PGD(steps=40))
    assert bool((found.certified <= attacked.broken).all())
    assert bool((found.certified <= found.broken).all())
    closed = torch.isfinite(found.broken)
    assert bool((found.broken[closed] - found.certified[closed] <= 0.03 * found.broken[closed]).all())
    hit = y[closed] * net((x + found.delta)[closed])
    assert bool((hit < 0).all())


def test_misclassified_samples_have_radius_zero(generator):
    net = init.pytorch_default(3, 10, generator=generator)
    x = torch.randn(3, 3, generator=generator, dtype=torch.float64)
    found = minimal_radius_bracket(net, x, -torch.sign(net(x)), Ball(2, 1.0), 0.5)
    assert found.certified.tolist() == [0.0] * 3
    assert found.broken.tolist() == [0.0] * 3


def test_curves_are_monotone_and_agree_with_single_radii(generator):
    net = init.pytorch_default(3, 10, generator=generator)
    x = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    curve = [bracket_of(line) for line in status_curve(net, x, y, Ball(2, 1.0), [0.0, 0.3, 0.9], 1.0)]
    assert [point.low for point in curve] == sorted(point.low for point in curve)
    assert [point.high for point in curve] == sorted(point.high for point in curve)
    single = bracket(certify(net, x, y, Ball(2, 0.3), 1.0))
    assert (single.low, single.high) == (curve[1].low, curve[1].high)
    with pytest.raises(ValueError, match="`radii` of `status_curve` must increase"):
        status_curve(net, x, y, Ball(2, 1.0), [0.3, 0.1])


def test_statuses_at_many_radii_are_those_of_single_certificates(p, generator):
    net = init.pytorch_default(3, 10, generator=generator)
    x = torch.randn(15, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    radii = [0.0, 0.05, 0.2, 0.4, 0.8, 1.6]
    asked = []
    curve = status_curve(net, x, y, Ball(p, 1.0), radii, 2.0, listener=lambda *event: asked.append(event))
    for radius, line in zip(radii, curve, strict=True):
        assert line == certify(net, x, y, Ball(p, radius), 2.0).status
    # Bisection: three rounds over six radii, not six.
    assert sum(stage == "attack" for stage, _, _ in asked) <= 3
    first = certify(net, x, y, Ball(p, 0.4), 2.0)
    assert status_curve(net, x, y, Ball(p, 1.0), radii, 2.0, known={0.4: first}) == curve
