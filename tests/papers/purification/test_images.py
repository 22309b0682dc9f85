"""Deep image experiments: frozen layers, checkpoints of cells, settings, the table."""

import math
from dataclasses import replace

import pytest
import torch

from karat.nets.networks import build_network
from karat.papers.purification.experiments.freezing import FREEZING
from karat.papers.purification.experiments.frozen_stages import Bench, frozen_below
from karat.papers.purification.experiments.image_setting import (
    CERTIFIED_AT,
    load,
    source_or_digits,
)
from karat.papers.purification.experiments.layer_angles import clean_pairs, turned
from karat.papers.purification.experiments.layer_angles import layer_angles as measured_angles
from karat.papers.purification.experiments.table1 import TABLE1, Table1Result, Trained, TrainedOnNoise
from karat.papers.purification.experiments.theta import THETA
from karat.papers.purification.printed_table1 import ATTACKERS, PRINTED, reported_text
from karat.report.summary_table import table_of
from karat.study.config import config_to_json
from karat.study.record import Record, cell_generator
from karat.study.result import from_values, to_values, undefined_values
from karat.study.run import Run

TINY = THETA.preset("tiny").config
IMAGES = {"images": "cifar10", "fallback": False, "trained_on": 5000, "tested_on": 1000}


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_all_image_experiments_are_marked_and_have_three_scales():
    for experiment in (TABLE1, THETA, FREEZING):
        assert experiment.part == "images"
        assert list(experiment.presets) == ["tiny", "quick", "full"]
        assert experiment.presets["tiny"].config.source == "digits"


def test_digits_are_framed_to_32_pixels_and_stand_in_without_colour_images(monkeypatch):
    images = load(TINY, _generator())
    assert images.x.shape == (160, 1, 32, 32)
    assert images.x_test.shape == (60, 1, 32, 32)
    assert not bool(images.x[:, :, :2].any())
    monkeypatch.delenv("KARAT_DATA", raising=False)
    assert source_or_digits("cifar10") == "digits"


def test_what_lies_below_is_the_robust_net_and_the_rest_is_drawn_anew():
    robust = build_network("resnet:2", 2, generator=_generator(1))
    robust.stem.weight.data.add_(1)
    robust.stages[0][0].norm1.running_mean.add_(3)
    robust.head.weight.data.add_(1)
    fresh = build_network("resnet:2", 2, generator=_generator(2))
    drawn = {name: tensor.clone() for name, tensor in fresh.state_dict().items()}
    net, below = frozen_below(robust, "stages.0.1.first", fresh)
    state = net.state_dict()
    assert all(torch.equal(state[name], robust.state_dict()[name]) for name in below)
    assert all(torch.equal(state[name], drawn[name]) for name in state if name not in below)
    assert "stages.0.0.norm1.running_mean" in below
    assert not net.stem.weight.requires_grad
    assert net.head.weight.requires_grad
    assert frozen_below(robust, "stem", fresh)[1] == {}


def test_layers_that_are_not_there_are_refused():
    config = replace(FREEZING.preset("tiny").config, layers=("conv9",), n=50)
    with pytest.raises(ValueError, match="`layers` of `FreezingConfig` must be among stem, "):
        FREEZING.run(config, _generator())


@pytest.mark.slow
def test_a_cell_resumed_from_its_checkpoints_gives_the_same_values(tmp_path, monkeypatch):
    """The second run finds all stages finished; wiping one stage makes it train that one again."""
    config = replace(TINY, n=64, clean_epochs=1, test=20, attacked=10)
    monkeypatch.delenv("KARAT_CHECKPOINTS", raising=False)
    plain = THETA.run(config, cell_generator(THETA.name, 0))
    monkeypatch.setenv("KARAT_CHECKPOINTS", str(tmp_path))
    first = THETA.run(config, cell_generator(THETA.name, 0))
    files = sorted(path.name for path in tmp_path.rglob("*.pt"))
    assert files == ["clean.pt", "control.pt", "robust.pt"]
    next(tmp_path.rglob("robust.pt")).unlink()
    assert first == plain == THETA.run(config, cell_generator(THETA.name, 0))


@pytest.mark.parametrize(
    ("experiment", "settings", "message"),
    [
        (THETA, {"attacker": "l7:1"}, "an attacker is linf:RADIUS"),
        (TABLE1, {"attackers": ()}, "`attackers` of `Table1Config` must name at least one attacker"),
        (TABLE1, {"n": 1}, "`n` of `Table1Config` must be a whole number >= 2, got 1"),
        (TABLE1, {"certify": -1}, "`certify` of `Table1Config` must be a whole number >= 0, got -1"),
        (TABLE1, {"votes": 0}, "`votes` of `Table1Config` must be a whole number >= 1, got 0"),
        (TABLE1, {"train_steps": 0}, "`train_steps` of `Table1Config` must be a whole number >= 1, got 0"),
        (TABLE1, {"weight_decay": -0.1}, "`weight_decay` of `Table1Config` must be a finite number >= 0"),
        (THETA, {"schedule": "linear"}, "`schedule` of `ThetaConfig` must be one of 'cosine', 'steps'"),
        (THETA, {"lr": math.nan}, "`lr` of `ThetaConfig` must be a finite number > 0, got nan"),
        (FREEZING, {"layers": ()}, "`layers` of `FreezingConfig` must name at least one convolution"),
        (FREEZING, {"lr": -1.0}, "`lr` of `FreezingConfig` must be a finite number > 0"),
        (FREEZING, {"last_epochs": 0}, "`last_epochs` of `FreezingConfig` must be a whole number >= 1"),
    ],
)
def test_wrong_settings_are_refused(experiment, settings, message):
    with pytest.raises(ValueError, match=message):
        replace(experiment.preset("tiny").config, **settings)


