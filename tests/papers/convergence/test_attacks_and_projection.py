"""Runs that other attacks look at, and deep runs with and without the projection."""

from dataclasses import replace

import pytest
import torch

from karat.papers.convergence.checks.two_layer_runs import START_LOSS
from karat.papers.convergence.experiments import deep_free, transfer
from karat.papers.convergence.experiments.deep_free import FreeConfig
from karat.papers.convergence.experiments.transfer import TransferConfig

SMALL = TransferConfig(m=40, n=4, d=4, tau=0.4, K=6, steps=40)
DEEP = FreeConfig(m=16, depth=2, n=3, d=3, K=3, steps=20)


def looked_at(config):
    return transfer.run(config, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("attack", ["worst", "one_step", "identity", "random", "hashed"])
def test_the_loss_under_the_training_attack_is_the_one_that_training_sees(attack):
    result = looked_at(replace(SMALL, attack=attack))
    seen = {"worst": result.robust, "one_step": result.one_step, "identity": result.identity}
    if attack in seen:  # a random choice is another one for those who look on
        assert seen[attack] == result.own
    assert result.excess <= 0
    assert max(result.one_step, result.identity, result.random, result.hashed) <= result.robust
    assert result.own <= START_LOSS + 1e-12


def test_where_all_allowed_points_coincide_all_attacks_are_one():
    result = looked_at(replace(SMALL, tau=0.0))
    assert result.robust == pytest.approx(result.identity) == pytest.approx(result.random)


def test_an_attack_that_is_not_the_strongest_is_found_out():
    assert looked_at(replace(SMALL, strongest="identity")).excess > 0.01


def free(config):
    return deep_free.run(config, torch.Generator().manual_seed(0))


def test_inside_a_wide_ball_the_projection_changes_nothing():
    result = free(replace(DEEP, R=1e6))
    assert result.projected == result.free


def test_the_projection_only_matters_after_the_ball_was_left():
    near = free(replace(DEEP, R=0.01))
    assert near.moved > 0.01
    assert near.free < near.projected
    assert near.curve == sorted(near.curve, reverse=True)
    assert near.start_gap == near.curve[0]


def test_steps_up_the_loss_leave_the_gap_of_the_start():
    result = free(replace(DEEP, direction="up"))
    assert result.free == result.start_gap
