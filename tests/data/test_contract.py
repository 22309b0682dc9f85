"""What every data model promises."""

from dataclasses import FrozenInstanceError, fields
from typing import get_type_hints

import pytest
import torch

from karat import data
from karat.data import (
    DataModel,
    HypercubeMixture,
    NoisyMixture,
    PatternDictionary,
    Samples,
    SparseCoding,
    UnitSphere,
    hidden_representation_law,
    interval_law,
    parity_law,
)

BUILDERS = {
    "noisy_mixture": lambda g: NoisyMixture(d=12, signal_norm=2.0, flip_rate=0.2),
    "noisy_mixture-correlated": lambda g: NoisyMixture(
        d=5, signal_norm=2.0, flip_rate=0.2, flips="correlated"
    ),
    "noisy_mixture-boundary": lambda g: NoisyMixture(d=5, signal_norm=2.0, flip_rate=0.2, flips="boundary"),
    "sparse_coding": lambda g: SparseCoding.draw(d=32, k=9, generator=g, sigma_x=0.2, sigma_spike=0.2),
    "sparse_coding-wide": lambda g: SparseCoding.draw(d=20, D=40, k=9, generator=g, dictionary="incoherent"),
    "pattern_dictionary": lambda g: PatternDictionary.draw(parity_law(3), d=15, D=10, generator=g),
    "pattern_dictionary-interval": lambda g: PatternDictionary.draw(
        interval_law(6, low=3, high=5), d=15, D=10, generator=g, sigma_zeta=0.3, negative_rate=0.8
    ),
    "pattern_dictionary-codes": lambda g: PatternDictionary.draw(
        hidden_representation_law(5, codes_per_label=3, generator=g),
        d=15,
        D=20,
        generator=g,
        dictionary="incoherent",
    ),
    "hypercube": lambda g: HypercubeMixture.draw(d=9, k=3, sigma_r=0.5, generator=g),
    "sphere": lambda g: UnitSphere(d=6),
    "sphere-halfspace": lambda g: UnitSphere(d=6, labels="halfspace", margin=0.1),
}


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(params=BUILDERS)
def model(request):
    return BUILDERS[request.param](seeded(1))


def returned(function):
    """What a function says that it returns."""
    return get_type_hints(function).get("return") if function else None


def tensors(samples):
    values = {field.name: getattr(samples, field.name) for field in fields(samples)}
    return {name: value for name, value in values.items() if value is not None}


def test_every_exported_model_is_tested_here():
    built = {type(build(seeded(0))) for build in BUILDERS.values()}
    exported = [getattr(data, name) for name in data.__all__]
    models = {kind for kind in exported if returned(getattr(kind, "sample", None)) is Samples}
    assert built == models - {DataModel}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 57])
def test_a_sample_has_n_rows_of_dimension_d_in_the_asked_type(model, n, dtype):
    samples = model.sample(n, generator=seeded(2), dtype=dtype)
    assert len(samples) == n
    assert samples.x.shape == (n, model.d)
    assert samples.d == model.d
    assert {samples.x.dtype, samples.y.dtype, samples.y_clean.dtype} == {dtype}
    assert samples.flipped.dtype == torch.bool
    assert samples.z is None or (samples.z.dtype == dtype and samples.z.shape[0] == n)
    assert bool(torch.isfinite(samples.x).all())


def test_flips_are_where_labels_differ(model):
    samples = model.sample(200, generator=seeded(3))
    assert bool((samples.y == samples.y_clean * torch.where(samples.flipped, -1.0, 1.0)).all())
    assert set(samples.y.tolist()) == {-1.0, 1.0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_seed_gives_the_same_sample(model, dtype):
    first, second = (tensors(model.sample(40, generator=seeded(4), dtype=dtype)) for _ in range(2))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_same_seed_gives_the_same_structure():
    for build in BUILDERS.values():
        first, second = build(seeded(5)), build(seeded(5))
        assert torch.equal(first.sample(3, generator=seeded(6)).x, second.sample(3, generator=seeded(6)).x)


def test_sampling_leaves_the_global_generator_alone(model):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = model.sample(20, generator=seeded(7)).x
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(1)
    assert torch.equal(first, model.sample(20, generator=seeded(7)).x)


def test_successive_samples_of_one_generator_are_uncorrelated(model, close_to_mean):
    generator = seeded(8)
    first, second = model.sample(3000, generator=generator).x, model.sample(3000, generator=generator).x
    assert not torch.equal(first, second)
    mean = 0.5 * (first.mean(dim=0) + second.mean(dim=0))
    close_to_mean((first - mean) * (second - mean), torch.zeros(model.d))


def test_sampling_does_not_change_the_model(model):
    before = {field.name: getattr(model, field.name) for field in fields(model)}
    copies = {name: value.clone() for name, value in before.items() if isinstance(value, torch.Tensor)}
    samples = model.sample(5, generator=seeded(9))
    samples.x.zero_()
    if samples.z is not None:
        samples.z.zero_()
    assert all(torch.equal(copies[name], getattr(model, name)) for name in copies)


def test_writing_to_the_inputs_leaves_the_code_alone(model):
    samples = model.sample(5, generator=seeded(10))
    if samples.z is not None:
        z = samples.z.clone()
        samples.x.add_(1.0)
        assert torch.equal(z, samples.z)


def test_models_are_frozen_and_keyword_only(model):
    name = fields(model)[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(model, name, None)
    with pytest.raises(TypeError):
        type(model)(getattr(model, name))


def test_an_empty_sample_is_refused(model):
    with pytest.raises(ValueError, match=r"^`n` of `\w+\.sample` must be a whole number >= 1, got 0\.$"):
        model.sample(0, generator=seeded(0))
