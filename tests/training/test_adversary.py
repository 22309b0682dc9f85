import math

import pytest
import torch

from karat.attacks import PGD, Steepest
from karat.core import Ball
from karat.nets import as_classifier
from karat.training import Adversary, Ramp


def test_perturbed_points_lie_in_the_ball_and_have_smaller_margins(two_layer, data):
    x, y = data
    moved = Adversary(PGD(steps=5), Ball(2, 0.3)).perturb(two_layer, x, y, 0)
    assert bool(((moved - x).norm(dim=1) <= 0.3 + 1e-12).all())
    classifier = as_classifier(two_layer)
    assert bool((classifier.margin(moved, y) < classifier.margin(x, y)).all())


def test_steps_before_the_first_one_see_clean_data(two_layer, data):
    x, y = data
    adversary = Adversary(Steepest(), Ball(math.inf, 0.1), first_step=2)
    assert adversary.perturb(two_layer, x, y, 0) is x
    assert adversary.perturb(two_layer, x, y, 1) is x
    assert not torch.equal(adversary.perturb(two_layer, x, y, 2), x)


def test_a_radius_schedule_overrides_the_balls_radius(two_layer, data):
    x, y = data
    adversary = Adversary(Steepest(), Ball(2, 100.0), radius=Ramp(0.4, 4))
    for step, radius in ((0, 0.0), (1, 0.1), (4, 0.4), (9, 0.4)):
        length = (adversary.perturb(two_layer, x, y, step) - x).norm(dim=1)
        torch.testing.assert_close(length, torch.full_like(length, radius))


def test_the_first_step_is_a_whole_number(two_layer):
    with pytest.raises(
        ValueError, match=r"^`first_step` of `Adversary` must be a whole number >= 0, got -1\.$"
    ):
        Adversary(Steepest(), Ball(2, 0.1), first_step=-1)
