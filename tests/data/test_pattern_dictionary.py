"""Pattern-dictionary inputs: normalisation, labels, noise."""

import math
import re

import pytest
import torch

from karat.core.checks import ShapeError
from karat.data import (
    Normaliser,
    PatternDictionary,
    codebook_law,
    hidden_representation_law,
    independent_law,
    interval_law,
    majority_law,
    parity_law,
)

MODELS = {
    "parity": lambda g: PatternDictionary.draw(parity_law(3), d=12, D=8, generator=g),
    "parity p_o": lambda g: PatternDictionary.draw(parity_law(3, p_o=0.2), d=12, D=8, generator=g),
    "imbalanced": lambda g: PatternDictionary.draw(
        majority_law(3), d=12, D=8, generator=g, negative_rate=0.8
    ),
    "noisy": lambda g: PatternDictionary.draw(
        interval_law(4, low=2, high=3), d=12, D=8, generator=g, sigma_zeta=0.5
    ),
    "incoherent": lambda g: PatternDictionary.draw(
        parity_law(5, p_o=0.3), d=6, D=10, generator=g, dictionary="incoherent", sigma_zeta=0.2
    ),
    "codes": lambda g: PatternDictionary.draw(
        hidden_representation_law(4, codes_per_label=3, generator=g), d=12, D=8, generator=g
    ),
    "identity": lambda g: PatternDictionary.draw(parity_law(3), d=8, D=8, generator=g, dictionary="identity"),
}
every_model = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)


@every_model
def test_normalised_inputs_have_mean_zero_and_total_variance_one(build, generator, close_to_mean):
    model = build(generator)
    x = model.sample(40_000, generator=generator).x
    close_to_mean(x, torch.zeros(model.d))
    close_to_mean(x.square().sum(dim=1), 1.0)


@every_model
def test_class_mean_difference_is_what_samples_show(build, generator, close_to_mean):
    model = build(generator)
    samples = model.sample(40_000, generator=generator)
    positive, negative = (model.law.class_probability(v) for v in (1, -1))
    weight = torch.where(samples.y > 0, 0.5 / positive, -0.5 / negative)
    close_to_mean(weight[:, None] * samples.x, model.class_mean_difference)


@every_model
def test_normalised_samples_are_normalised_raw_samples(build, generator):
    model = build(generator)
    raw = PatternDictionary(M=model.M, A=model.A, law=model.law, sigma_zeta=model.sigma_zeta, normalise=False)
    first, second = (m.sample(100, generator=torch.Generator().manual_seed(3)) for m in (model, raw))
    assert torch.equal(first.z, second.z)
    assert torch.allclose(first.x, model.normaliser(second.x))
    assert torch.allclose(raw.class_mean_difference / model.scale, model.class_mean_difference)


def test_raw_inputs_without_noise_are_sums_of_present_patterns(generator):
    model = PatternDictionary.draw(parity_law(3), d=12, D=8, generator=generator, normalise=False)
    samples = model.sample(200, generator=generator)
    assert set(samples.z.unique().tolist()) == {0, 1}
    assert torch.allclose(samples.x, samples.z @ model.M.T)


@pytest.mark.parametrize("name", ["parity", "parity p_o", "identity"])
def test_parity_labels_count_the_relevant_patterns(name, generator):
    model = MODELS[name](generator)
    samples = model.sample(3000, generator=generator)
    odd = samples.z[:, model.A].sum(dim=1) % 2 == 1
    assert torch.equal(samples.y > 0, odd)


def test_the_agreeing_component_has_all_or_no_relevant_patterns(generator):
    model = MODELS["parity"](generator)
    samples = model.sample(3000, generator=generator)
    count = samples.z[:, model.A].sum(dim=1)
    assert set(count[samples.component == 1].tolist()) == {0, 3}
    assert set(count[samples.component == 0].tolist()) == {0, 1, 2, 3}


def test_codes_sit_on_the_relevant_places(generator):
    model = MODELS["codes"](generator)
    samples = model.sample(500, generator=generator)
    assert torch.equal(samples.z[:, model.A], model.law.codes[samples.component])


def test_orthonormal_scale_is_the_sum_of_pattern_variances_plus_noise(generator):
    model = PatternDictionary.draw(
        independent_law(3, {2, 3}, 0.7, 0.4), d=12, D=8, generator=generator, sigma_zeta=0.5
    )
    assert model.scale**2 == pytest.approx(3 * 0.21 + 5 * 0.24 + 12 * 0.25)


def test_printed_parity_setting_has_scale_five_and_correlation_one_quarter(generator):
    model = PatternDictionary.draw(parity_law(5), d=100, D=100, generator=generator)
    assert model.scale == pytest.approx(5)
    assert model.label_corr == pytest.approx(0.25)


