"""Clock, lottery and drift of purification: what is measured, and checks that can fail."""

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from scipy.special import expit, ndtr

from karat.lab.execute import execute
from karat.papers.purification.checks.lottery import CHECKS as LOTTERY_CHECKS
from karat.papers.purification.experiments import drift, kinetics, tickets
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.papers.purification.experiments.tickets import TicketsConfig
from karat.study.experiment import cells
from karat.study.registry import EXPERIMENTS
from karat.study.run import Run
from karat.training.odd.bias import FrozenBias, GrowingBias, RelativeStep, time_of

SMALL = replace(RANDOM_START, d=40, k=10, batch=256, clean_steps=40)
SAMPLED = [
    name
    for name, experiment in EXPERIMENTS.items()
    if name.startswith("purification.") and isinstance(experiment.presets["tiny"].config, OddNetConfig)
]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_noise_trains_in_every_sparse_coding_experiment(name, monkeypatch):
    module = sys.modules[EXPERIMENTS[name].run.__module__]
    monkeypatch.setattr(
        module, "require_awake", lambda *_: None, raising=False
    )  # four steps wake few neurons
    few = {"clean_steps": 4, "robust_steps": 2, "n_test": 50, "n_attack": 10, "n_certify": 0}
    first = cells(EXPERIMENTS[name], "tiny", 1, few | {"sampled_noise": True})[0]
    # After four steps all neurons may sleep on all inputs, and shares have no number then.
    records = (execute(first.with_seed(seed)) for seed in range(5))
    assert "done" in (record.status for record in records)


def test_steps_of_the_clock_are_those_of_the_trainer():
    model = SMALL.draw_model(generator())
    _, rows = SMALL.clean_trainer().run(
        SMALL.draw_net(model, generator(1)),
        SMALL.batches(model, generator(2)),
        steps=40,
        observe=lambda step, net: {},
        observe_at=range(41),
    )
    times = [row["time"] for _, row in rows]
    for time in (0.0, 0.01, 0.05):
        assert SMALL.step_at(time) == max(i for i, passed in enumerate(times) if passed <= time)
    assert SMALL.step_at(math.inf) == 40


def test_phases_are_the_papers_counts_times_the_step():
    """T_a = d sigma_0 log(d)^2.5 / lr steps of length h = lr / d each, whatever lr."""
    phases = RANDOM_START.phases()
    assert phases.T_a == pytest.approx(1e-3 * math.log(200) ** 2.5)
    assert phases.T_b == pytest.approx(200 * 1e-3 / 14)
    assert phases.T_e == pytest.approx(1 / (RANDOM_START.ticket_rule().xi2 * math.log(200)))


def test_papers_noise_drops_at_t_a_and_stays_low_in_adversarial_training():
    paper = replace(RANDOM_START, schedule="paper")
    model, last = paper.draw_model(generator()), paper.phases().T_a
    noise = paper.clean_trainer().noise
    late = paper.robust_trainer(model).noise
    assert noise(1.0, 0.99 * last) / noise(1.0, 1.01 * last) == pytest.approx(math.sqrt(math.log(200)))
    assert late(1.0, 0.0) == noise(1.0, 2 * last)
    assert paper.step_at(last) == 21  # h = 0.8 b is far below `step` at the start


def trained(steps: int = 40):
    draws = split(generator(3), 3)
    model = SMALL.draw_model(draws[0])
    net, _ = SMALL.clean_trainer().run(
        SMALL.draw_net(model, draws[1]), SMALL.batches(model, draws[2]), steps=steps
    )
    return model, net


def test_drift_of_a_step_is_the_sum_of_its_parts():
    model, net = trained()
    sample = model.sample(500, generator=generator(4))
    parts = drift.step_drift(SMALL, model, net, 0, sample, sample)
    whole = parts.growth + parts.mirrored - parts.decay + parts.noise
    assert torch.allclose(parts.measured, whole, atol=1e-9)
    assert float(parts.measured.abs().max()) > 0.05


def test_halves_of_a_pair_push_alike_on_points_closed_under_reflection():
    """The law is symmetric, so that either half is E[loss' 1[<w, x> + rho >= b] |<w*, z>|]."""
    model, net = trained()
    half = model.sample(400, generator=generator(4))
    both = {name: torch.cat([getattr(half, name), -getattr(half, name)]) for name in ("x", "y", "z")}
    sample = replace(half, **both, y_clean=both["y"], flipped=torch.zeros(800, dtype=torch.bool))
    parts = drift.step_drift(SMALL, model, net, 0, sample, sample)
    assert torch.allclose(parts.growth, parts.mirrored, atol=1e-9)
    u = (sample.x @ net.W.double().T).numpy()
    slope = expit(-(sample.y * net.replace(W=net.W.double(), b=net.b.double())(sample.x)).numpy())
    score = (sample.z @ model.w_star.double()).abs().numpy()
    expected = ndtr((u + float(net.b)) / net.sigma_rho).T @ (slope * score) * SMALL.d / len(sample)
    assert parts.growth.numpy() == pytest.approx(expected, abs=1e-9)


