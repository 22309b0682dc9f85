"""What the image experiments measure, how pictures are kept, and what the checks make of made-up records."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from karat.core.ball import Ball
from karat.lab.execute import execute
from karat.nets.module import as_classifier
from karat.papers.purification.experiments.alexnet import _TINY, filter_values
from karat.papers.purification.experiments.image_measures import (
    code_values,
    density_values,
    lottery_values,
    perturbations,
    span_values,
    sparse_pictures,
    strongest_channels,
)
from karat.papers.purification.experiments.image_setting import Images
from karat.papers.purification.experiments.resnet_pictures import deep_layers
from karat.papers.purification.experiments.trained_pair import right_first
from karat.probes.lasso import lasso_path
from karat.probes.reconstruction import as_targets
from karat.study.claim import judge_claim
from karat.study.drawing.mosaic import signed, sorted_by_size, tiled
from karat.study.experiment import cells
from karat.study.quantised import quantise, restore
from karat.study.record import Record
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement


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


def test_density_values_hold_one_number_per_image_and_rank_noise_above_a_wave():
    images = torch.rand(30, 1, 8, 8, generator=generator())
    wave = torch.linspace(0, 1, 8).expand(4, 1, 8, 8)
    noise = torch.randn(4, 1, 8, 8, generator=generator())
    values = density_values({"clean_delta": noise, "robust_delta": wave}, images[:4], images)
    assert len(values["participation"]["clean_delta"]["dct"]) == 4
    table = values["density"]
    assert table["clean_delta"]["dct"]["participation"] > 5 * table["robust_delta"]["dct"]["participation"]
    assert table["noise"]["pca"]["participation"] == pytest.approx(66 / 3)


def test_codes_are_counted_per_target_and_rebuilt_pictures_keep_their_mean_colour():
    images = torch.rand(3, 1, 6, 6, generator=generator())
    deltas = {"clean_delta": torch.randn(3, 1, 6, 6, generator=generator())}
    atoms = {"robust": torch.eye(36), "clean": torch.eye(36)[:4]}
    values, paths = code_values(atoms, images, deltas, 50)
    assert set(values["curves"]) == {"image|robust", "clean_delta|robust", "image|clean"}
    alone = lasso_path(as_targets(images), torch.eye(36), ratios=paths["robust"].ratios, iterations=50)
    assert torch.equal(paths["robust"].nonzeros, alone.nonzeros)
    assert all(math.isinf(count) for count in values["curves"]["image|clean"]["at"]["0.1"])
    pictures, share, error = sparse_pictures(paths["robust"], torch.eye(36), images)
    assert share == pytest.approx(float(alone.nonzeros[0].double().mean()) / 36)
    assert 0 < error < 1
    kept = pictures - images.mean(dim=(2, 3), keepdim=True)
    assert torch.allclose(kept.flatten(1), alone.codes[0], atol=1e-6)


def test_span_values_name_target_and_dictionary():
    found = span_values({"all": torch.eye(4), "none": torch.zeros(2, 4)}, {"x": torch.rand(3, 4)})
    assert found["x|all"] == pytest.approx(0, abs=1e-9)
    assert found["x|none"] == 1


def test_lottery_of_unrelated_starts_is_chance_and_of_kept_starts_is_won():
    """128 features in 400 dimensions: the mean rank is within 4 x 0.29/sqrt(128), false alarm below 1e-4."""
    first, last = (torch.randn(128, 1, 20, 20, generator=generator(seed)) for seed in (0, 1))
    fresh = lottery_values([first, last])
    assert abs(fresh["rank"][0] - 0.5) < 4 * 0.29 / math.sqrt(128)
    assert fresh["own"][1] == pytest.approx(1, abs=1e-5)
    assert fresh["rank"][1] == 1
    kept = lottery_values([first, first + 0.5 * last])
    assert kept["rank"][0] > 0.99
    assert len(kept["first_ranks"]) == 128


def test_lottery_leaves_dead_filters_out():
    first = torch.randn(6, 1, 3, 3, generator=generator())
    last = torch.randn(6, 1, 3, 3, generator=generator(1))
    last[0] *= 1e-9
    assert len(lottery_values([first, last])["first_ranks"]) == 5


def test_strongest_channels_are_the_longest_filters():
    net = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([1.0, 5, 3, 4])[:, None, None, None].expand(4, 1, 3, 3))
    assert strongest_channels(net, "0", 2) == [1, 3]


def test_deep_layers_are_the_last_and_one_three_quarters_up():
    assert deep_layers([str(i) for i in range(17)]) == ("12", "16")


def test_filters_that_did_not_change_have_forgotten_nothing():
    net = nn.Sequential(nn.Conv2d(3, 4, 5))
    found = filter_values(dict.fromkeys(("start", "clean", "robust", "continued"), net))
    assert found["leftover_robust"]["energy_before"] == pytest.approx(1)
    assert math.isnan(found["leftover_robust"]["forgotten"])


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
    with pytest.raises(ValueError, match="`network` of `Config` must be an alexnet, got 'resnet:8'"):
        replace(_TINY, network="resnet:8")
    with pytest.raises(ValueError, match="`coded` of `Config` must be a whole number >= 1, got 0"):
        replace(_TINY, coded=0)
    with pytest.raises(ValueError, match="an attacker is"):
        replace(_TINY, attacker="l7:1")


def test_same_seed_gives_the_same_pictures():
    small = {"n": 64, "test": 40, "attacked": 4, "steps": 1, "restarts": 0, "ascent_steps": 1}
    cell = cells(EXPERIMENTS["purification.resnet_pictures"], "tiny", 1, small)[0]
    assert execute(cell).values == execute(cell).values


PRINTED = {"purification.alexnet": "alexnet:1", "purification.resnet_pictures": "preact34"}


def record(name: str, **values: object) -> Record:
    """A record of the paper's own net."""
    printed = {"source": "cifar10", "network": PRINTED[name]}
    config = cells(EXPERIMENTS[name], "quick", 1)[0].config_json | printed
    return Record(
        experiment=name,
        config=config,
        seed=0,
        status="done",
        values=values,
        error=None,
        cpu_seconds=0.0,
        version="0",
        environment={},
    )