def test_settings_at_the_ends_of_their_ranges_are_allowed():
    replace(TINY, n=2, test=None, weight_decay=0.0, attack_warmup=0, restarts=0)
    replace(TABLE1.preset("tiny").config, certify=0, votes=1, train_steps=None, random_epochs=1)
    replace(FREEZING.preset("tiny").config, warm_epochs=0, last_epochs=1)


def test_a_filter_that_does_not_turn_has_angle_one_and_a_dead_one_is_left_out():
    start = torch.eye(4)[:3]
    clean = torch.eye(4)[1:4].clone()  # every filter turns by a right angle
    robust = 2 * clean
    clean[2] *= 1e-9
    found = measured_angles([start], [clean], [robust])
    assert (found.live, found.filters) == ([2], [3])
    assert (found.start_clean, found.start_clean_small, found.start_clean_large) == ([0.0], [1.0], [0.0])
    assert found.clean_robust == pytest.approx([1.0])
    assert found.clean_robust_large == turned([clean], [robust], [clean]).large == [1.0]
    assert (found.pairs_small, clean_pairs([clean]).large) == ([1.0], [0.0])


def test_the_goal_of_stage_three_is_both_accuracies_of_stage_one():
    config = FREEZING.preset("tiny").config
    images = load(config, torch.Generator().manual_seed(0))
    net = images.network(config.network, torch.Generator().manual_seed(1)).eval()
    bench = Bench(config, images, torch.Generator())
    here = bench.measure(net)
    assert bench.reached(net, here)
    assert not bench.reached(net, replace(here, accuracy=here.accuracy + 0.01))
    assert not bench.reached(net, replace(here, attacker=here.attacker + 0.01))
    # The strong attack is no goal of footnote 17.
    assert bench.reached(net, replace(here, strong=1.0))


@pytest.mark.slow
def test_stage_three_stops_once_the_accuracies_of_stage_one_are_back():
    config = replace(FREEZING.preset("tiny").config, last_epochs=3, layers=("stem",))
    whole = FREEZING.run(config, torch.Generator().manual_seed(0))
    stopped = FREEZING.run(replace(config, stop=True), torch.Generator().manual_seed(0))
    assert (whole.stage3_epochs, stopped.stage3_epochs) == ([3], [1])
    assert (stopped.stage1, stopped.stage2) == (whole.stage1, whole.stage2)
    assert stopped.stage3.accuracy[0] >= stopped.stage1.accuracy
    assert stopped.stage3.attacker[0] >= stopped.stage1.attacker


def _trained(kind=Trained, *, strong, first=0.6):
    return kind(
        accuracy=[first, 0.5],
        attacker=[first, 0.5],
        strong=list(strong),
        certified=[[], [0.5, 0.4, 0.2]],
    )


def _table(names=("linf:4", "linf:8"), **changes):
    result = Table1Result(
        **IMAGES,
        radii=list(CERTIFIED_AT),
        clean=_trained(strong=(0.05, 0.0)),
        from_clean=_trained(strong=(0.4, 0.3)),
        from_random=_trained(strong=(0.35, 0.31)),
        # An attacker without noise has no noise-only control.
        noise=_trained(TrainedOnNoise, strong=(math.nan, 0.1), first=math.nan),
    )
    settings = {"network": "alexnet:0.25", "source": "cifar10", "attackers": names, "attacked": 500}
    config = replace(TABLE1.preset("tiny").config, **settings, robust_epochs=5, clean_epochs=30)
    return Run(config, replace(result, **changes), 0)


def _record(run):
    return Record(
        experiment="purification.table1",
        config=config_to_json(run.config),
        seed=0,
        status="done",
        values=to_values(run.result),
        error=None,
        cpu_seconds=1.0,
        version="0",
        environment={},
    )


def test_every_training_has_its_own_names_in_a_record():
    run = _table(from_random=None)
    values = to_values(run.result)
    assert values["from_clean_strong"] == [0.4, 0.3]
    assert not [name for name in values if name.startswith("from_random_")]
    again = from_values(Table1Result, values)
    assert list(again.trainings) == ["clean", "from_clean", "noise"]
    assert again.clean == run.result.clean
    assert math.isnan(again.noise.strong[0])
    assert set(undefined_values(Table1Result)) == {"noise_accuracy", "noise_attacker", "noise_strong"}


def test_all_twelve_printed_cells_are_reported():
    text = reported_text()
    for row in PRINTED.values():
        assert set(row) == set(ATTACKERS)
        for cell in row.values():
            assert f"{cell.robust} ({cell.clean})" in text


def test_the_table_shows_measured_beside_printed_and_what_is_missing():
    made = table_of("purification.table1")([_record(_table())])
    rows = {(row[2], row[3]): row for row in made.rows}
    measured = rows["linf:8", "adversarial from clean"]
    assert measured[6] == pytest.approx(30)
    assert (measured[10], measured[11]) == (46.0, 73.7)
    assert measured[8] == pytest.approx(40)
    assert rows["l2:1:0.25", "clean training"][10] == 0.0
    assert ("linf:4", "noise only") not in rows
