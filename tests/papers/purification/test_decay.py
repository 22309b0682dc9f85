"""How much weight decay a winner survives."""

import pytest

from karat.papers.purification.bounds_decay import surviving_decay


def survives(large_rate, threshold, decay):
    """Integrate the largest growth of a neuron that large codes wake, from just above the threshold."""
    alpha = 1.001 * threshold
    for _ in range(20_000):
        awake = alpha >= threshold
        alpha += 0.01 * (large_rate / 2 * awake - decay * (1 + alpha) * alpha)
    return alpha >= threshold


@pytest.mark.parametrize(("large_rate", "threshold"), [(0.2, 0.38), (0.2, 0.1), (1.0, 0.3)])
def test_a_winner_survives_up_to_this_decay_and_no_further(large_rate, threshold):
    limit = surviving_decay(large_rate, threshold)
    assert survives(large_rate, threshold, 0.97 * limit)
    assert not survives(large_rate, threshold, 1.03 * limit)


def test_a_low_threshold_survives_any_decay():
    assert surviving_decay(0.2, 1e-6) > 1e4


def test_without_large_codes_no_decay_is_survived():
    assert surviving_decay(0.0, 0.3) == 0
