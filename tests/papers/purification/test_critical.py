"""The critical lemma and the coupling's formulas against draws, enumeration and limits."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from karat.papers.purification.bounds import ticket_counts
from karat.papers.purification.bounds_coupling import coupled_loss, log_sure_winners
from karat.papers.purification.bounds_critical import SignedLaw
from karat.papers.purification.bounds_scores import ScoreLaw
from karat.papers.purification.checks.coupling import _slope
from karat.papers.purification.experiments.coupling import COUPLING_LOSS
from karat.papers.purification.experiments.critical import CriticalConfig, run, turned
from karat.study.experiment import cells
from karat.study.registry import CHECKS
from karat.study.run import Run


def law(**changes) -> SignedLaw:
    draws = np.random.default_rng(0)
    values = np.array([-0.7, 0.0, 0.7])
    odds = np.array([0.3, 0.4, 0.3])
    up = draws.uniform(-1, 1, (3, 3))
    middle = draws.uniform(-1, 1, (3, 3))
    middle = (middle - turned(middle)) / 2
    given = {"alpha": 0.8, "b": 1.0, "sigma": 0.5} | changes
    return SignedLaw(values, odds, values / 2, odds, up, middle, -turned(up), **given)


def test_delta_is_the_mean_over_draws():
    """400,000 draws: five standard errors of a variable in [-2, 2] are below 0.016."""
    one, draws, n = law(), np.random.default_rng(1), 400_000
    i, j = (draws.choice(3, size=n, p=one.first_odds) for _ in range(2))
    s, rho = one.first[i] + one.second[j], one.sigma * draws.standard_normal(n)
    total = one.up[i, j] * (one.alpha + s + rho >= one.b) - one.down[i, j] * (-one.alpha + s + rho >= one.b)
    assert one.delta == pytest.approx(total.mean(), abs=0.016)
    assert one.spread == pytest.approx(s.std() / one.sigma, rel=0.01)
    assert one.jump == pytest.approx(np.abs(one.up - one.middle)[i, j].mean(), abs=0.016)


def test_an_odd_function_that_does_not_depend_on_its_code_has_no_delta_without_spread():
    one = law(b=2.0)
    still = SignedLaw(
        0 * one.first, one.first_odds, 0 * one.second, one.second_odds, one.middle, one.middle, one.middle,
        alpha=0.8, b=2.0, sigma=0.5,
    )  # fmt: skip
    assert still.delta == pytest.approx(0.0, abs=1e-12)
    assert still.plain_bound == 0.0


def test_the_fine_bound_of_a_far_threshold_is_the_rare_part():
    one = law(b=1e4, sigma=1.0)
    assert one.fine_bound(0.01) < 1e-300
    assert abs(one.delta) < 1e-300


@pytest.mark.parametrize("symmetry", ["odd", "even"])
def test_only_odd_functions_obey_the_bounds(symmetry):
    config = CriticalConfig(spread=0.01, symmetry=symmetry, cases=150)
    result = run(config, torch.Generator().manual_seed(0))
    assert (max(result.plain, result.below) <= 1) == (symmetry == "odd")
    # Two densities, at distances 0 and 2 b/sigma of the centre.
    if symmetry == "odd":
        assert result.needed == pytest.approx((1 - math.exp(-2)) / math.sqrt(2 * math.pi), rel=1e-3)


def test_sure_winners_are_those_of_the_exact_counts():
    for d, c0, gamma in ((1000, 0.5, 0.05), (10**6, 0.3, 0.01)):
        counts = ticket_counts(d, round(d ** (1 + c0)), c0, gamma)
        assert log_sure_winners(math.log(d), c0, gamma) == pytest.approx(math.log(counts.sure), rel=2e-3)


def test_the_loss_of_the_linear_net_is_that_of_drawn_scores():
    """200,000 draws of a loss in [0, log 2]: five standard errors are below 0.004."""
    draws, n = np.random.default_rng(0), 200_000
    large = draws.poisson(0.1, n) - draws.poisson(0.1, n)
    score = large + math.sqrt(4.75 / 3) * draws.standard_normal(n)
    for alpha in (0.5, 3.0, 20.0):
        drawn = np.logaddexp(0, -alpha * np.abs(score)).mean()
        assert coupled_loss(alpha, None) == pytest.approx(drawn, abs=0.004)


def test_many_codes_have_the_loss_of_the_limit():
    assert coupled_loss(10.0, 4096) == pytest.approx(coupled_loss(10.0, None), rel=1e-3)


def test_a_flat_linear_net_loses_log_two():
    assert coupled_loss(1e-3, None) == pytest.approx(math.log(2), rel=1e-2)


def test_a_steep_linear_net_loses_in_proportion_to_the_density_at_zero():
    """alpha E log(1 + e^(-alpha |S|)) tends to 2 p(0) times the integral pi^2/12 of log(1 + e^-t)."""
    at = np.arange(-9, 10)
    density = stats.skellam.pmf(at, 0.1, 0.1) @ stats.norm.pdf(at, scale=math.sqrt(4.75 / 3))
    assert 1e4 * coupled_loss(1e4, None) == pytest.approx(density * math.pi**2 / 6, rel=1e-3)


def test_the_loss_for_equal_small_codes_is_that_of_drawn_codes():
    """200,000 draws of a loss in [0, log 2]: five standard errors are below 0.004."""
    draws, n, k = np.random.default_rng(0), 200_000, 50
    d = math.ceil(k**2.5)
    counts = draws.multinomial(d, [0.2 / d, k / d, 1 - (0.2 + k) / d], size=n)
    large, small = (2 * draws.binomial(counts[:, i], 0.5) - counts[:, i] for i in (0, 1))
    for alpha in (1.0, 20.0, 4096.0):
        drawn = np.logaddexp(0, -alpha * np.abs(large + small / math.sqrt(k))).mean()
        assert coupled_loss(alpha, k, small_spread=1.0) == pytest.approx(drawn, abs=0.004)


def test_the_law_of_equal_small_codes_is_the_limit_of_nearly_equal_ones_where_it_has_no_atoms():
    equal, nearly = (ScoreLaw(k=64, D=4096, d=4096, spread=spread) for spread in (1.0, 1.02))
    for t in (0.5, 1.5, 2.5):  # half-way between multiples of 1/8
        assert equal.near(t + 1 / 16) == pytest.approx(nearly.near(t + 1 / 16), abs=2e-3)
    assert equal.near(20.0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="must be > 1, got 1"):
        equal.robust_error(0.01)
    with pytest.raises(ValueError, match=r"must be 1, got 1\.02: the score has a density"):
        _ = nearly.atoms


def test_equal_small_codes_cancel_with_a_probability_of_order_one_over_the_root_of_k():
    """For many codes exactly the mass of a lattice of step 2/sqrt(k), half of the time, at its centre."""
    limit = stats.skellam.pmf(0, 0.1, 0.1) / math.sqrt(2 * math.pi)
    for k in (101, 1001):  # roots that are no integers: large codes cancel no small ones
        loss = coupled_loss(1e9, k, small_spread=1.0)
        assert math.sqrt(k) * loss / math.log(2) == pytest.approx(limit, rel=0.01)


def test_the_repaired_bound_needs_every_term():
    check = CHECKS["purification.lemD.6b.repaired"]
    runs = [
        Run(config=cell.config, seed=0, result=COUPLING_LOSS.run(cell.config, torch.Generator()))
        for cell in cells(COUPLING_LOSS, "quick")
    ]
    assert check.evaluate(runs).outcome == "holds"
    equal = [run for run in runs if run.config.small_spread == 1]
    assert len(equal) == 6
    assert _slope(equal, lambda c: 1 / c.alpha + 1 / c.alpha**2) > 0.6
    assert _slope(equal, lambda c: 1 / c.alpha + 1 / math.sqrt(c.k) + 1 / c.alpha**2) < 0.1
