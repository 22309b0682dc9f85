"""Attackers of image training: feasible, effective, equal to known attacks where they should be."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.nets.module import ModuleClassifier
from karat.training.images.attackers import ImageAttacker, LogProbability, named_attacker
from karat.training.images.augmentation import AUGMENTATIONS, Augmentation

PAPER = ("linf:4", "linf:8", "l2:0.5:0.12", "l2:1:0.25")


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def images():
    return torch.rand(6, 3, 8, 8, generator=_generator(4)), torch.tensor([0, 1, 0, 1, 0, 1])


@pytest.fixture
def net():
    net = nn.Sequential(nn.Flatten(), nn.Linear(192, 5), nn.ReLU(), nn.Linear(5, 2))
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=_generator(3)) / 3)
    return net


@pytest.mark.parametrize("name", [*PAPER, "l2:1", "l2:1@5"])
def test_perturbations_stay_in_the_ball_and_raise_the_loss(name, images, net):
    x, labels = images
    attacker = named_attacker(name)
    noise = attacker.noise(x, generator=_generator())
    delta = attacker.perturb(net, x, labels, generator=_generator(1), noise=noise)
    ball = Ball(attacker.p, attacker.tau, (0.0, 1.0) if name.startswith("linf") else None)
    assert bool((ball.excess(delta, x) <= 1e-5).all())
    judge = LogProbability(net, noise)
    assert float(judge.margin(x + delta, labels).mean()) < float(judge.margin(x, labels).mean())


def test_the_papers_attackers_have_the_printed_settings():
    inf = named_attacker("linf:8")
    assert (inf.p, inf.steps, inf.sigma, inf.clip) == (math.inf, 7, 0.0, True)
    assert inf.tau == pytest.approx(8 / 255)
    smooth = named_attacker("l2:1:0.25")
    assert (smooth.p, smooth.tau, smooth.steps, smooth.sigma, smooth.draws) == (2.0, 1.0, 4, 0.25, 2)
    assert smooth.step_ratio == 0.5
    assert named_attacker("linf:8@3").steps == 3


def test_noise_alone_moves_nothing_but_the_noise(images, net):
    x, labels = images
    attacker = named_attacker("noise:0.25")
    moved, truth = attacker.copies(net, x, labels, generator=_generator(5))
    noise = attacker.noise(x, generator=_generator(5))
    assert torch.equal(moved, (x + noise).flatten(0, 1))
    assert truth.tolist() == labels.tolist() * 2


def test_smoothed_value_is_the_log_of_the_mean_probability(images, net):
    x, labels = images
    noise = torch.randn((3, *x.shape), generator=_generator())
    probabilities = torch.stack([torch.softmax(net(x + part), dim=1) for part in noise]).mean(dim=0)
    want = probabilities.gather(1, labels.unsqueeze(1)).squeeze(1).log()
    value, gradient = LogProbability(net, noise).margin_and_gradient(x, labels)
    assert torch.allclose(value, want, atol=1e-5)
    step = torch.zeros_like(x)
    step[:, 0, 2, 3] = 1e-2
    ahead = LogProbability(net, noise).margin(x + step, labels)
    behind = LogProbability(net, noise).margin(x - step, labels)
    assert torch.allclose((ahead - behind) / 2e-2, gradient[:, 0, 2, 3], atol=2e-3)


def test_without_noise_and_for_two_classes_it_is_pgd_on_the_margin(images, net):
    """log p is increasing in the margin of two logits, so both have the same steepest directions."""
    x, labels = images
    attacker = ImageAttacker(p=2.0, tau=0.5, steps=3, step_ratio=0.5)
    ours = attacker.perturb(net, x, labels, generator=_generator())
    pgd = PGD(steps=3, step_ratio=0.5, keep="last")
    theirs = pgd(ModuleClassifier(net), x, labels, Ball(2, 0.5))
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_share_scales_the_radius_and_zero_is_no_attack(images, net):
    x, labels = images
    attacker = replace(named_attacker("l2:1"), random_start=False)
    half = attacker.perturb(net, x, labels, generator=_generator(), share=0.5)
    assert float(half.flatten(1).norm(dim=1).max()) == pytest.approx(0.5, rel=1e-4)
    assert not bool(attacker.perturb(net, x, labels, generator=_generator(), share=0.0).any())


@pytest.mark.parametrize("name", ["l1:3", "linf", "linf:8:2", "l2:-1", "noise:0", "noise:1@3", "l2:a", "@3"])
def test_wrong_names_are_refused(name):
    with pytest.raises(ValueError, match=r"an attacker is linf:RADIUS|`tau` of `Ball`"):
        named_attacker(name)


def test_crops_are_shifts_with_zeros_coming_in():
    x = torch.rand(40, 2, 6, 6, generator=_generator()) + 1
    out = Augmentation(shift=2, flip=False)(x, generator=_generator(1))
    padded = torch.nn.functional.pad(x, (2, 2, 2, 2))
    for image, source in zip(out, padded, strict=True):
        windows = source.unfold(1, 6, 1).unfold(2, 6, 1).permute(1, 2, 0, 3, 4).flatten(0, 1)
        assert any(torch.equal(image, window) for window in windows)
    assert not torch.equal(out, x)


def test_flips_mirror_about_half_of_the_images():
    """Binomial(400, 1/2): more than 60 away from 200 has probability below 1e-8."""
    x = torch.rand(400, 1, 2, 3, generator=_generator())
    out = Augmentation(shift=0)(x, generator=_generator(1))
    same = (out == x).flatten(1).all(dim=1)
    mirrored = (out == x.flip(3)).flatten(1).all(dim=1)
    assert bool((same | mirrored).all())
    assert abs(int(mirrored.sum()) - 200) < 60


def test_equal_generators_augment_equally():
    x = torch.rand(5, 3, 8, 8, generator=_generator())
    for augmentation in AUGMENTATIONS.values():
        if augmentation is not None:
            first, second = (augmentation(x, generator=_generator(2)) for _ in range(2))
            assert torch.equal(first, second)
