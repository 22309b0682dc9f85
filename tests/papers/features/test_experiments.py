"""What the features experiments measure, and malformed settings."""

import math
import re
from dataclasses import replace

import pytest
import torch

from karat.core.divergence import settle
from karat.core.walsh import cube
from karat.data import majority_law, parity_law
from karat.data.pattern_dictionary import PatternDictionary
from karat.lab.execute import execute
from karat.papers.features.bounds import movement_bound
from karat.papers.features.checks.reported import PRINTED_METHODS, REPORTED, part_label, part_of
from karat.papers.features.experiments.cube import CubeConfig, effort
from karat.papers.features.experiments.descent import DescentConfig
from karat.papers.features.experiments.explicit_net import explicit_net
from karat.papers.features.experiments.kernels import KernelConfig
from karat.papers.features.experiments.landmarks import label_strength, movement
from karat.papers.features.experiments.learning import (
    draw,
    learn_features,
    rescaled_one_step,
    without_structure,
)
from karat.papers.features.experiments.methods import run_methods
from karat.papers.features.experiments.quality import QualityConfig
from karat.papers.features.experiments.queries import QueriesConfig, krawtchouk, mean_label
from karat.papers.features.experiments.queries import run as run_queries
from karat.papers.features.experiments.settings import LearningConfig
from karat.papers.features.experiments.students import StudentsConfig
from karat.papers.features.experiments.tables import TINY
from karat.papers.features.experiments.teachers import classical_minimum
from karat.study.claim import judge_claim
from karat.study.config import decode, encode
from karat.study.experiment import cells
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement
from karat.study.result import to_values, undefined_values
from karat.study.run import read_runs


def test_a_run_away_from_the_printed_size_is_out_of_regime(records):
    check = CHECKS["features.tab1"]
    claim = judge_claim(get_statement(check.claim_id), check, records(check.name), "tiny")
    assert claim.verdict == "out of regime"
    assert claim.hypotheses_unmet[0].startswith("Tab 1: d = 500")


def test_every_cell_of_the_tables_is_reported():
    assert len(REPORTED) == 8
    assert all(set(cells) == set(PRINTED_METHODS) for cells in REPORTED.values())
    assert REPORTED["tab1", ""]["ntk"].test == 86.4
    assert REPORTED["tab3", "d=2000"]["one_step"].cos == 0.560


def test_runs_are_told_apart_by_the_part_of_the_table_and_by_what_they_add():
    config = replace(TINY, negative_rate=0.8, weighted=True, sampling="balanced")
    assert part_of("tab3", config) == "d=60"
    assert part_of("tab1", config) == ""
    assert part_label("tab4", config) == "negative_rate=0.8, class weights, balanced batches"


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("features.")])
def test_a_record_is_read_back_as_the_result_it_came_from(name, records):
    experiment = EXPERIMENTS[name]
    for record, run in zip(records(name), read_runs(experiment, records(name)), strict=True):
        again = settle(decode(encode(to_values(run.result))), undefined_values(experiment.result_type))
        assert again == record.values


def test_methods_without_structure_can_be_run_alone():
    cell = cells(EXPERIMENTS["features.tab1"], "tiny", 1, {"methods": ("rf_unstructured",)})[0]
    (run,) = read_runs(EXPERIMENTS["features.tab1"], [execute(cell)])
    assert list(run.result.methods) == ["rf_unstructured"]
    assert run.result.methods["rf_unstructured"].known("strength") > 0


def test_same_seed_gives_the_same_record():
    cell = cells(EXPERIMENTS["features.tab1"], "tiny", 1, {"methods": ("network", "rf")})[0]
    assert execute(cell).values == execute(cell).values


def test_nothing_but_the_cosines_of_the_start_depends_on_d():
    first, second = (
        execute(cells(EXPERIMENTS["features.tab3"], "tiny", 1, {"d": d})[0]).values for d in (20, 5000)
    )
    for name in ("network_test", "ntk_test", "two_step_hinge", "step1_cos", "step2_cos_mean"):
        assert first[name] == second[name]
    assert first["rf_cos"] > 2 * second["rf_cos"]


def test_pattern_space_and_input_space_find_the_same_direction():
    config = replace(TINY, methods=(), pictures=False)
    cosines = []
    for engine in ("reduced", "input"):
        problem = draw(replace(config, engine=engine), torch.Generator().manual_seed(0))
        stages = learn_features(config, problem)
        cosines.append(float(stages.two.cosines(problem.direction).abs().mean()))
    assert all(value > 0.99 for value in cosines)


def test_rescaling_changes_lengths_and_keeps_directions():
    problem = draw(replace(TINY, methods=()), torch.Generator().manual_seed(0))
    stages = learn_features(TINY, problem)
    rescaled = rescaled_one_step(stages)
    want = torch.linalg.vector_norm(stages.two.net.W, dim=1)
    assert torch.allclose(torch.linalg.vector_norm(rescaled.net.W, dim=1), want, rtol=1e-5)
    direction = problem.direction
    assert torch.allclose(rescaled.cosines(direction), stages.one.cosines(direction), atol=1e-6)