def test_orthonormal_dictionaries_let_the_patterns_be_read_off(generator):
    model = MODELS["parity"](generator)
    samples = model.sample(50, generator=generator)
    phi = (samples.z - model.pattern_mean) / model.scale
    assert torch.allclose(samples.x @ model.M, phi)
    assert torch.allclose(model.relevant_sum @ model.M, torch.zeros(8).double().index_fill(0, model.A, 1.0))


def test_class_mean_difference_of_parity_points_to_the_relevant_sum(generator):
    model = MODELS["parity"](generator)
    expected = model.label_corr * model.relevant_sum / model.scale
    assert torch.allclose(model.class_mean_difference, expected)


def test_one_pattern_gives_a_mixture_of_two_gaussians(generator, close_to_mean):
    v = torch.tensor([[0.6], [0.8]], dtype=torch.float64)
    model = PatternDictionary(
        M=v, A=torch.tensor([0]), law=independent_law(1, {1}, 0.5, 0.0), sigma_zeta=0.3, normalise=False
    )
    samples = model.sample(20_000, generator=generator)
    noise = samples.x - (1 + samples.y[:, None]) / 2 * v.T
    close_to_mean(noise[:, :, None] * noise[:, None, :], 0.09 * torch.eye(2))


def test_negative_rate_sets_the_share_of_negative_labels(generator, close_to_mean):
    model = MODELS["imbalanced"](generator)
    close_to_mean(model.sample(10_000, generator=generator).y < 0, 0.8)


def test_a_fitted_normaliser_gives_its_own_sample_mean_zero_and_total_variance_one(generator):
    model = PatternDictionary.draw(parity_law(3), d=12, D=8, generator=generator, normalise=False)
    train, test = (model.sample(n, generator=generator) for n in (5000, 300))
    normaliser = Normaliser.fit(train.x)
    x = normaliser.apply(train).x
    assert torch.allclose(x.mean(dim=0), torch.zeros(12, dtype=torch.float64), atol=1e-12)
    assert float(x.square().sum(dim=1).mean()) == pytest.approx(1)
    assert torch.allclose(normaliser.apply(test).x, (test.x - train.x.mean(dim=0)) / normaliser.scale)
    # 5000 points: standard error of the scale below 1 %, so 5 % is beyond five of them.
    assert normaliser.scale == pytest.approx(model.scale, rel=0.05)


def test_a_constant_sample_cannot_be_normalised():
    with pytest.raises(ValueError, match=r"`x` of `Normaliser\.fit` must hold at least two different points"):
        Normaliser.fit(torch.ones(4, 3))


def test_a_normaliser_refuses_inputs_of_another_dimension():
    with pytest.raises(ShapeError, match=r"`x` must have shape \(\*, 3\), got \(2, 4\)\."):
        Normaliser(mean=torch.zeros(3), scale=1.0)(torch.zeros(2, 4))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda g: PatternDictionary.draw(parity_law(5), d=8, D=4, generator=g),
            "`k` of `PatternDictionary` must be at most `D` = 4, got 5.",
        ),
        (
            lambda g: PatternDictionary.draw(parity_law(3), d=0, D=4, generator=g),
            "`d` of `PatternDictionary` must be a whole number >= 1, got 0.",
        ),
        (
            lambda g: PatternDictionary.draw(parity_law(3), d=4, D=8, generator=g),
            "`D` of `orthonormal` must be at most `d` = 4, got 8.",
        ),
        (
            lambda g: PatternDictionary.draw(parity_law(3), d=8, D=8, generator=g, sigma_zeta=-1.0),
            "`sigma_zeta` of `PatternDictionary` must be a finite number >= 0, got -1.0.",
        ),
        (
            lambda g: PatternDictionary(M=torch.eye(4), A=torch.tensor([0, 1, 4]), law=parity_law(3)),
            "`A` of `PatternDictionary` must hold 3 different places in 0..3, got [0, 1, 4].",
        ),
        (
            lambda g: PatternDictionary(M=torch.eye(4), A=torch.tensor([0, 1, 1]), law=parity_law(3)),
            "`A` of `PatternDictionary` must hold 3 different places in 0..3, got [0, 1, 1].",
        ),
        (
            lambda g: PatternDictionary.draw(
                codebook_law(torch.ones(1, 2), torch.ones(1), 0.0), d=4, D=4, generator=g
            ),
            "`law` of `PatternDictionary` must have a positive variance to be normalised.",
        ),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(build, message, generator):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(generator)


def test_the_scale_of_a_wide_incoherent_dictionary_uses_the_full_covariance(generator):
    model = MODELS["incoherent"](generator)
    variances = model.law.moments(model.D)[1].diagonal().sum()
    assert not math.isclose(model.scale**2, float(variances) + model.d * 0.04, rel_tol=1e-3)
