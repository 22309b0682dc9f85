"""The noisy mixture and its label flips."""

import re
from functools import lru_cache

import pytest
import torch

from karat.core.checks import ShapeError
from karat.data import FLIPS, Gaussian, NoisyMixture, Quartic, TruncatedGaussian, admissible

every_flip_model = pytest.mark.parametrize("flips", FLIPS)


@lru_cache
def repeated_flips(flips):
    """(1500, 10) flips of 1500 independent samples of size 10, flip rate 0.23 and blocks of 4."""
    generator = torch.Generator().manual_seed(11)
    model = NoisyMixture(d=2, signal_norm=1.0, flip_rate=0.23, flips=flips, flip_block=4)
    return torch.stack([model.sample(10, generator=generator).flipped for _ in range(1500)])


@every_flip_model
def test_each_label_is_flipped_with_the_flip_rate(flips, close_to_mean):
    close_to_mean(repeated_flips(flips), torch.full((10,), 0.23))


@pytest.mark.parametrize(("flips", "within"), [("independent", 0.0), ("correlated", 0.23 * 0.77)])
def test_only_correlated_flips_covary_and_only_within_blocks(flips, within, close_to_mean):
    flipped = repeated_flips(flips).double() - 0.23
    close_to_mean(flipped[:, 0] * flipped[:, 3], within)
    close_to_mean(flipped[:, 3] * flipped[:, 4], 0.0)


def test_correlated_flips_are_constant_on_blocks():
    flipped = repeated_flips("correlated")
    for start, stop in ((0, 4), (4, 8), (8, 10)):
        assert bool((flipped[:, start:stop] == flipped[:, start : start + 1]).all())


def test_boundary_flips_hit_the_smallest_margins_and_a_fixed_count(generator):
    model = NoisyMixture(d=6, signal_norm=1.5, flip_rate=0.25, flips="boundary")
    samples = model.sample(1000, generator=generator)
    margin = samples.y_clean * (samples.x @ model.mu)
    assert int(samples.flipped.sum()) == 250
    assert float(margin[samples.flipped].max()) < float(margin[~samples.flipped].min())
    assert set(repeated_flips("boundary").sum(dim=1).tolist()) == {2, 3}


@every_flip_model
def test_label_noise_leaves_the_inputs_and_clean_labels_alone(flips):
    def draw(rate):
        model = NoisyMixture(d=3, signal_norm=2.0, flip_rate=rate, flips=flips)
        return model.sample(100, generator=torch.Generator().manual_seed(0))

    noisy, clean = draw(0.4), draw(0.0)
    assert torch.equal(noisy.x, clean.x)
    assert torch.equal(noisy.y_clean, clean.y_clean)
    assert noisy.flipped.any()


@every_flip_model
def test_flip_rate_zero_flips_nothing(flips, generator):
    samples = NoisyMixture(d=3, signal_norm=2.0, flip_rate=0.0, flips=flips).sample(500, generator=generator)
    assert not samples.flipped.any()
    assert torch.equal(samples.y, samples.y_clean)


@pytest.mark.parametrize(
    "cluster", [Gaussian(), admissible(Gaussian()), TruncatedGaussian(cut=1.0), Quartic()]
)
def test_signed_inputs_have_mean_mu_and_the_cluster_covariance(cluster, generator, close_to_mean):
    model = NoisyMixture(d=4, signal_norm=1.7, flip_rate=0.1, cluster=cluster)
    samples = model.sample(40_000, generator=generator)
    signed = samples.y_clean[:, None] * samples.x
    close_to_mean(signed, model.mu)
    centred = signed - model.mu
    close_to_mean(centred[:, :, None] * centred[:, None, :], cluster.variance * torch.eye(4))
    close_to_mean(samples.y_clean, 0.0)


def test_without_cluster_noise_the_inputs_are_the_two_centres(generator):
    model = NoisyMixture(d=5, signal_norm=3.0, flip_rate=0.2, cluster=Gaussian(scale=1e-30))
    samples = model.sample(100, generator=generator)
    assert torch.allclose(samples.x, torch.outer(samples.y_clean, model.mu))


def test_mu_is_along_the_first_axis_by_default_and_any_direction_on_request():
    assert NoisyMixture(d=3, signal_norm=2.0, flip_rate=0.0).mu.tolist() == [2, 0, 0]
    direction = torch.tensor([1.0, -2.0, 2.0]) / 3
    model = NoisyMixture(d=3, signal_norm=6.0, flip_rate=0.1, direction=direction)
    assert model.mu.tolist() == pytest.approx([2, -4, 4])


def test_zero_signal_is_allowed():
    model = NoisyMixture(d=3, signal_norm=0.0, flip_rate=0.1, flips="boundary")
    assert model.mu.tolist() == [0, 0, 0]
    assert len(model.sample(7, generator=torch.Generator().manual_seed(0))) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": 0}, "`d` of `NoisyMixture` must be a whole number >= 1, got 0."),
        ({"signal_norm": -1.0}, "`signal_norm` of `NoisyMixture` must be a finite number >= 0, got -1.0."),
        ({"flip_rate": 0.5}, "`flip_rate` of `NoisyMixture` must be a number in [0, 1/2), got 0.5."),
        ({"flip_rate": -0.1}, "`flip_rate` of `NoisyMixture` must be a number in [0, 1/2), got -0.1."),
        (
            {"flips": "some"},
            "`flips` of `NoisyMixture` must be one of 'independent', 'correlated', 'boundary'; got 'some'.",
        ),
        ({"flip_block": 0}, "`flip_block` of `NoisyMixture` must be a whole number >= 1, got 0."),
        ({"direction": torch.tensor([2.0, 0.0])}, "`direction` of `NoisyMixture` must have length 1, got 2."),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(change, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        NoisyMixture(**{"d": 2, "signal_norm": 1.0, "flip_rate": 0.1} | change)


def test_a_direction_of_the_wrong_length_is_refused():
    with pytest.raises(ShapeError, match=r"`direction` must have shape \(2,\), got \(3,\)\."):
        NoisyMixture(d=2, signal_norm=1.0, flip_rate=0.1, direction=torch.eye(3)[0])
