"""The radius at error one half, and the convex problem of the tangent kernel."""

import math
from dataclasses import replace

import pytest
import torch

from karat.core.ball import Ball
from karat.nets import Linear, as_classifier
from karat.papers.purification.experiments.model_classes import (
    BASE,
    ModelClassesResult,
    ModelMeasures,
    _half_radius,
    _kernels,
)
from karat.papers.purification.experiments.predictors import train
from karat.papers.purification.figures.model_classes import draw_model_classes
from karat.study.run import Run

SMALL = replace(BASE, d=20, k=4, batch=128, n_attack=200)


@pytest.fixture
def drawn():
    generator = torch.Generator().manual_seed(0)
    model = SMALL.draw_model(generator)
    return model, model.sample(200, generator=generator, dtype=torch.float32), generator


def test_a_linear_model_has_its_half_radius_at_the_median_distance(drawn):
    model, test, generator = drawn
    w = model.dense_direction.float()
    distance = test.y * (test.x @ w) / w.abs().sum()
    found = _half_radius(SMALL, model, as_classifier(Linear(w)), test, generator)
    # The radii lie a factor two apart: interpolation between them errs by less than a quarter.
    assert found == pytest.approx(float(distance.median()), rel=0.25)


def test_a_model_that_guesses_has_no_half_radius(drawn):
    model, test, generator = drawn
    wrong = as_classifier(Linear(-model.dense_direction.float()))
    assert _half_radius(SMALL, model, wrong, test, generator) is None


def test_radii_are_drawn_where_only_some_seeds_have_one():
    def run(d: int, seed: int, radius: float | None) -> Run:
        measures = {"net": ModelMeasures(accuracy=0.9, robust=0.5, half_radius=radius)}
        return Run(replace(SMALL, d=d), ModelClassesResult(tau=0.1, models=measures), seed, str(d))

    pictures = draw_model_classes([run(20, 0, None), run(20, 1, 0.1), run(30, 0, 0.2), run(30, 1, None)])
    (ax,) = pictures[0].figure.axes
    assert ax.lines[0].get_xydata().tolist() == [[20, 0.1], [30, 0.2]]


def test_two_starts_of_the_kernel_end_with_the_same_outputs(drawn):
    model, test, _ = drawn
    batches = replace(SMALL.batches(model, torch.Generator().manual_seed(1)), n=128)
    outputs = []
    for index in (1, 2):
        # The same gates, once from zero and once from random directions.
        plus = _kernels(SMALL, model, 0.5, torch.Generator().manual_seed(2))[1]
        start = {
            "V": 0.02
            * index
            * torch.randn(plus.start["V"].shape, generator=torch.Generator().manual_seed(index))
        }
        trained = train(
            replace(plus, start=start if index == 2 else plus.start),
            batches,
            Ball(math.inf, 0.02),
            steps=400,
            inner=1,
            generator=torch.Generator().manual_seed(3),
        )
        outputs.append(trained(test.x))
    first, second = outputs
    assert float(torch.corrcoef(torch.stack(outputs))[0, 1]) > 0.97
    assert float((first.sign() == second.sign()).double().mean()) > 0.95


def test_gates_at_the_features_are_those_of_the_dictionary(drawn):
    model, test, generator = drawn
    plus = _kernels(replace(SMALL, gates="features"), model, 0.5, generator)[1]
    assert plus.start["V"].shape == (20, 20)
    # With v_i = w*_i M_i the kernel is the thresholded oracle; where no code is on, zero counts as +1.
    oracle = plus.f({"V": model.w_star.float().unsqueeze(1) * model.M.float().T}, test.x)
    predicted = torch.where(oracle >= 0, 1.0, -1.0)
    assert float((predicted == test.y).double().mean()) > 0.95
