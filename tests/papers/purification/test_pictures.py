"""What the image experiments measure, and how pictures are kept."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from karat.core.ball import Ball
from karat.lab.execute import execute
from karat.nets.module import as_classifier
from karat.papers.purification.checks import untrained_span
from karat.papers.purification.experiments.alexnet import _TINY, AlexnetResult, filter_measures
from karat.papers.purification.experiments.feature_pictures import strongest_channels
from karat.papers.purification.experiments.image_codes import code_curves, span_errors, sparse_pictures
from karat.papers.purification.experiments.image_measures import (
    densities,
    lottery,
    perturbations,
)
from karat.papers.purification.experiments.image_setting import Images
from karat.papers.purification.experiments.resnet_pictures import deep_layers
from karat.papers.purification.experiments.trained_pair import right_first
from karat.papers.purification.experiments.untrained_span import UNTRAINED_SPAN
from karat.probes.lasso import lasso_path
from karat.probes.reconstruction import as_targets
from karat.study.drawing.mosaic import signed, sorted_by_size, tiled
from karat.study.experiment import cells
from karat.study.quantised import quantise, restore
from karat.study.registry import EXPERIMENTS
from karat.study.result import undefined_values
from karat.study.run import Runs


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_quantised_pictures_come_back_within_half_a_level():
    values = torch.randn(3, 2, 5, 5, generator=generator())
    stored = quantise(values)
    level = (stored["high"] - stored["low"]) / 255
    assert np.abs(restore(stored) - values.numpy()).max() <= 0.5001 * level
    assert restore(quantise(torch.full((2, 2), 0.3))).tolist() == [[pytest.approx(0.3)] * 2] * 2


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, 0.0]])
def test_pictures_without_finite_values_are_refused(values):
    with pytest.raises(ValueError, match="must be finite numbers"):
        quantise(values)


def test_stored_pictures_of_the_wrong_size_are_refused():
    with pytest.raises(ValueError, match="holds 4 bytes for the shape"):
        restore(quantise(torch.rand(2, 2)) | {"shape": [3, 2]})


def test_perturbations_stay_in_the_ball_and_lower_every_margin():
    net = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))
    x, labels = torch.rand(9, 3, 2, 2, generator=generator()), torch.arange(9) % 3
    delta = perturbations(net, x, labels, Ball(2, 0.5), 5)
    assert float(delta.flatten(1).norm(dim=1).max()) <= 0.5 + 1e-6
    seen = as_classifier(net)
    assert bool((seen.margin(x + delta, labels) < seen.margin(x, labels)).all())


def test_densities_hold_one_number_per_image_and_rank_noise_above_a_wave():
    images = torch.rand(30, 1, 8, 8, generator=generator())
    wave = torch.linspace(0, 1, 8).expand(4, 1, 8, 8)
    noise = torch.randn(4, 1, 8, 8, generator=generator())
    means, single = densities({"clean_delta": noise, "robust_delta": wave}, images[:4], images)
    assert len(single["clean_delta"].dct) == 4
    dense, sparse = (means[name]["dct"].participation for name in ("clean_delta", "robust_delta"))
    assert dense > 5 * sparse
    assert means["noise"]["pca"].participation == pytest.approx(66 / 3)


@pytest.mark.slow
def test_codes_are_counted_per_target_and_rebuilt_pictures_keep_their_mean_colour():
    images = torch.rand(3, 1, 6, 6, generator=generator())
    deltas = {"clean_delta": torch.randn(3, 1, 6, 6, generator=generator())}
    atoms = {"robust": torch.eye(36), "clean": torch.eye(36)[:4]}
    curves, paths = code_curves(atoms, images, deltas, 50)
    assert set(curves) == {"image|robust", "clean_delta|robust", "image|clean"}
    alone = lasso_path(as_targets(images), torch.eye(36), ratios=paths["robust"].ratios, iterations=50)
    assert torch.equal(paths["robust"].nonzeros, alone.nonzeros)
    assert all(math.isinf(count) for count in curves["image|clean"].at["0.1"])
    pictures, share, error = sparse_pictures(paths["robust"], torch.eye(36), images)
    assert share == pytest.approx(float(alone.nonzeros[0].double().mean()) / 36)
    assert 0 < error < 1
    kept = pictures - images.mean(dim=(2, 3), keepdim=True)
    assert torch.allclose(kept.flatten(1), alone.codes[0], atol=1e-6)


def test_span_errors_name_target_and_dictionary():
    found = span_errors({"all": torch.eye(4), "none": torch.zeros(2, 4)}, {"x": torch.rand(3, 4)})
    assert found["x|all"] == pytest.approx(0, abs=1e-9)
    assert found["x|none"] == 1


def test_untrained_filters_span_every_image_of_one_channel():
    config = UNTRAINED_SPAN.preset("tiny").config
    drawn = UNTRAINED_SPAN.run(replace(config, filters=3), torch.Generator().manual_seed(0))
    assert (drawn.atoms, drawn.used) == (3 * 1024, 3)
    assert drawn.worst < 1e-9
    few = UNTRAINED_SPAN.run(
        replace(config, network="alexnet:1", filters=8), torch.Generator().manual_seed(0)
    )
    assert (few.atoms, few.worst) == (8 * 64, 1.0)


def test_both_nets_are_needed_to_say_that_untrained_filters_span():
    (check,) = untrained_span.CHECKS
    wrn = [run for run in check.satisfied if run.config.network == "wrn:34:1"]
    assert check.evaluate(Runs(check.satisfied)).outcome == "holds"
    assert check.evaluate(Runs(wrn)).outcome == "inconclusive"


def test_lottery_of_unrelated_starts_is_chance_and_of_kept_starts_is_won():
    """128 features in 400 dimensions: the mean rank is within 4 x 0.29/sqrt(128), false alarm below 1e-4."""
    first, last = (torch.randn(128, 1, 20, 20, generator=generator(seed)) for seed in (0, 1))
    fresh = lottery([first, last])
    assert abs(fresh.rank[0] - 0.5) < 4 * 0.29 / math.sqrt(128)
    assert fresh.own[1] == pytest.approx(1, abs=1e-5)
    assert fresh.rank[1] == 1
    kept = lottery([first, first + 0.5 * last])
    assert kept.rank[0] > 0.99
    assert len(kept.first_ranks) == 128


def test_the_start_of_another_filter_is_no_ticket():
    start = torch.randn(40, 3, 5, 5, generator=torch.Generator().manual_seed(0))
    kept, swapped = lottery([start, start]), lottery([start, start], others=True)
    assert (kept.rank[0], kept.remembered) == (1.0, pytest.approx(1.0))
    assert swapped.rank[0] == pytest.approx(0.5, abs=0.1)
    assert swapped.remembered < 0.04
    assert swapped.rank[1] == 1.0


def test_lottery_leaves_dead_filters_out():
    first = torch.randn(6, 1, 3, 3, generator=generator())
    last = torch.randn(6, 1, 3, 3, generator=generator(1))
    last[0] *= 1e-9
    assert len(lottery([first, last]).first_ranks) == 5


def test_strongest_channels_are_the_longest_filters():
    net = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([1.0, 5, 3, 4])[:, None, None, None].expand(4, 1, 3, 3))
    assert strongest_channels(net, "0", 2) == [1, 3]


def test_deep_layers_are_the_last_and_one_three_quarters_up():
    assert deep_layers([str(i) for i in range(17)]) == ("12", "16")


def test_filters_that_did_not_change_have_forgotten_nothing():
    net = nn.Sequential(nn.Conv2d(3, 4, 5))
    left = filter_measures(dict.fromkeys(("start", "clean", "robust", "continued"), net)).leftover_robust
    assert left.energy_before == pytest.approx(1)
    assert math.isnan(left.forgotten)
    assert set(undefined_values(AlexnetResult)) == {"at", "density", "forgotten", "participation"}


def test_right_images_come_first():
    x = torch.arange(6.0).reshape(6, 1, 1, 1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(1, 2))
    with torch.no_grad():
        net[1].weight.copy_(torch.tensor([[0.0], [1.0]]))
        net[1].bias.copy_(torch.tensor([2.5, 0.0]))  # class 1 from 3 on
    images = Images(x, torch.zeros(6), x, torch.tensor([1, 0, 1, 0, 1, 1]), 2)
    chosen, labels, right = right_first(net, images, 5)
    assert chosen.flatten().tolist() == [1, 4, 5, 0, 2]
    assert labels.tolist() == [0, 1, 1, 1, 1]
    assert right == 3


def test_tiles_and_scales():
    pictures = np.stack([np.full((1, 2, 2), v) for v in (-2.0, 0.0, 1.0)])
    assert signed(pictures)[:, 0, 0, 0].tolist() == [0.0, 0.5, 1.0]
    sheet = tiled(signed(pictures), columns=2)
    assert sheet.shape == (5, 5, 3)
    assert sheet[0, 2].tolist() == [1, 1, 1]
    assert sorted_by_size(pictures) == [0, 2, 1]


def test_settings_are_checked():
    with pytest.raises(ValueError, match="`network` of `AlexnetConfig` must be an alexnet, got 'resnet:8'"):
        replace(_TINY, network="resnet:8")
    with pytest.raises(ValueError, match="`coded` of `AlexnetConfig` must be a whole number >= 1, got 0"):
        replace(_TINY, coded=0)
    with pytest.raises(ValueError, match="an attacker is"):
        replace(_TINY, attacker="l7:1")


def test_same_seed_gives_the_same_pictures():
    small = {"n": 64, "test": 40, "attacked": 4, "steps": 1, "restarts": 0, "ascent_steps": 1}
    cell = cells(EXPERIMENTS["purification.resnet_pictures"], "tiny", 1, small)[0]
    assert execute(cell).values == execute(cell).values
