"""The way an attack goes is chosen in one place, and every way leads to the same perturbations."""

import math
from dataclasses import replace

import pytest
import torch

from karat.attacks import PGD, Strongest, routes
from karat.attacks.fastest import fastest_perturbations
from karat.attacks.inner_products import attack as inner_products_attack
from karat.attacks.inner_products.attack import attack_obstacle
from karat.attacks.pgd import PATH
from karat.attacks.routes import route, worthwhile
from karat.core.ball import Ball
from karat.nets import TwoLayer, as_classifier

L2, CUBE = Ball(2, 0.5), Ball(math.inf, 0.1)
X = torch.zeros(3, 5)


class Halved(PGD):
    """Half of what PGD finds: a subclass that takes other steps."""

    def __call__(self, classifier, x, y, ball, *, generator=None):
        return super().__call__(classifier, x, y, ball, generator=generator) / 2


@pytest.mark.parametrize(
    ("method", "x", "ball", "way"),
    [
        (PGD(), X, L2, "inner products"),
        (PGD(gradient="normalised"), X, L2, "inner products"),
        (PGD(gradient="sign"), X, L2, "gradients"),
        (PGD(gradient="raw"), X, L2, "gradients"),
        (PGD(restarts=2), X, L2, "gradients"),
        (PGD(random_start=True), X, L2, "gradients"),
        (PGD(start=PGD()), X, L2, "gradients"),
        (PGD(), X, Ball(2, 0.5, box=(-9.0, 9.0)), "gradients"),
        (PGD(), X, Ball(1, 0.5), "gradients"),
        (PGD(), X, CUBE, "signs"),
        (PGD(gradient="sign", restarts=3, random_start=True), X, CUBE, "signs"),
        (PGD(gradient="normalised"), X, CUBE, "gradients"),
        (PGD(steps=1), X, CUBE, "gradients"),
        (PGD(), X, Ball(math.inf, 0.1, box=(-9.0, 9.0)), "gradients"),
        (PGD(), X.half(), CUBE, "gradients"),
        (PGD(), X.half(), L2, "gradients"),
        (PGD(), X.unsqueeze(1), CUBE, "gradients"),
    ],
)
def test_the_way_follows_from_steps_ball_and_inputs(method, x, ball, way):
    assert route(method, x, ball) == way
    if x.dim() == 2 and x.dtype == torch.float32:
        assert (attack_obstacle(method, ball) is None) == (way == "inner products")


def test_a_problem_is_worth_a_way_of_its_own_from_so_many_products_on():
    assert worthwhile(torch.zeros(100, 50), 100, 20)
    assert not worthwhile(torch.zeros(100, 50), 100, 19)


def problem():
    g = torch.Generator().manual_seed(0)
    W, a = (torch.randn(*shape, generator=g, dtype=torch.float64) for shape in ((20, 30), (20,)))
    x = torch.randn(12, 30, generator=g, dtype=torch.float64)
    net = TwoLayer(W / 5, a)
    return net, x, torch.where(net(x) > 0, 1.0, -1.0).double()


@pytest.mark.parametrize("method", [PGD(), PGD(keep="last", step=0.1), PGD(until_broken=True)], ids=str)
def test_all_ways_lead_to_the_same_perturbations(method, monkeypatch):
    net, x, y = problem()
    asked = []
    fast = inner_products_attack.attacked_perturbations
    monkeypatch.setattr(
        inner_products_attack, "attacked_perturbations", lambda *a: asked.append(a) or fast(*a)
    )
    by_gradients = fastest_perturbations(method, as_classifier(net), x, y, L2, net=net)
    assert not asked
    monkeypatch.setattr(routes, "WORTH", 0)
    by_products = fastest_perturbations(method, as_classifier(net), x, y, L2, net=net)
    assert len(asked) == 1
    torch.testing.assert_close(by_products, by_gradients, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", [Halved(), Strongest()], ids=["a subclass", "another attack"])
def test_only_plain_pgd_goes_on_inner_products(method, monkeypatch):
    net, x, y = problem()
    monkeypatch.setattr(routes, "WORTH", 0)
    monkeypatch.setattr(inner_products_attack, "attacked_perturbations", None)
    g = torch.Generator().manual_seed(0)
    found = fastest_perturbations(method, as_classifier(net), x, y, L2, net=net, generator=g)
    g.manual_seed(0)
    assert torch.equal(found, method(as_classifier(net), x, y, L2, generator=g))
    name = type(method).__name__
    assert attack_obstacle(method, L2) == f"the attack {name} is not plain projected gradient descent"


def test_the_default_step_is_that_of_the_whole_path():
    assert PGD(steps=8).step_share == PATH / 8
    assert PGD(steps=8, step_ratio=0.3).step_share == 0.3
    net, x, y = problem()
    for ball in (L2, CUBE, Ball(1, 0.5)):
        silent, spoken = (
            method(as_classifier(net), x, y, ball)
            for method in (PGD(steps=8), replace(PGD(steps=8), step_ratio=2.5 / 8))
        )
        assert torch.equal(silent, spoken)
