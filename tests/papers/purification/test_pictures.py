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
from karat.papers.purification.experiments.alexnet import _TINY, AlexnetResult, filter_measures
from karat.papers.purification.experiments.image_codes import code_curves, span_errors, sparse_pictures
from karat.papers.purification.experiments.image_measures import (
    densities,
    lottery,
    perturbations,
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
from karat.study.result import undefined_values
from karat.study.run import Run


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
    assert set(undefined_values(AlexnetResult)) == {"at", "forgotten"}


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


PRINTED = {"purification.alexnet": "alexnet:1", "purification.resnet_pictures": "preact34"}


@pytest.fixture
def record(records):
    """Make a record of the paper's own net: the values of a tiny one with some of them changed."""

    def make(name: str, **changes: object) -> Record:
        tiny = records(name)[0]
        printed = {"source": "cifar10", "network": PRINTED[name]}
        config = cells(EXPERIMENTS[name], "quick", 1)[0].config_json | printed
        return replace(tiny, config=config, values=tiny.values | changes)

    return make


def judged(item: str, *records: Record):
    check = CHECKS[f"purification.{item}"]
    return judge_claim(get_statement(check.claim_id), check, records, "quick")


@pytest.mark.parametrize(("after", "verdict"), [(0.8, "holds"), (1.2, "fails")])
def test_filters_are_judged_by_their_roughness_and_the_forgotten_start_is_told(record, after, verdict):
    rough = {"clean": [1.0, 2.0, 1.5], "continued": [1.0] * 3}
    rough["robust"] = [after * value + 0.001 * i for i, value in enumerate(rough["clean"])]
    tiny = record("purification.alexnet").values["leftover_robust"]
    left = tiny | {"energy_before": 0.3, "energy_after": 0.2, "cosine": -0.3, "forgotten": 0.7}
    claim = judged("fig1", record("purification.alexnet", filter_roughness=rough, leftover_robust=left))
    assert claim.verdict == verdict
    assert "70% of the fall is the start being forgotten" in claim.caveat


@pytest.mark.parametrize(("error", "verdict"), [(1e-6, "holds"), (1e-3, "fails")])
def test_span_is_compared_with_the_printed_error_beside_the_untrained_start(record, error, verdict):
    values = {
        "span": {"clean_delta|robust": error, "clean_delta|start": 1e-9},
        "span_own": {"clean_delta|robust": 0.4, "image|robust": 0.2, "clean_delta|start": 0.5},
        "atoms": {"code": 4096, "own": 1024, "pixels": 3072},
    }
    paper = record("purification.alexnet", **values)
    narrow = judged("rem8.2", replace(paper, config=paper.config | {"network": "alexnet:0.25"}))
    assert narrow.verdict == "out of regime"
    assert narrow.hypotheses_unmet == ("Sec 8: AlexNet of width 1, here alexnet:0.25",)
    full = judged("rem8.2", paper)
    assert full.verdict == verdict
    assert "the untrained start spans as well" in full.caveat


def curves(counts: dict[str, float], level: str = "0.1") -> dict:
    """Codes of three targets that need about so many non-zeros."""
    rest = {"counts": [1.0], "errors": [0.1], "gap": 0.0, "atoms": 1000}
    return {name: rest | {"at": {level: [v, v + 1, v + 2]}} for name, v in counts.items()}


def test_codes_fail_when_only_the_images_get_sparser(record):
    counts = {
        "image|start": 900,
        "image|clean": 400,
        "image|robust": 300,
        "image|clean blurred": 310,
        "image|noise": 600,
        "clean_delta|robust": 200,
        "robust_delta|robust": 250,
        "clean_delta|noise": 500,
        "robust_delta|noise": 300,
    }

    def verdict_with(**changes: float):
        changed = {name.replace("__", "|"): count for name, count in changes.items()}
        return judged("fig12", record("purification.alexnet", curves=curves(counts | changed)))

    claim = verdict_with()
    assert claim.verdict == "fails"
    assert "blurring alone gives 90% of the gain" in claim.caveat
    assert verdict_with(robust_delta__robust=100).verdict == "holds"
    # Random features that do better than robust ones.
    assert verdict_with(robust_delta__robust=100, image__start=200).verdict == "fails"


def test_codes_that_reach_no_error_are_inconclusive(record):
    names = ("image|start", "image|clean", "image|robust", "clean_delta|robust", "robust_delta|robust")
    never = {level: [math.inf] for level in ("0.1", "0.2", "0.3", "0.5", "0.8")}
    found = {name: curve | {"at": never} for name, curve in curves(dict.fromkeys(names, 0)).items()}
    claim = judged("fig12", record("purification.alexnet", curves=found))
    assert claim.verdict == "inconclusive"
    assert "do not reach" in claim.caveat


TICKETS = {"own": [0.02, 1.0], "others": [0.0, 0.1], "rank": [0.5, 1.0]}


@pytest.mark.parametrize(
    ("ranks", "verdict"),
    [([0.1, 0.9, 0.4, 0.6, 0.5], "inconclusive"), ([0.9, 0.95, 0.8, 0.85, 0.99], "holds")],
)
def test_tickets_at_chance_do_not_hold(record, ranks, verdict):
    tickets = record("purification.alexnet", lottery=TICKETS | {"first_ranks": ranks})
    assert judged("fig8", tickets).verdict == verdict


def test_digits_are_named_as_an_unmet_hypothesis(record):
    paper = record("purification.alexnet", lottery=TICKETS | {"first_ranks": [0.9, 0.95]})
    claim = judged("fig8", replace(paper, config=paper.config | {"source": "digits"}))
    assert claim.verdict == "out of regime"
    assert claim.hypotheses_unmet == ("Sec 8: CIFAR-10, here the embedded digits",)


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "holds"), (2.0, "fails")])
@pytest.mark.parametrize("item", ["fig6", "fig10"])
def test_feature_pictures_are_judged_by_robust_over_clean_channels(record, item, factor, verdict):
    channel = {"roughness": [1.0, 1.1], "low": [0.5, 0.5], "waves": [10.0, 12.0], "channels": [0, 1]}
    robust = channel | {name: [factor * v for v in channel[name]] for name in ("roughness", "waves")}
    ascent = {
        f"{net}|{layer}": row for layer in "ab" for net, row in (("clean", channel), ("robust", robust))
    }
    ascent["robust|b"] = robust | {
        "roughness": [factor, factor * 1.1 + 0.01],
        "waves": [factor * 10, factor * 11],
    }
    made = record("purification.resnet_pictures", ascent=ascent)
    claim = judged(item, replace(made, config=made.config | {"attacker": "l2:1:0.25"}))
    assert claim.verdict == verdict