@pytest.mark.parametrize("task", ["parity", "interval"])
def test_descent_turns_every_neuron_to_the_side_of_its_output_weight(task):
    config = replace(TINY, task=task, low=3, high=5, methods=(), pictures=False)
    results = {
        gradient: run_methods(replace(config, gradient=gradient), torch.Generator().manual_seed(0))
        for gradient in ("descent", "ascent")
    }
    assert results["descent"].step2.signed > 0.9
    assert results["ascent"].step2.signed == pytest.approx(-results["descent"].step2.signed, abs=1e-6)
    assert results["ascent"].step2.cos == pytest.approx(results["descent"].step2.cos, abs=1e-4)


def test_permuted_labels_keep_inputs_and_shares_and_say_nothing():
    true, permuted = (
        draw(replace(TINY, methods=(), labels=labels), torch.Generator().manual_seed(0))
        for labels in ("true", "permuted")
    )
    assert torch.equal(true.train.x, permuted.train.x)
    assert float(true.train.y.sum()) == float(permuted.train.y.sum())
    along = [abs(float(p.train.y @ (p.train.x.double() @ p.direction).float())) for p in (true, permuted)]
    assert along[1] < along[0] / 4


def test_a_skipped_second_step_leaves_the_first():
    config = replace(TINY, methods=(), second_step="skipped")
    stages = learn_features(config, draw(config, torch.Generator().manual_seed(0)))
    assert stages.two is stages.one


def test_five_coarse_queries_beat_the_printed_threshold_and_not_the_repaired_one():
    result = run_queries(QueriesConfig(D=60, k=5), torch.Generator())
    assert max(result.queries, result.inverse_tolerance) < result.floor
    assert result.parities**-3 < result.advantage < result.parities**-0.5
    assert result.hardest == [1, 3, 5]
    with pytest.raises(ValueError, match="`k` of `QueriesConfig` must be an odd number of at most `D` = 60"):
        QueriesConfig(D=60, k=4)


def test_the_symmetric_learner_reaches_the_correlation_of_a_brute_force_over_the_cube():
    D, k = 9, 3
    z = cube(D)
    present = ((1 - z) / 2).sum(dim=1).long()
    guess = torch.tensor([-1.0 if krawtchouk(D, k, int(w)) >= 0 else 1.0 for w in present])
    parity = torch.where(((1 - z[:, :k]) / 2).sum(dim=1) % 2 == 1, 1.0, -1.0)
    advantage = float((guess * parity).mean()) / 2
    weights = [math.comb(D, w) / 2**D for w in range(D + 1)]
    label = [float(value) for value in mean_label(D, k, (1, 3))]
    signs = [-1.0 if krawtchouk(D, k, w) >= 0 else 1.0 for w in range(D + 1)]
    exact = sum(p * f * s for p, f, s in zip(weights, label, signs, strict=True)) / 2
    assert advantage == pytest.approx(exact)
    assert advantage > 0


def test_unmatched_settings_are_refused_in_one_sentence():
    base = {"d": 30, "D": 20, "k": 5, "n": 10, "pairs": 2, "steps": 5}
    for change, message in (
        ({"dictionary": "incoherent", "engine": "reduced"}, "cannot be reduced: the patterns are not orth"),
        ({"optimiser": "adam", "engine": "reduced"}, "treats coordinates one by one"),
        ({"sigma_zeta": 0.1, "engine": "reduced"}, "input noise leaves the span"),
        ({"D": 40}, "must be at most `d` = 30, got 40"),
        ({"methods": ("svm",)}, "must be one of"),
        ({"lr_a": ()}, "must hold at least 1 values"),
        ({"task": "hidden"}, "cannot remove the structure"),
        ({"sigma_xi": 0.0, "second_step": "closed"}, "only with sigma_xi > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            LearningConfig(**(base | change))


@pytest.mark.parametrize(
    ("kind", "setting", "value", "rule"),
    [
        (KernelConfig, "bandwidth", 0.0, "a finite number > 0"),
        (KernelConfig, "k", 50, "at most `D` = 20"),
        (QualityConfig, "n_program", 5, "a whole number >= 6"),
        (LearningConfig, "p_o", 0.6, "a finite number >= 0 and <= 0.5"),
        (LearningConfig, "n", 1, "a whole number >= 2"),
        (LearningConfig, "steps", 2, "a whole number >= 3"),
        (LearningConfig, "negative_rate", 1.0, "a finite number > 0 and < 1"),
        (LearningConfig, "lr_rf", (0.1, -1.0), "a finite number >= 0"),
        (LearningConfig, "sigma_zeta", 1e16, "a finite number >= 0 and <= 1e+15"),
    ],
)
def test_settings_are_refused_under_the_name_of_their_own_class(kind, setting, value, rule):
    base = {"d": 30, "D": 20, "k": 5, "n": 10, "pairs": 2, "steps": 5}
    sentence = f"`{setting}` of `{kind.__name__}` must be {rule}, got "
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        kind(**(base | {setting: value}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 1.0}, "must leave at least one of `n` = 100 original images"),
        ({"students": ()}, "must be one size for net=resnet and at least one for net=fc"),
        ({"net": "resnet"}, "must be one size for net=resnet"),
        ({"injected": "tiny_imagenet"}, "only for net=resnet"),
        ({"side": 4}, "must be a whole number >= 8, got 4"),
        ({"students": (9, 0)}, "must be a whole number >= 1, got 0"),
    ],
)
def test_mixtures_that_cannot_be_trained_are_refused(change, message):
    base = {"source": "digits", "teacher": 9, "students": (9, 50), "n": 100, "steps": 5, "teacher_steps": 5}
    with pytest.raises(ValueError, match=message):
        StudentsConfig(**(base | change))


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3, 9), (3, 3, 9)])
def test_sizes_must_increase(sizes):
    with pytest.raises(ValueError, match="three or more increasing sizes"):
        DescentConfig(sizes=sizes)