def test_reversed_labels_reach_training_and_the_step():
    config = StepConfig(d=40, k=6, batch=64, step_labels="reversed")
    model = config.draw_model(generator())
    true = replace(config, step_labels="true")
    (x, y), (x_true, y_true) = (c.batches(model, generator(1))(0) for c in (config, true))
    assert torch.equal(x, x_true)
    assert torch.equal(y, -y_true)
    samples = model.sample(50, generator=generator(2))
    assert torch.equal(config.labelled(samples, generator(3)).y, -samples.y)


def test_growth_of_others_is_free_of_sampling_noise():
    """Labels that know nothing: nothing grows, though every single estimate is off by its sampling noise."""
    model, net = trained(2)
    test = model.sample(100, generator=generator(5), dtype=torch.float32)
    sample = model.sample(16000, generator=generator(6), dtype=torch.float32)
    y = torch.randn(16000, generator=generator(7)).sign()
    blind = replace(sample, y=y, flipped=y != sample.y_clean)
    won = torch.zeros(SMALL.m, SMALL.d, dtype=torch.bool)
    noise = kinetics.growth(SMALL, model, net, blind, test, won)["loser_growth"]
    signal = kinetics.growth(SMALL, model, net, sample, test, won)["loser_growth"]
    assert noise < 0.3 * signal


def run(seed: int, values: dict, **settings: object) -> Run:
    """A run of which only what a check reads is there."""
    return Run(replace(RANDOM_START, **settings), SimpleNamespace(**values), seed)


def judged(checks, item: str, runs: list[Run]):
    (check,) = [check for check in checks if check.claim_id == f"purification.{item}"]
    return check.evaluate(runs)


def test_inclusions_are_asked_of_their_own_phases():
    names = ("sure_kept", "potential_plus_old", "potential_in_plus", "ept_plus", "ept_plus_plus")
    t_e = RANDOM_START.phases().T_e
    for at, outcome in ((0.9 * t_e, "holds"), (1.1 * t_e, "fails")):
        values = {name: [0.5, 1.0, 1.0] for name in names} | {"sure_grown": [0.0, 0.0, 1.0]}
        values["time"] = [0.0, at, 9.0]
        runs = [run(seed, values) for seed in range(12)]
        assert judged(LOTTERY_CHECKS, "thmC.2", runs).outcome == outcome


def test_slope_of_the_loss_bounds_the_error():
    """On any net, labels and points: those on the wrong side have loss' >= 1/2, those at f = 0 too."""
    model, net = trained()
    test = model.sample(300, generator=generator(5), dtype=torch.float32)
    for labels in (test.y, -test.y):
        judged_by = replace(test, y=labels, flipped=labels != test.y_clean)
        values = kinetics.errors(net, judged_by, judged_by)
        slope = expit(-(labels * net(test.x)).double().numpy()).mean()
        assert values["slope"] == pytest.approx(slope, abs=1e-6)
        assert values["slope"] >= values["error"] / 2
    asleep = net.replace(b=net.b - 1e6)
    values = kinetics.errors(asleep, test, test)
    assert values["slope"] == pytest.approx(0.5)
    assert values["error"] == pytest.approx(float((test.y < 0).double().mean()))


def test_labels_of_a_coin_are_independent_of_the_true_ones():
    config = StepConfig(d=40, k=6, step_labels="random")
    samples = config.draw_model(generator()).sample(4000, generator=generator(1))
    random = config.labelled(samples, generator(2))
    # The share that differs is binomial with 1/2: 5 standard deviations, false alarm below 1e-6.
    assert abs(float((random.y != samples.y).double().mean()) - 0.5) < 5 / (2 * math.sqrt(4000))
    assert torch.equal(random.flipped, random.y != samples.y_clean)
    assert replace(config, step_labels="true").labelled(samples, generator(2)) is samples


def test_tickets_of_signs_are_all_of_one_size():
    lucky, none = (
        tickets.run(TicketsConfig(d=100, rows=rows), generator()) for rows in ("gaussian", "signs")
    )
    assert lucky.surely_lucky_share > 0
    assert (none.ordinary_share, none.lucky_share) == (1.0, 0.0)


def test_the_time_of_many_steps_is_known_at_once():
    step, bias = RelativeStep(size=0.06, share=0.8), GrowingBias(speed=1e-9, stop=1.0)
    by_hand, threshold = 0.0, 0.01
    for _ in range(50_000):
        h = step(threshold)
        by_hand, threshold = by_hand + h, bias(threshold, h)
    assert time_of(step, bias, 0.01, 50_000) == pytest.approx(by_hand, rel=1e-4)
    # At rest the rest is a product, and so far slower schedules end as well.
    assert time_of(step, FrozenBias(), 1.0, 10**12) == pytest.approx(0.06 * 10**12)
    assert time_of(step, bias, 1.0, 10**12) == pytest.approx(0.06 * 10**12)
