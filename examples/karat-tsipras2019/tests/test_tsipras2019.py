"""Formulas against Monte-Carlo, limits and brute force; the package against karat's contract."""

import itertools
import math

import pytest
import torch

from karat.contract import violations
from karat_tsipras2019 import PAPER
from karat_tsipras2019.bounds import gated_accuracy, gated_gap, linear_accuracy, robust_bound
from karat_tsipras2019.experiments import TsiprasConfig, draw

SAMPLES = 200_000
# Hoeffding: one comparison is off by this much with probability 1e-9 at most.
ERROR = math.sqrt(math.log(2e9) / (2 * SAMPLES))
CONFIG = TsiprasConfig(d=9, strength=1.2, p_strong=0.8, n=SAMPLES)


@pytest.fixture(scope="module")
def drawn():
    return draw(CONFIG, torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("w_1", "tau"), list(itertools.product((-0.5, 0.0, 0.7), (0.0, 0.1, 0.8))))
def test_linear_accuracy_is_the_share_of_draws(drawn, w_1, tau):
    s, weak = drawn
    w = torch.linspace(-0.2, 0.5, CONFIG.d, dtype=torch.float64)
    margins = w_1 * s + weak @ w - tau * (abs(w_1) + w.abs().sum())
    exact = linear_accuracy(w_1, w, CONFIG.eta, CONFIG.p_strong, tau)
    assert float((margins > 0).double().mean()) == pytest.approx(exact, abs=ERROR)


def test_no_corner_of_the_ball_is_worse_than_the_formula(drawn):
    s, weak = (part[:200] for part in drawn)
    w, tau = torch.linspace(-0.2, 0.5, CONFIG.d, dtype=torch.float64), 0.3
    corners = torch.tensor(list(itertools.product((-tau, tau), repeat=CONFIG.d + 1)), dtype=torch.float64)
    moved = (0.7 * s + weak @ w).unsqueeze(1) + (corners @ torch.cat([torch.tensor([0.7]).double(), w]))
    torch.testing.assert_close(moved.amin(dim=1), 0.7 * s + weak @ w - tau * (0.7 + w.abs().sum()))


@pytest.mark.parametrize("tau", [0.0, 0.4, 0.8])
def test_gated_accuracy_is_the_share_of_draws(drawn, tau):
    s, weak = drawn
    share = float((0.3 * s + weak.mean(dim=1) - tau > 0).double().mean())
    exact = gated_accuracy(0.3, CONFIG.d, CONFIG.eta, CONFIG.p_strong, tau)
    assert share == pytest.approx(exact, abs=ERROR)


def test_limits():
    w = torch.full((100,), 0.01, dtype=torch.float64)
    assert linear_accuracy(0.0, w, 0.3, 0.9) == pytest.approx(0.99865, abs=1e-5)  # Phi(3)
    assert linear_accuracy(0.0, w, 0.3, 0.9, 0.6) == pytest.approx(0.00135, abs=1e-5)  # Phi(-3)
    assert linear_accuracy(1.0, 0 * w, 0.3, 0.9, 0.99) == 0.9  # the strong feature alone
    assert gated_accuracy(0.0, 100, 0.3, 0.9) == pytest.approx(linear_accuracy(0.0, w, 0.3, 0.9))


@pytest.mark.parametrize("c", [0.0, 0.1, 0.3, 2.0])
def test_the_gated_classifier_misses_the_bound_by_the_gap(c):
    given = (c, 100, 0.3, 0.9)
    bound = robust_bound(gated_accuracy(*given), 0.9)
    assert bound - gated_accuracy(*given, 0.6) == pytest.approx(gated_gap(*given), abs=1e-12)


def test_the_strong_feature_attains_the_bound():
    w = torch.zeros(4, dtype=torch.float64)
    assert linear_accuracy(1.0, w, 0.3, 0.9, 0.6) == pytest.approx(robust_bound(0.9, 0.9))


def test_the_package_keeps_the_contract():
    assert violations(PAPER) == []
