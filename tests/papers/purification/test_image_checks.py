"""Checks of image experiments: whose runs they read, and what they ask for."""

from dataclasses import replace

import pytest
from judged_images import CHECKS, judged, unmet

from karat.nets.networks import network_size
from karat.papers.purification.checks import (
    paper_nets,
)
from karat.papers.purification.checks.image_examples import (
    TABLE1_CONFIG,
    TABLE1_RESULT,
)
from karat.study.experiment import cells as planned
from karat.study.judging import Undecided
from karat.study.plan import control_cells
from karat.study.run import Runs, examples


@pytest.mark.parametrize("item", CHECKS)
def test_the_examples_stand_at_the_papers_own_settings(item):
    at_full = CHECKS[item].satisfied[0]
    cells = (at_full.config, at_full.result)
    if item == "fig5":
        cells = (replace(at_full.config, network="wrn:28:10"), at_full.result)
    if item == "fig6":
        cells = (replace(at_full.config, background="black"), at_full.result)
    assert unmet(item, cells) == set()


@pytest.mark.parametrize("item", CHECKS)
def test_photographs_the_net_and_all_of_its_images_are_asked_for(item):
    run = CHECKS[item].satisfied[0]
    config = replace(run.config, source="digits", network="alexnet:0.25")
    missing = unmet(item, (config, replace(run.result, trained_on=5000)))
    assert {"Sec 8: CIFAR-10", "Sec 8: all training images of CIFAR-10"} <= missing
    assert any(name.startswith(("Sec 8: AlexNet", "Sec 8: ResNet-34", "Fig 5: WRN")) for name in missing)


@pytest.mark.parametrize("item", CHECKS)
def test_without_a_run_nothing_is_decided(item):
    with pytest.raises(Undecided, match="no finished run"):
        CHECKS[item].evaluate(Runs())


@pytest.mark.parametrize("item", CHECKS)
def test_a_control_is_one_tiny_cell_at_every_scale(item):
    check = CHECKS[item]
    for control in check.controls:
        keys = {scale: [cell.key for cell in control_cells(check, control, scale)] for scale in check.scales}
        assert len(keys["tiny"]) == 1
        assert keys["tiny"] == keys["quick"] == keys["full"]


@pytest.mark.parametrize("item", ["fig1", "fig4", "fig8", "fig12", "rem8.2"])
def test_only_runs_at_the_papers_rates_are_read_where_there_are_some(item):
    check = CHECKS[item]
    good, bad = check.satisfied[0], check.violated[0]
    other = replace(bad.config, lr=0.1, weight_decay=5e-3)
    watched, read = Runs(examples((good.config, good.result), (other, bad.result))).watched()
    assert check.evaluate(watched).outcome == "holds"
    assert read == set(range(12))
    assert judged(item, (other, bad.result)).outcome == "fails"
    assert any("rate 0.02" in name for name in unmet(item, (other, bad.result)))


@pytest.mark.parametrize(
    "network", ["resnet34", "preact34", "resnet16", "wrn:34:2", "wrn:28:10", "alexnet:1"]
)
def test_other_nets_of_the_same_name_are_not_the_papers(network):
    config = replace(TABLE1_CONFIG, network=network)
    (name,) = unmet("tab1", (config, TABLE1_RESULT))
    assert name == "Sec 8: ResNet-34 with basic blocks and 31 convolutions, 466714 weights"


def test_two_classes_make_another_net():
    config = replace(TABLE1_CONFIG, source="cifar10_pair")
    assert any("466714 weights" in name for name in unmet("tab1", (config, TABLE1_RESULT)))


@pytest.mark.parametrize("net", [paper_nets.ALEXNET_WHOLE, paper_nets.RESNET34, paper_nets.WIDE])
def test_the_papers_nets_are_in_the_full_presets_and_have_their_size(net):
    sizes = {"alexnet:1": 5, "wrn:34:1": 31, "wrn:28:10": 25}
    assert network_size(net.name, 10) == (net.weights, sizes[net.name])
    experiments = {check.experiment.name: check.experiment for check in CHECKS.values()}
    configs = [cell.config for each in experiments.values() for cell in planned(each, "full")]
    assert any(net.is_net_of(config) and net.has_rates_of(config) for config in configs)
