"""The odd net's own passes and trainer: equal to the plain ones, with schedules that do what they say."""

import math
import sys

import pytest
import torch

from karat.attacks import Steepest
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer, init
from karat.nets.module import as_classifier
from karat.training import Adversary, Constant, CubicNorms, Snapshot, Trainer
from karat.training.odd import (
    FreshBatches,
    GrowingBias,
    OddClassifier,
    OddTrainer,
    ProportionalNoise,
    RelativeStep,
    ShrinkingNoise,
    TwoStageBias,
    forward,
)

PASSES = sys.modules["karat.training.odd.forward"]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def net_and_points(share: float, dtype: torch.dtype = torch.float64, d: int = 12, m: int = 30, n: int = 80):
    g = generator()
    W = torch.randn(m, d, generator=g, dtype=dtype)
    net = OddTwoLayer(W, torch.tensor(-1.1, dtype=dtype), 1.1 * share)
    return net, 0.5 * torch.randn(n, d, generator=g, dtype=dtype), torch.randn(n, generator=g, dtype=dtype)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 1.0, 3.0])
def test_fast_pass_equals_the_net(share):
    net, x, residual = net_and_points(share)
    f, gates = forward(net, x)
    value, gradient = net.value_and_input_gradient(x)
    assert torch.allclose(f, value, atol=1e-12)
    assert torch.allclose(gates.input_gradient(net.W), gradient, atol=1e-12)
    expected = net.weight_gradient(x, residual)["W"]
    assert torch.allclose(gates.weight_gradient(x, residual), expected, atol=1e-12)


def test_fast_pass_in_single_precision_errs_by_rounding_only():
    net, x, _ = net_and_points(0.1, torch.float32)
    exact = OddTwoLayer(net.W.double(), net.b.double(), net.sigma_rho)
    assert torch.allclose(forward(net, x)[0].double(), exact(x.double()), atol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_skipping_short_neurons_changes_nothing(share, sparse, monkeypatch):
    """Most neurons are short: their projections are not computed, and nobody can tell."""
    g = generator(1)
    W = torch.randn(40, 10, generator=g, dtype=torch.float64)
    W[10:] *= 1e-3
    net = OddTwoLayer(W, torch.tensor(-0.4, dtype=torch.float64), 0.4 * share)
    x = torch.randn(200, 10, generator=g, dtype=torch.float64)
    x[:5] *= 200  # long enough to wake even the short ones
    residual = torch.randn(200, generator=g, dtype=torch.float64)
    monkeypatch.setattr(PASSES, "_SPARSE", sparse)
    plain_f, plain = forward(net, x)
    monkeypatch.setattr(PASSES, "_SMALLEST", 1)
    f, gates = forward(net, x)
    assert len(plain.blocks) == 1
    assert len(gates.blocks) == 2
    assert torch.allclose(f, plain_f, atol=1e-12)
    assert torch.allclose(gates.value, plain.value, atol=1e-12)
    assert gates.awake == pytest.approx(plain.awake)
    assert torch.allclose(gates.weight_gradient(x, residual), plain.weight_gradient(x, residual), atol=1e-10)
    assert torch.allclose(gates.input_gradient(W), plain.input_gradient(W), atol=1e-10)


def test_classifier_agrees_with_the_plain_one():
    net, x, _ = net_and_points(0.2)
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).double()
    for fast, plain in zip(
        OddClassifier(net).margin_and_gradient(x, y),
        as_classifier(net).margin_and_gradient(x, y),
        strict=True,
    ):
        assert torch.allclose(fast, plain, atol=1e-12)


def samples(n: int = 60) -> Samples:
    model = SparseCoding.draw(d=12, k=4, generator=generator(2), sigma_x=0.1)
    return model.sample(n, generator=generator(3))


def fixed(data: Samples):
    return lambda step: (data.x, data.y)


def test_one_step_is_the_plain_trainers():
    """Second route: lr = h d, lambda = decay / d in the general trainer."""
    data, h, decay = samples(), 0.05, 0.3
    net = init.small_odd(12, 20, 0.3, 0.1, generator=generator(4)).replace(sigma_rho=0.02)
    odd = OddTrainer(step=RelativeStep(size=h), decay=decay, noise=ProportionalNoise(ratio=0.2))
    plain = Trainer(lr=Constant(h * 12), regulariser=CubicNorms(decay / 12))
    expected = plain.step(Snapshot(0, net), data.x, data.y).net
    assert torch.allclose(odd.advance(net, data.x, data.y, 0).W, expected.W, atol=1e-12)


