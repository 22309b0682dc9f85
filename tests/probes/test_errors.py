"""Errors under label noise: exact mixing against drawn labels."""

import torch
from scipy.stats import norm

from karat.attacks import PGD
from karat.core import Ball
from karat.data import NoisyMixture
from karat.nets import Linear, as_classifier
from karat.probes import flipped_errors, mix_flips


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def test_mixed_error_is_what_drawn_labels_give_on_average() -> None:
    """20,000 points: four standard deviations of the drawn share stay below 0.015, false alarm 1e-4."""
    model = NoisyMixture(d=5, signal_norm=1.0, flip_rate=0.2)
    samples = model.sample(20_000, generator=_generator())
    net = as_classifier(Linear(model.mu))
    ball, method = Ball(2, 0.3), PGD(steps=3)
    drawn = method(net, samples.x, samples.y, ball)
    share = float((net.margin(samples.x + drawn, samples.y) <= 0).double().mean())
    mixed = flipped_errors(net, samples.x, samples.y_clean, ball, method, 0.2)
    assert abs(share - mixed.robust) < 0.015


def test_linear_classifier_has_the_closed_form_errors() -> None:
    """100,000 points: standard deviation at most 0.0016, asserted at more than five of them."""
    model = NoisyMixture(d=3, signal_norm=1.0, flip_rate=0.1)
    samples = model.sample(100_000, generator=_generator())
    errors = flipped_errors(
        as_classifier(Linear(model.mu)), samples.x, samples.y_clean, Ball(2, 0.5), PGD(steps=2), 0.1
    )
    miss = norm.cdf(-0.5)
    assert abs(errors.clean - (0.9 * norm.cdf(-1.0) + 0.1 * norm.cdf(1.0))) < 0.01
    flipped = norm.cdf(1.0 + 0.5)
    assert abs(errors.robust - (0.9 * miss + 0.1 * flipped)) < 0.01


def test_without_flips_the_mixed_error_is_the_plain_one() -> None:
    assert mix_flips(0.3, 0.9, 0.0) == 0.3


def test_robust_error_under_flips_exceeds_the_clean_label_formula() -> None:
    """beta + (1 - 2 beta) r forgets that a ball around a boundary point holds both signs."""
    r, s = 0.4, 0.9
    assert mix_flips(r, s, 0.1) > 0.1 + 0.8 * r


def test_a_nan_margin_counts_as_an_error() -> None:
    net = as_classifier(Linear(torch.tensor([float("nan"), 1.0])))
    x, y = torch.ones(4, 2), torch.ones(4)
    assert flipped_errors(net, x, y, Ball(2, 0.0), PGD(steps=1)).clean == 1.0
