"""Scalar functions: conjugates, hulls and secant ranges against dense grids."""

import pytest
import torch

from karat.certificates.conjugate import conjugate
from karat.certificates.hull import hull_of, increasing
from karat.certificates.interval import range_of
from karat.certificates.profile import Profile, odd_profile, profile_of
from karat.certificates.secant import secant_range
from karat.core import Relu, SmoothedRelu
from karat.nets import OddTwoLayer

N = 300


@pytest.fixture
def intervals(generator):
    centre = 2 * torch.randn(N, generator=generator, dtype=torch.float64)
    reach = 10 ** (4 * torch.rand(N, generator=generator, dtype=torch.float64) - 3)
    c = torch.randn(N, generator=generator, dtype=torch.float64)
    return c, centre, centre - reach, centre + reach


def grid(low, high, count=2001):
    share = torch.linspace(0, 1, count, dtype=torch.float64)
    return low.unsqueeze(1) + (high - low).unsqueeze(1) * share


def test_pieces_have_the_curvature_they_state(profile):
    for left, right, curvature in profile.pieces():
        s = torch.linspace(max(left, -4.0), min(right, 4.0), 401, dtype=torch.float64)[1:-1]
        bend = profile.derivative(s).diff()
        if curvature == 0:
            assert float(bend.abs().max()) < 1e-12
        else:
            assert float((curvature * bend).min()) > -1e-12


def test_slopes_hold_every_derivative(profile):
    slope = profile.derivative(torch.linspace(-6, 6, 4001, dtype=torch.float64))
    assert float(slope.min()) >= profile.steepness[0] - 1e-12
    assert float(slope.max()) <= profile.steepness[1] + 1e-12


def test_conjugate_is_below_every_point_and_tight(profile, intervals, generator):
    c, _, low, high = intervals
    alpha = torch.randn(N, generator=generator, dtype=torch.float64)
    h, point = conjugate(profile, c, alpha, low, high)
    s = grid(low, high)
    value = c.unsqueeze(1) * profile.value(s) - alpha.unsqueeze(1) * s
    assert bool((h <= value.amin(dim=1)).all())
    attained = c * profile.value(point) - alpha * point
    scale = 1 + value.abs().amax(dim=1)
    assert float(((attained - h) / scale).max()) < 1e-9
    assert bool(((low <= point) & (point <= high)).all())


def test_a_slope_beyond_the_range_of_the_derivative_is_tight_too(profile, intervals):
    c, _, low, high = intervals
    for alpha in (torch.full_like(c, 5.0), torch.full_like(c, -5.0), c * (1 + 1e-12), torch.zeros_like(c)):
        h, _ = conjugate(profile, c, alpha, low, high)
        s = grid(low, high)
        value = (c.unsqueeze(1) * profile.value(s) - alpha.unsqueeze(1) * s).amin(dim=1)
        spacing = (high - low) / 2000
        assert bool((h <= value).all())
        # Between grid points the minimum may be lower by at most curvature times spacing squared.
        assert bool((value - h <= 10 * c.abs() * spacing**2 + 1e-9 * (1 + value.abs() + h.abs())).all())


def test_the_hull_of_a_piecewise_linear_function_is_its_envelope(intervals):
    c, centre, low, high = intervals
    for name in (profile_of(Relu()), odd_profile(Relu(), -0.4), odd_profile(Relu(), 0.4)):
        hulls = hull_of(name, c, low, high)
        s = grid(low, high, 101)
        g = c.unsqueeze(1) * name.value(s)
        slope = hulls.slope_at(centre)
        line = hulls.envelope(centre).unsqueeze(1) + slope.unsqueeze(1) * (s - centre.unsqueeze(1))
        assert bool((line <= g + 1e-9 * (1 + g.abs())).all())
        assert bool((hulls.slopes.diff(dim=-1) >= 0).all())


def test_prox_maximises_the_penalised_conjugate(intervals, generator):
    c, _, low, high = intervals
    hulls = hull_of(odd_profile(Relu(), -0.4), c, low, high)
    v = torch.randn(N, generator=generator, dtype=torch.float64)
    step = torch.rand(N, generator=generator, dtype=torch.float64) + 0.01
    alpha = hulls.prox(v, step)

    def objective(a):
        return hulls.conjugate(a) - (a - v) ** 2 / (2 * step)

    best = objective(alpha)
    for shift in (-0.3, -1e-3, 1e-3, 0.3):
        assert bool((objective(alpha + shift) <= best + 1e-9 * (1 + best.abs())).all())


def test_increasing_slopes_are_those_of_the_lower_hull():
    slopes = torch.tensor([[3.0, 1.0, 2.0]], dtype=torch.float64)
    width = torch.tensor([[1.0, 1.0, 2.0]], dtype=torch.float64)
    assert increasing(slopes, width).tolist() == [[2.0, 2.0, 2.0]]


def test_secant_ranges_hold_every_secant_and_are_tight(profile, intervals):
    _, z, low, high = intervals
    smallest, largest = secant_range(profile, z, low, high)
    s = grid(low, high)
    gap = s - z.unsqueeze(1)
    ok = gap.abs() > 1e-5 * (1 + z.abs().unsqueeze(1))
    secant = (profile.value(s) - profile.value(z).unsqueeze(1)) / torch.where(ok, gap, 1.0)
    noise = 1e-9
    assert bool((torch.where(ok, secant, torch.inf).amin(dim=1) >= smallest - noise).all())
    assert bool((torch.where(ok, secant, -torch.inf).amax(dim=1) <= largest + noise).all())
    wide = high - low > 0.1
    loose = torch.where(ok, secant, torch.inf).amin(dim=1) - smallest
    assert float((loose[wide] / (1 + smallest[wide].abs())).max()) < 0.02


def test_ranges_hold_every_value(profile, intervals):
    _, _, low, high = intervals
    below, above = range_of(profile, low, high)
    value = profile.value(grid(low, high))
    assert bool((below <= value.amin(dim=1)).all())
    assert bool((above >= value.amax(dim=1)).all())
    assert float(((value.amin(dim=1) - below) / (1 + value.abs().amax(dim=1))).max()) < 1e-5


@pytest.mark.parametrize(("bias", "sigma"), [(-0.3, 0.0), (0.3, 0.0), (-0.3, 0.2), (0.3, 0.2), (0.0, 0.2)])
def test_the_odd_profile_is_the_odd_net(bias, sigma, generator):
    W = torch.ones(1, 1, dtype=torch.float64)
    net = OddTwoLayer(W, torch.tensor(bias, dtype=torch.float64), sigma)
    u = torch.randn(100, 1, generator=generator, dtype=torch.float64)
    profile = odd_profile(SmoothedRelu(sigma) if sigma else Relu(), bias)
    assert torch.allclose(net(u), profile.value(u).squeeze(1), atol=1e-14)
    assert torch.allclose(net.input_gradient(u), profile.derivative(u), atol=1e-12)


def test_an_unknown_activation_is_named():
    class Cosine:
        kinks = ()
        piecewise_linear = False

        def __call__(self, z):
            return z.cos()

        def derivative(self, z):
            return -z.sin()

    with pytest.raises(TypeError, match="no certificate knows the activation `Cosine`"):
        profile_of(Cosine())


def test_profiles_are_frozen():
    with pytest.raises(AttributeError):
        profile_of(Relu()).size = 1.0  # type: ignore[misc]
    assert isinstance(profile_of(Relu()), Profile)
