"""The score of a code: exact probabilities against draws, limits, and the floor under any classifier."""

import math

import pytest
import torch

from karat.core.ball import Ball
from karat.data import SparseCode
from karat.papers.purification.bounds_scores import ScoreLaw
from karat.papers.purification.experiments import oracles
from karat.papers.purification.experiments.oracles import OraclesConfig
from karat.probes.oracle import HardThreshold
from karat.probes.small_ball import SmallCodes, sliding_floor

N = 40_000
FIVE = 5 / (2 * math.sqrt(N))
"""Five standard deviations of a share of N draws: a false alarm below 1e-6."""


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("k", "part"), [(16, 1.0), (36, 1.0), (36, 0.25)])
def test_masses_are_those_of_draws(k, part):
    d = k**2
    D = round(part * d)
    law = ScoreLaw(k=k, D=D, d=d)
    score = SparseCode(k=k, D=d).sample(N, generator=generator())[:, :D].sum(dim=1)
    for t, r in ((0.05, 0.0), (0.3, 0.0), (0.1, 0.5), (0.2, 1.0)):
        seen = float(((score - r).abs() <= t + 1e-12).double().mean())
        assert abs(law.near(t, r) - seen) < FIVE


def test_masses_add_up_to_one():
    law = ScoreLaw(k=100, D=10_000, d=10_000)
    assert law.near(25.0) == pytest.approx(1.0, abs=1e-6)
    assert law.near(0.5) == pytest.approx(sum(law.near(0.125, r) for r in (-0.375, -0.125, 0.125, 0.375)))


def test_robust_error_is_that_of_the_worst_perturbation():
    k, d = 16, 256
    z = SparseCode(k=k, D=d).sample(N, generator=generator(1))
    ones = torch.ones(d, dtype=torch.float64)
    hard = HardThreshold(torch.eye(d, dtype=torch.float64), ones, 0.5 / math.sqrt(k))
    y = torch.where(z.sum(dim=1) >= 0, 1.0, -1.0)
    for tau in (0.02, 0.1):
        below, above = hard.worst_margin(z, y, Ball(2, tau))
        assert torch.allclose(below, above)
        seen = float((below <= 1e-12).double().mean())
        assert abs(ScoreLaw(k=k, D=d, d=d).robust_error(tau) - seen) < FIVE


def test_robust_error_at_radius_zero_is_the_mass_at_zero():
    law = ScoreLaw(k=16, D=256, d=256)
    assert law.robust_error(0.0) == pytest.approx(law.near(0.0), abs=1e-6)
    with pytest.raises(ValueError, match="must lie in"):
        law.robust_error(0.5)


def test_no_classifier_knows_better_than_the_floor():
    """The thresholded oracle is one of them, and nothing is lost at radius zero."""
    k = 256
    codes = SmallCodes.draw(n=N, k=k, d=k**2, spread=1.5, generator=generator(2))
    rest = torch.zeros(N, dtype=torch.float64)
    law = ScoreLaw(k=k, D=k**2, d=k**2, large_rate=1e-12)
    for radius in (0.05, 0.1, 0.3):
        tau = radius / math.sqrt(k)
        assert 0 < sliding_floor(codes, rest, tau) < law.robust_error(tau)
    assert sliding_floor(codes, rest, 0.0) == 0.0


def test_floor_of_one_code_is_its_integral():
    """One code of size s on the line: z = 0.1 - s/10 against the bound's own integral on a grid."""
    n = 200_000
    size = 1 + 0.5 * (torch.arange(n) + 0.5).unsqueeze(1) / n
    codes = SmallCodes(100, 1.5, size.double(), torch.ones(n, 1, dtype=torch.float64))
    tau = 0.002
    a = 2 * tau * 10 / (0.5 / math.sqrt(12) * 1.1)
    rest = torch.full((n,), -0.12, dtype=torch.float64)
    s = size.squeeze(1).double()
    hat = torch.minimum(s - 1, 1.5 - s)
    pairs = (s / 10 - 0.12 > 0) & ((s - a * hat) / 10 - 0.12 < 0) & (a * hat / 10 <= 2 * tau)
    # Sizes just above 1.2 slide below it; there the hat rises, and the map shrinks volumes by 1 - a.
    assert sliding_floor(codes, rest, tau) == pytest.approx(float(pairs.double().mean()) * (1 - a), rel=1e-6)


def test_distance_from_a_linear_boundary_has_the_same_square_in_every_direction():
    config = OraclesConfig(k=16, n=N)
    z = config.code.sample(N, generator=generator(3))
    for along in (torch.ones(config.dimension), torch.randn(config.dimension, generator=generator(4))):
        distance = z @ along.double() / along.double().norm()
        assert float(distance.square().mean()) == pytest.approx(config.code.second_moment, rel=0.1)


def test_linear_classifiers_survive_only_tiny_radii():
    near, far = (oracles.run(OraclesConfig(k=16, n=1000, radius=r), generator()) for r in (0.0, 4.0))
    assert near.any_robust[0] > 0.9
    assert max(far.any_robust) <= 1 / 16 + 5 / (2 * math.sqrt(1000))
    assert near.linear_accuracy == 1.0