@pytest.mark.parametrize(("end", "verdict"), [(0.3, "holds"), (0.6, "fails")])
def test_activity_is_judged_on_the_net_of_the_caption(record, end, verdict):
    activity = {"clean": [[0.5, 0.5, 0.5], [end, end + 0.01, end - 0.01]], "robust": [[0.3, 0.3, 0.3]]}
    made = record("purification.resnet_pictures", activity=activity)
    assert judged("fig5", made).hypotheses_unmet == ("Fig 5: WRN-28-10, here preact34",)
    assert judged("fig5", replace(made, config=made.config | {"network": "wrn:28:10"})).verdict == verdict


@pytest.mark.parametrize(("waves", "leading", "verdict"), [(0.5, 0.2, "holds"), (0.5, -0.2, "fails")])
def test_perturbations_must_get_sparser_in_waves_and_in_components(record, waves, leading, verdict):
    clean = {"dct": [100.0, 110.0], "pca": [50.0, 50.0], "pca_leading": [0.3, 0.31], "dct_k90": [9.0, 9.0]}
    robust = clean | {
        "dct": [waves * 100, waves * 111],
        "pca_leading": [0.3 + leading, 0.311 + leading],
    }
    participation = {"clean_delta": clean, "robust_delta": robust, "image": clean}
    assert (
        judged("fig7", record("purification.resnet_pictures", participation=participation)).verdict == verdict
    )


@pytest.mark.parametrize("item", ["fig1", "fig4", "fig8", "fig12", "rem8.2", "fig6", "fig7", "fig10"])
def test_every_figure_of_a_net_names_another_net_as_unmet(item):
    check = CHECKS[f"purification.{item}"]
    preset = check.experiment.preset("quick").config
    printed = replace(preset, source="cifar10", network=PRINTED[check.name], attacker="l2:1:0.25")
    small = replace(printed, network=preset.network)
    assert check.hypotheses(Run(printed, None, 0)) == []
    unmet = check.hypotheses(Run(small, None, 0))
    assert [name for name in unmet if f"here {preset.network}" in name]