def test_adversarial_training_with_zero_radius_is_clean_training():
    data = fixed(samples())
    net = init.small_odd(12, 20, 0.3, 0.1, generator=generator(4))
    clean = OddTrainer(step=RelativeStep(size=0.05), decay=0.1)
    robust = OddTrainer(
        step=RelativeStep(size=0.05), decay=0.1, adversary=Adversary(Steepest(), Ball(2, 0.0))
    )
    assert torch.equal(clean.run(net, data, steps=5)[0].W, robust.run(net, data, steps=5)[0].W)


def test_sampled_noise_averages_to_the_smoothed_pass():
    """The mean over draws of f(rho) is E f; with no noise the two trainers agree exactly."""
    data = samples()
    net = init.small_odd(12, 20, 0.3, 0.1, generator=generator(4))
    silent = ProportionalNoise(ratio=0.0)
    smooth = OddTrainer(step=RelativeStep(size=0.05), decay=0.1, noise=silent)
    noisy = OddTrainer(step=RelativeStep(size=0.05), decay=0.1, noise=silent, sampled_noise=True)
    one = smooth.advance(net, data.x, data.y, 0).W
    other = noisy.advance(net, data.x, data.y, 0, generator=generator()).W
    assert torch.allclose(one, other, atol=1e-12)
    with pytest.raises(ValueError, match="pass a `generator`"):
        noisy.advance(net, data.x, data.y, 0)


def test_trained_bias_follows_the_gradient_of_the_loss():
    data = samples()
    net = init.small_odd(12, 20, 0.3, 0.1, generator=generator(4)).replace(sigma_rho=0.02)

    def loss(threshold: float) -> float:
        f = net.replace(b=torch.tensor(-threshold, dtype=torch.float64))(data.x)
        return float(torch.nn.functional.softplus(-data.y * f).mean())

    h, rate = 0.05, 0.7
    trainer = OddTrainer(
        step=RelativeStep(size=h), decay=0.0, noise=ProportionalNoise(ratio=0.2), bias_rate=rate
    )
    moved = -float(trainer.advance(net, data.x, data.y, 0).b) - 0.1
    slope = (loss(0.1 + 1e-5) - loss(0.1 - 1e-5)) / 2e-5
    assert moved == pytest.approx(-rate * h * slope, rel=1e-4)


def test_non_finite_weights_raise_diverged():
    data = fixed(samples())
    net = init.small_odd(12, 20, 0.3, 0.1, generator=generator(4))
    with pytest.raises(Diverged, match="diverged at step"):
        OddTrainer(step=RelativeStep(size=1e200), decay=1.0).run(net, data, steps=5)


def test_bias_schedules_grow_and_stop():
    grow = GrowingBias(speed=1.0, stop=0.5)
    two = TwoStageBias(fast=1.0, turn=0.2, slow=0.1, stop=0.3)
    b = c = 0.1
    seen = []
    for _ in range(40):
        b, c = grow(b, 0.05), two(c, 0.05)
        seen.append(c)
    assert b == pytest.approx(0.5)
    assert c == pytest.approx(0.3)
    assert seen == sorted(seen)
    assert grow(0.9, 0.05) == 0.9  # never down


def test_papers_noise_shrinks_after_the_first_phase():
    noise = ShrinkingNoise(d=200, first_phase=0.1)
    assert noise(1.0, 0.0) / noise(1.0, 0.1) == pytest.approx(math.sqrt(math.log(200)))
    assert ShrinkingNoise(d=200, first_phase=0.0)(1.0, 0.0) == noise(1.0, 5.0)
    assert ShrinkingNoise(d=10, first_phase=0.1)(1.0, 0.0) == 0


def test_noise_and_measurements_follow_the_rescaled_time():
    """b stays, so h = 0.04 at every step: time 0.1 passes before step 3."""
    net = init.small_odd(12, 20, 0.3, 0.1, generator=generator(4))
    trainer = OddTrainer(
        step=RelativeStep(size=1.0, share=0.4), decay=0.1, noise=ShrinkingNoise(d=200, first_phase=0.1)
    )
    seen = {}
    _, rows = trainer.run(
        net,
        fixed(samples()),
        steps=4,
        observe=lambda step, at: seen.update({step: at.sigma_rho}) or {},
        observe_at=range(5),
    )
    assert [row["time"] for _, row in rows] == pytest.approx([0.0, 0.04, 0.08, 0.12, 0.16])
    assert [seen[step] < seen[0] for step in range(5)] == [False, False, False, True, True]


def test_steps_shrink_near_the_start():
    step = RelativeStep(size=0.06, share=0.8)
    assert step(0.01) == pytest.approx(0.008)
    assert step(1.0) == 0.06


def test_fresh_batches_differ():
    model = SparseCoding.draw(d=12, k=4, generator=generator(2), sigma_x=0.1)
    fresh = FreshBatches(model, 5, generator())
    assert not torch.equal(fresh(0)[0], fresh(1)[0])
