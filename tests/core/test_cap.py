"""The spherical cap: a perturbation set that never leaves the sphere."""

import math

import pytest
import torch

from karat.attacks import PGD, BudgetError, GradientStep, Steepest, judge, run_attack
from karat.attacks.routes import route, span_obstacle
from karat.core.cap import Cap, require_compatible
from karat.nets import as_classifier, init


def sphere(n, d, seed=0):
    x = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


@pytest.mark.parametrize("tau", [0.0, 0.3, 1.0, 1.6, 2.0])
def test_projection_lands_in_the_cap_and_is_idempotent(tau):
    x, delta = sphere(50, 4), 3 * sphere(50, 4, seed=1)
    once = Cap(tau).project(delta, x)
    assert Cap(tau).excess(once, x).max() <= 1e-9
    assert torch.allclose(Cap(tau).project(once, x), once, atol=1e-7)


@pytest.mark.parametrize("tau", [0.2, 1.0, 1.7])
def test_projection_is_the_nearest_of_many_points(tau):
    x, delta = sphere(1, 3), 0.8 * sphere(1, 3, seed=2)
    best = torch.linalg.vector_norm(Cap(tau).project(delta, x) - delta)
    others = Cap(tau).sample(x.expand(20_000, 3), generator=torch.Generator().manual_seed(3))
    assert best <= torch.linalg.vector_norm(others - delta, dim=1).min() + 1e-9


def test_extreme_point_beats_every_sampled_point():
    x, g = sphere(1, 3), sphere(1, 3, seed=4)
    best = (Cap(0.5).extreme_point(g, x) * g).sum()
    others = Cap(0.5).sample(x.expand(20_000, 3), generator=torch.Generator().manual_seed(5))
    assert best >= (others * g).sum(dim=1).max() - 1e-9


def test_extreme_point_of_a_zero_gradient_stays():
    x = sphere(2, 3)
    assert torch.equal(Cap(0.5).extreme_point(torch.zeros_like(x), x), torch.zeros_like(x))


def test_samples_are_uniform_on_the_cap():
    """In three dimensions the height above a point is uniform (Archimedes): mean and variance tell."""
    n, tau = 20_000, 0.8
    x = sphere(1, 3).expand(n, 3)
    height = 1 - (1 + (Cap(tau).sample(x, generator=torch.Generator().manual_seed(0)) * x).sum(dim=1))
    top = tau**2 / 2
    # 4.5 standard errors of mean and variance: false alarm below 2e-5.
    assert abs(float(height.mean()) - top / 2) < 4.5 * top / math.sqrt(12 * n)
    assert abs(float(height.var()) - top**2 / 12) < 4.5 * top**2 / math.sqrt(180 * n)


def test_samples_beyond_the_hemisphere_reach_the_antipode():
    x = sphere(1, 3).expand(4000, 3)
    delta = Cap(2.0).sample(x, generator=torch.Generator().manual_seed(0))
    assert float(torch.linalg.vector_norm(delta, dim=1).max()) > 1.95
    assert torch.allclose(torch.linalg.vector_norm(x + delta, dim=1), torch.ones(4000, dtype=torch.float64))


@pytest.mark.parametrize("method", [PGD(steps=15), Steepest()])
def test_attacks_stay_on_the_sphere(method):
    net = init.gaussian(6, 40, generator=torch.Generator().manual_seed(0))
    x = sphere(10, 6)
    y = torch.where(net(x) > 0, 1.0, -1.0).double()
    delta = method(as_classifier(net), x, y, Cap(0.3))
    assert torch.allclose(torch.linalg.vector_norm(x + delta, dim=1), torch.ones(10, dtype=torch.float64))
    result = judge(as_classifier(net), x, y, delta, Cap(0.3))
    assert float(result.margin.mean()) < float((y * net(x)).mean())


def test_the_judge_refuses_a_perturbation_off_the_sphere():
    """Half way along the chord to an allowed point: short enough for the radius, but inside the sphere."""
    net, x = init.gaussian(6, 40, generator=torch.Generator().manual_seed(0)), sphere(10, 6)
    y = torch.where(net(x) > 0, 1.0, -1.0).double()
    delta = Steepest()(as_classifier(net), x, y, Cap(0.3))
    judge(as_classifier(net), x, y, delta, Cap(0.3))
    with pytest.raises(BudgetError, match=r"the chord leaves the unit sphere by 0\.01\d* at sample"):
        judge(as_classifier(net), x, y, delta / 2, Cap(0.3), name="the chord")
    with pytest.raises(BudgetError, match="GradientStep leaves the unit sphere"):
        run_attack(GradientStep(), as_classifier(net), x, y, Cap(0.3))


def test_the_judge_refuses_a_perturbation_beyond_the_rim():
    net, x = init.gaussian(6, 40, generator=torch.Generator().manual_seed(0)), sphere(10, 6)
    y = torch.where(net(x) > 0, 1.0, -1.0).double()
    delta = Steepest()(as_classifier(net), x, y, Cap(0.4))
    with pytest.raises(BudgetError, match=r"exceeds the l_2 radius 0\.3 by 0\.1"):
        judge(as_classifier(net), x, y, delta, Cap(0.3))


def test_attacks_on_caps_go_by_gradients():
    assert span_obstacle(PGD(), Cap(0.3)) == "keeping to the unit sphere is not expressed in inner products"
    assert route(PGD(), sphere(10, 6), Cap(0.3)) == "gradients"


def test_a_cap_has_one_radius_for_all_samples():
    assert Cap(0.3).with_tau(0.5) == Cap(0.5)
    with pytest.raises(TypeError, match="`tau` of `Cap` must be a number"):
        Cap(0.3).with_tau(torch.full((3,), 0.5))


@pytest.mark.parametrize("tau", [-0.1, 2.1, math.inf])
def test_a_radius_that_the_sphere_has_no_room_for_is_refused(tau):
    with pytest.raises(ValueError, match=r"`tau` of `Cap` must be a finite number >= 0 and <= 2"):
        Cap(tau)


def test_centres_off_the_sphere_are_refused():
    with pytest.raises(ValueError, match=r"`x` of `Cap` must have unit length, got 2"):
        Cap(0.1).project(torch.zeros(1, 2), torch.tensor([[2.0, 0.0]]))
    with pytest.raises(ValueError, match="needs the inputs"):
        Cap(0.1).project(torch.zeros(1, 2))


def test_incompatible_caps_name_the_two_points():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [math.cos(0.3), math.sin(0.3)]])
    y = torch.tensor([1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match=r"points 0 and 2 have different labels and are 0\.2989 apart"):
        require_compatible(x, y, 0.2)
    require_compatible(x, y, 0.14)
    require_compatible(x, torch.ones(3), 1.9)


def test_the_largest_compatible_radius_is_sharp():
    x, y = sphere(12, 3), torch.tensor([1.0, -1.0] * 6)
    # Two caps of half the angle between their centres touch.
    nearest = float(torch.cdist(x[y > 0].double(), x[y < 0].double()).min())
    tau = 2 * math.sin(math.asin(nearest / 2) / 2)
    require_compatible(x, y, 0.999 * tau)
    with pytest.raises(ValueError, match="incompatible"):
        require_compatible(x, y, 1.001 * tau)