def judged(item: str, *records: Record):
    check = CHECKS[f"purification.{item}"]
    return judge_claim(get_statement(check.claim_id), check, records, "quick")


LEFT = {"energy_before": 0.3, "energy_after": 0.2, "cosine": -0.3, "forgotten": 0.7}


@pytest.mark.parametrize(("after", "verdict"), [(0.8, "holds"), (1.2, "fails")])
def test_filters_are_judged_by_their_roughness_and_the_forgotten_start_is_told(after, verdict):
    rough = {"clean": [1.0, 2.0, 1.5], "continued": [1.0] * 3}
    rough["robust"] = [after * value + 0.001 * i for i, value in enumerate(rough["clean"])]
    claim = judged("fig1", record("purification.alexnet", filter_roughness=rough, leftover_robust=LEFT))
    assert claim.verdict == verdict
    assert "70% of the fall is the start being forgotten" in claim.caveat


@pytest.mark.parametrize(("error", "verdict"), [(1e-6, "holds"), (1e-3, "fails")])
def test_span_is_compared_with_the_printed_error_beside_the_untrained_start(error, verdict):
    own = {"clean_delta|robust": 0.4, "image|robust": 0.2, "clean_delta|start": 0.5}
    values = {
        "span": {"clean_delta|robust": error, "clean_delta|start": 1e-9},
        "span_own": own,
        "atoms": {"code": 4096, "own": 1024, "pixels": 3072},
    }
    paper = record("purification.alexnet", **values)
    narrow = judged("rem8.2", replace(paper, config=paper.config | {"network": "alexnet:0.25"}))
    assert narrow.verdict == "out of regime"
    assert narrow.hypotheses_unmet == ("Sec 8: AlexNet of width 1, here alexnet:0.25",)
    full = judged("rem8.2", paper)
    assert full.verdict == verdict
    assert "the untrained start spans as well" in full.caveat


def curves(**counts: float) -> dict:
    found = {name.replace("__", "|").replace("_blurred", " blurred"): v for name, v in counts.items()}
    return {name: {"at": {"0.1": [v, v + 1, v + 2]}} for name, v in found.items()}


def test_codes_fail_when_only_the_images_get_sparser():
    found = curves(
        image__start=900,
        image__clean=400,
        image__robust=300,
        image__clean_blurred=310,
        image__noise=600,
        clean_delta__robust=200,
        robust_delta__robust=250,
        clean_delta__noise=500,
        robust_delta__noise=300,
    )
    claim = judged("fig12", record("purification.alexnet", curves=found))
    assert claim.verdict == "fails"
    assert "blurring alone gives 90% of the gain" in claim.caveat
    found["robust_delta|robust"]["at"]["0.1"] = [100.0, 101.0, 102.0]
    assert judged("fig12", record("purification.alexnet", curves=found)).verdict == "holds"
    found["image|start"]["at"]["0.1"] = [200.0, 201.0, 202.0]  # random features do better than robust ones
    assert judged("fig12", record("purification.alexnet", curves=found)).verdict == "fails"


def test_codes_that_reach_no_error_are_inconclusive():
    names = ("image|start", "image|clean", "image|robust", "clean_delta|robust", "robust_delta|robust")
    levels = ("0.1", "0.2", "0.3", "0.5", "0.8")
    found = {name: {"at": {level: [math.inf] for level in levels}} for name in names}
    claim = judged("fig12", record("purification.alexnet", curves=found))
    assert claim.verdict == "inconclusive"
    assert "do not reach" in claim.caveat


def test_tickets_at_chance_do_not_hold():
    lottery = {"first_ranks": [0.1, 0.9, 0.4, 0.6, 0.5], "own": [0.02, 1.0], "others": [0.0, 0.1]}
    assert judged("fig8", record("purification.alexnet", lottery=lottery)).verdict == "inconclusive"
    lottery["first_ranks"] = [0.9, 0.95, 0.8, 0.85, 0.99]
    assert judged("fig8", record("purification.alexnet", lottery=lottery)).verdict == "holds"


def test_digits_are_named_as_an_unmet_hypothesis():
    lottery = {"first_ranks": [0.9, 0.95], "own": [0.02], "others": [0.0]}
    own = record("purification.alexnet", lottery=lottery)
    claim = judged("fig8", replace(own, config=own.config | {"source": "digits"}))
    assert claim.verdict == "out of regime"
    assert claim.hypotheses_unmet == ("Sec 8: CIFAR-10, here the embedded digits",)


@pytest.mark.parametrize("item", ["fig1", "fig4", "fig8", "fig12", "rem8.2", "fig6", "fig7", "fig10"])
def test_every_figure_of_a_net_names_another_net_as_unmet(item):
    check = CHECKS[f"purification.{item}"]
    config = record(check.experiment).config | {"attacker": "l2:1:0.25"}
    assert check.hypotheses(config) == []
    assert [name for name in check.hypotheses(config | {"network": "resnet:8"}) if "here resnet:8" in name]
