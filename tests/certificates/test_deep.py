"""Deeper models: interval bounds and linear relaxation are sound, and name the layers they do not know."""

import math

import pytest
import torch
from torch import nn

from karat.attacks import PGD
from karat.certificates import UnsupportedLayer, certify
from karat.certificates.deep_relaxation import deep_bound
from karat.certificates.interval import interval_bounds
from karat.certificates.layers import chain_of
from karat.certificates.relaxation import linear_relaxation
from karat.certificates.target import target_of
from karat.core import Ball, LeakyRelu, SmoothedRelu
from karat.nets import Deep, init


def normed(channels):
    layer = nn.BatchNorm2d(channels)
    layer.running_mean.normal_(generator=torch.Generator().manual_seed(1))
    layer.running_var.uniform_(0.5, 2.0, generator=torch.Generator().manual_seed(2))
    return layer


def models():
    torch.manual_seed(0)
    return {
        "dense": (
            nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 3)),
            (4,),
        ),
        "scalar": (
            nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1)),
            (4,),
        ),
        "conv": (
            nn.Sequential(
                nn.Conv2d(1, 3, 3, padding=1),
                normed(3),
                nn.ReLU(),
                nn.AvgPool2d(2),
                nn.Conv2d(3, 4, 2, stride=2, bias=False),
                nn.ReLU(),
                nn.Flatten(),
                nn.Dropout(),
                nn.Linear(4, 3),
            ),
            (1, 4, 4),
        ),
        "pool first": (
            nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)),
            (1, 4, 4),
        ),
    }


@pytest.fixture(params=["dense", "scalar", "conv", "pool first"])
def case(request, generator):
    model, shape = models()[request.param]
    x = torch.randn(6, *shape, generator=generator)
    scalar = request.param == "scalar"
    with torch.no_grad():
        out = model.eval()(x)
    y = torch.where(out[:, 0] > 0, 1.0, -1.0) if scalar else out.argmax(dim=1)
    return model, x, y


@pytest.mark.parametrize("tau", [0.05, 0.4])
def test_no_perturbation_beats_a_deep_bound(case, p, tau, generator):
    model, x, y = case
    target = target_of(model, x, y, Ball(p, tau))
    crude, fine = deep_bound(target.chain, target.x, target.rows, target.owner, target.ball)
    assert bool((fine >= crude).all())
    lower = target.per_sample(fine)
    attack = PGD(steps=20, restarts=3)
    worst = target.classifier.margin(
        target.x + attack(target.classifier, target.x, target.y, target.ball, generator=generator), target.y
    )
    for _ in range(200):
        delta = target.ball.sample(target.x, generator=generator)
        worst = torch.minimum(worst, target.classifier.margin(target.x + delta, target.y))
    assert bool((lower <= worst + 1e-12).all())


def test_intervals_hold_all_layers(case, p, generator):
    model, x, _ = case
    chain = chain_of(model.double().eval())
    x = x.double()
    ball = Ball(p, 0.3)
    boxes = interval_bounds(chain, x, ball)
    with torch.no_grad():
        for _ in range(100):
            state = x + ball.sample(x, generator=generator)
            for layer, (low, high) in zip(chain, boxes[1:], strict=True):
                state = layer.forward(state) if hasattr(layer, "forward") else layer.value(state)
                assert bool(((low <= state) & (state <= high)).all())


def test_zero_radius_gives_the_margin(case, p):
    model, x, y = case
    target = target_of(model, x, y, Ball(p, 0.0))
    crude, fine = deep_bound(target.chain, target.x, target.rows, target.owner, target.ball)
    margin = target.classifier.margin(target.x, target.y)
    assert torch.allclose(target.per_sample(fine), margin, atol=1e-10)
    assert torch.allclose(target.per_sample(crude), margin, atol=1e-9)


@pytest.mark.parametrize("activation", [None, LeakyRelu(0.3), SmoothedRelu(0.2)])
def test_karats_deep_net_is_certified(p, activation, generator):
    net = init.deep_gaussian(3, 10, 2, generator=generator, activation=activation)
    x = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(net(x))
    found = certify(net, x, y, Ball(p, 0.02))
    assert set(found.status) <= {"robust", "undecided", "broken"}
    assert found.count("robust") >= 4
    assert isinstance(net, Deep)


def test_two_layer_modules_agree_with_the_deep_route(p, generator):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 3)).double()
    x = torch.randn(5, 4, generator=generator, dtype=torch.float64)
    y = model(x).argmax(dim=1)
    ball = Ball(p, 0.3)
    target = target_of(model, x, y, ball)
    assert target.problem is not None
    deeper = nn.Sequential(*model, nn.Identity())
    rows = target_of(
        nn.Sequential(model[0], model[1], model[2], nn.BatchNorm1d(3, eps=0, affine=False).eval()), x, y, ball
    )
    crude, fine = deep_bound(rows.chain, rows.x, rows.rows, rows.owner, rows.ball)
    # The deep route takes the larger of intervals and lines; for p = inf intervals sometimes win.
    assert torch.allclose(fine, torch.maximum(crude, linear_relaxation(target.problem)), rtol=0, atol=1e-9)
    assert bool((fine > crude).any())
    assert target_of(deeper, x, y, ball).problem is not None


def test_a_linear_model_with_logits_is_exact(p, generator):
    torch.manual_seed(4)
    model = nn.Linear(5, 3).double()
    x = torch.randn(10, 5, generator=generator, dtype=torch.float64)
    y = model(x).argmax(dim=1)
    found = certify(model, x, y, Ball(p, 0.2))
    q = {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[p]
    with torch.no_grad():
        gaps = model(x).gather(1, y[:, None]) - model(x)
        norms = torch.linalg.vector_norm(model.weight[y].unsqueeze(1) - model.weight, ord=q, dim=2)
        gaps.scatter_(1, y[:, None], torch.inf)
        exact = (gaps - 0.2 * norms).amin(dim=1)
    assert torch.allclose(found.lower, exact, atol=1e-9)
    assert torch.allclose(found.upper, exact, atol=1e-9)


@pytest.mark.parametrize(
    ("layer", "name"), [(nn.GELU(), "GELU"), (nn.MaxPool2d(2), "MaxPool2d"), (nn.LSTM(4, 4), "LSTM")]
)
def test_unsupported_layers_are_named(layer, name):
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(layer), nn.Linear(4, 1))
    with pytest.raises(UnsupportedLayer, match=f"layer `{name}` at `model.1.0`"):
        certify(model, torch.zeros(1, 4), torch.ones(1), Ball(2, 0.1))