def test_the_cube_is_small_and_holds_its_parities():
    with pytest.raises(ValueError, match="`D` of `CubeConfig` must be a whole number <= 14, got 15"):
        CubeConfig(D=15, k=3, size=8)
    with pytest.raises(ValueError, match="`k` of `CubeConfig` must be at most `D` = 4, got 5"):
        CubeConfig(D=4, k=5, size=8)


def test_a_general_dictionary_goes_through_input_space():
    config = LearningConfig(d=30, D=20, k=5, n=10, pairs=2, steps=5, dictionary="incoherent")
    assert not config.reduced


@pytest.mark.parametrize("law", [parity_law(5), parity_law(3, p_o=0.1), majority_law(5)])
def test_the_explicit_net_is_right_on_every_count(law):
    generator = torch.Generator().manual_seed(0)
    model = PatternDictionary.draw(law, d=12, D=8, generator=generator)
    samples = model.sample(2000, generator=generator)
    net = explicit_net(model)
    assert net.m == 3 * (law.k + 1)
    assert float((net(samples.x) - samples.y).abs().max()) < 1e-9


def test_the_classical_minimum_is_the_first_one():
    assert classical_minimum((3, 5, 9, 15, 40), (0.9, 0.5, 0.7, 0.6, 0.3)) == 5
    assert classical_minimum((3, 5, 9), (0.9, 0.5, 0.4)) is None


def test_label_strength_is_the_slope_of_the_hinge_loss_and_bounds_it_from_below():
    config = replace(TINY, methods=())
    generator = torch.Generator().manual_seed(0)
    problem = without_structure(config, draw(config, generator), generator)
    x, y = problem.train.x.double(), problem.train.y.double()
    net = problem.start.net
    H = (x @ net.W[: config.pairs].double().T + net.b[: config.pairs].double()).clamp(0, 1)
    a = torch.zeros(config.pairs, dtype=torch.float64, requires_grad=True)
    (1 - y * (H @ a)).clamp_min(0).mean().backward()
    strength = label_strength(problem)
    assert strength == pytest.approx(float(a.grad.norm()), rel=1e-4)
    for norm in (1e-3, 1.0, 30.0):
        best = -a.grad / a.grad.norm() * norm
        loss = float((1 - y * (H @ best)).clamp_min(0).mean())
        assert loss >= 1 - norm * strength - 1e-5
    assert float((1 - y * (H @ best) * 1e-4).clamp_min(0).mean()) == pytest.approx(
        1 - 3e-3 * strength, abs=1e-6
    )


def test_effort_is_the_smallest_over_all_numbers_of_queries_and_tolerances():
    size = torch.rand(12, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64) / 8
    tolerances = size.flatten().tolist()
    found = [12.0]
    for q in range(1, 21):
        for tau in tolerances:
            seen = sum(any(float(v) >= tau for v in row[:q]) for row in size)
            if seen >= 11:
                found.append(max(q, 1 / tau))
    assert effort(size) == pytest.approx(min(found))
    assert effort(torch.zeros(12, 3)) == 12.0


def test_movement_is_compared_with_the_bound_of_every_neuron():
    problem = draw(replace(TINY, methods=()), torch.Generator().manual_seed(0))
    net = problem.start.net
    W = net.W.clone()
    W[3, 0] += 0.5
    moved = movement(net, net.replace(W=W), steps=10, lr=0.01)
    assert moved.share == pytest.approx(0.5 / float(net.W.norm()), rel=1e-4)
    bound = movement_bound(steps=10, lr=0.01, decay=0.0, length=0.0, top=float(net.a[3]))
    assert moved.over_bound == pytest.approx(0.5 / bound, rel=1e-4)
