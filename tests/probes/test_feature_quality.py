"""The linear program of the best classifier against cases with known answers."""

import itertools
import math

import numpy as np
import pytest
import torch

from karat.probes.feature_quality import smallest_hinge, smallest_weights


def test_separable_features_have_loss_zero_and_predict_the_labels():
    x = torch.linspace(-1, 1, 40, dtype=torch.float64)
    y = torch.where(x > 0.2, 1.0, -1.0)
    best = smallest_hinge(x[:, None], y)
    assert best.loss == pytest.approx(0, abs=1e-9)
    assert (np.sign(best.output(x[:, None])) == y.numpy()).all()


def test_constant_features_give_the_loss_of_the_best_constant():
    y = torch.tensor([1.0, 1.0, 1.0, -1.0])
    best = smallest_hinge(torch.full((4, 2), 0.3), y)
    assert best.rank == 0
    assert best.loss == pytest.approx(0.5)  # the constant 1 pays 2 on the one negative sample


def test_the_loss_does_not_depend_on_scale_and_shift_of_features():
    generator = torch.Generator().manual_seed(0)
    H = torch.randn(60, 4, generator=generator, dtype=torch.float64)
    y = torch.sign(torch.randn(60, generator=generator, dtype=torch.float64))
    scale = torch.tensor([1.0, 1e-9, 1e6, 3.0], dtype=torch.float64)
    want = smallest_hinge(H, y).loss
    assert smallest_hinge(H * scale + 1e-3 * scale, y).loss == pytest.approx(want, abs=1e-6)


def test_no_other_classifier_does_better():
    generator = torch.Generator().manual_seed(1)
    H = torch.randn(80, 3, generator=generator, dtype=torch.float64)
    y = torch.sign(H[:, 0] + torch.randn(80, generator=generator, dtype=torch.float64))
    best = smallest_hinge(H, y)
    for _ in range(200):
        a = torch.randn(3, generator=generator, dtype=torch.float64) * 2
        c = float(torch.randn((), generator=generator))
        other = float((1 - y * (H @ a + c)).clamp_min(0).mean())
        assert other >= best.loss - 1e-9


def test_more_features_never_raise_the_loss():
    generator = torch.Generator().manual_seed(2)
    H = torch.randn(60, 6, generator=generator, dtype=torch.float64)
    y = torch.sign(torch.randn(60, generator=generator, dtype=torch.float64))
    losses = [smallest_hinge(H[:, :k], y).loss for k in range(1, 7)]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(losses))


def test_smallest_weights_of_one_feature_is_one_over_its_smallest_margin():
    x = torch.tensor([[0.5], [2.0], [-0.25]], dtype=torch.float64)
    assert smallest_weights(x, torch.tensor([1.0, 1.0, -1.0])) == pytest.approx(4.0)
    assert smallest_weights(x, torch.tensor([1.0, -1.0, -1.0])) == math.inf
