"""Caps that just meet or just do not."""

import torch

from karat.papers.convergence.experiments import meeting
from karat.papers.convergence.experiments.meeting import MeetingConfig


def met(**settings):
    config = MeetingConfig(**{"d": 4, "pairs": 100, **settings})
    return meeting.run(config, torch.Generator().manual_seed(0))


def test_pairs_are_refused_exactly_where_caps_of_different_labels_meet():
    for spread in (0.5, 0.01):
        result = met(spread=spread)
        assert result.agreed == 1.0
        assert 0.1 < result.refused < 0.4  # a quarter: half meet, half of these differ


def test_another_reach_of_the_caps_is_found_out():
    assert met(reach=1.02).agreed < 1
    assert met(reach=0.98).agreed < 1
