"""The sparse code, its label and its noise."""

import math
import re

import pytest
import torch

from karat.core.checks import ShapeError
from karat.data import DICTIONARIES, MULTI_SCALE, SparseCode, SparseCoding, draw_w_star

CODES = {
    "default": SparseCode(k=16, D=64),
    "two levels": SparseCode(k=9, D=30, small_spread=1.0),
    "multi-scale": SparseCode(k=16, D=64, scales=MULTI_SCALE),
}
codes = pytest.mark.parametrize("code", CODES.values(), ids=CODES)


@codes
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_code_entries_are_zero_or_between_the_smallest_and_one(code, dtype, generator):
    size = code.sample(2000, generator=generator, dtype=dtype).abs()
    nonzero = size[size > 0].double()
    slack = 1 + torch.finfo(dtype).eps
    assert float(nonzero.min()) >= 1 / math.sqrt(code.k) / slack
    assert float(nonzero.max()) <= 1


@codes
def test_code_moments_match_closed_form(code, generator, close_to_mean):
    z = code.sample(20_000, generator=generator)
    close_to_mean(z, torch.zeros(code.D))
    close_to_mean(z.square().mean(dim=1), code.second_moment)
    close_to_mean((z != 0).sum(dim=1), code.expected_support)
    close_to_mean(z[:, 0] * z[:, 1], 0.0)


def test_level_frequencies_match_their_probabilities(generator, follows):
    code = CODES["multi-scale"]
    size = code.sample(4000, generator=generator).abs().flatten()
    small = (size >= 0.25 - 1e-12) & (size <= 0.375 + 1e-12)
    levels = torch.full(size.shape, 4)
    levels[small] = 1
    # The scale k^-0.314 = 0.419 lies above the small range [0.25, 0.375] at k = 16.
    for level, value in ((0, 1.0), (2, 16**-0.314), (3, 16**-0.123)):
        levels[(size - value).abs() < 1e-12] = level
    levels[size == 0] = 5
    assert not (levels == 4).any()
    probability = torch.cat([code.probability, torch.zeros(1), 1 - code.probability.sum()[None]])
    follows(levels, probability)
    assert code.probability.tolist() == pytest.approx(
        [0.2 / 64, 0.15 * 16 / 64, 16**0.628 / 64, 16**0.0888 / 64]
    )


def test_small_entries_are_uniform_on_their_range(generator, follows):
    size = CODES["default"].sample(4000, generator=generator).abs()
    small = size[(size > 0) & (size < 1)]
    bins = ((small * 4 - 1) / 0.5 * 10).long().clamp(0, 9)
    follows(bins, torch.full((10,), 0.1, dtype=torch.float64))


def test_pairs_of_entries_follow_the_exact_product_law(generator, follows):
    code = SparseCode(k=2, D=2, small_spread=1.0, large_rate=0.4, small_rate=0.3)
    z = code.sample(40_000, generator=generator)
    values = torch.tensor([-1.0, -(0.5**0.5), 0.0, 0.5**0.5, 1.0], dtype=torch.float64)
    single = torch.tensor([0.1, 0.15, 0.5, 0.15, 0.1], dtype=torch.float64)
    place = (z[:, :, None] - values).abs().argmin(dim=2)
    assert torch.allclose(z, values[place])
    follows(5 * place[:, 0] + place[:, 1], torch.outer(single, single).flatten())


def test_support_grows_linearly_with_k():
    support = [SparseCode(k=k, D=10_000, small_spread=1.0).expected_support for k in (10, 100, 1000)]
    assert support == pytest.approx([0.2 + 0.15 * k for k in (10, 100, 1000)])


@pytest.mark.parametrize("dictionary", DICTIONARIES)
def test_without_noise_the_input_is_m_times_the_code(dictionary, generator):
    model = SparseCoding.draw(d=16, k=4, generator=generator, dictionary=dictionary)
    samples = model.sample(50, generator=generator)
    assert torch.allclose(samples.x, samples.z @ model.M.T)
    if dictionary != "incoherent":
        assert torch.allclose(samples.x @ model.M, samples.z)


def test_identity_dictionary_without_noise_shows_the_code(generator):
    model = SparseCoding.draw(d=12, k=4, generator=generator, dictionary="identity")
    samples = model.sample(50, generator=generator)
    assert torch.equal(samples.x, samples.z)
    assert torch.equal(model.M, torch.eye(12, dtype=model.M.dtype))


def test_labels_are_signs_of_the_score(generator):
    model = SparseCoding.draw(d=64, k=16, generator=generator, w_star="spread", sigma_x=0.3)
    samples = model.sample(2000, generator=generator)
    score = samples.z @ model.w_star
    decided = score.abs() > 1e-9
    assert torch.equal(samples.y[decided], score[decided].sign())
    assert not samples.flipped.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ties_have_label_plus_one(dtype, generator):
    # Two levels and w* = 1: sqrt(k) z is integer, so the score can be counted exactly.
    model = SparseCoding.draw(
        d=90, k=7, generator=generator, small_spread=1.0, small_rate=1.0, large_rate=1e-9, w_star="ones"
    )
    samples = model.sample(5000, generator=generator, dtype=dtype)
    count = samples.z.sign().sum(dim=1)
    assert (count == 0).sum() > 100
    assert torch.equal(samples.y, torch.where(count >= 0, 1.0, -1.0).to(dtype))


def test_score_variance_is_the_second_moment_of_the_score(generator, close_to_mean):
    model = SparseCoding.draw(d=64, k=16, generator=generator, w_star="spread", scales=MULTI_SCALE)
    samples = model.sample(20_000, generator=generator)
    close_to_mean((samples.z @ model.w_star) ** 2, model.score_variance)


def test_gaussian_noise_has_variance_sigma_squared_over_d(generator, close_to_mean):
    model = SparseCoding.draw(d=25, k=4, generator=generator, sigma_x=0.7)
    samples = model.sample(20_000, generator=generator)
    noise = samples.x - samples.z @ model.M.T
    close_to_mean(noise, torch.zeros(25))
    close_to_mean(noise**2, torch.full((25,), 0.49 / 25))


def test_spikes_have_the_largest_allowed_size_and_the_asked_variance(generator, close_to_mean):
    model = SparseCoding.draw(d=32, k=9, generator=generator, sigma_spike=0.6)
    samples = model.sample(20_000, generator=generator)
    spikes = (samples.x - samples.z @ model.M.T) @ model.M
    size = 9**-0.501
    quiet = spikes.abs() < 1e-9
    assert torch.allclose(spikes[~quiet].abs(), torch.tensor(size, dtype=torch.float64))
    assert size < 1 / math.sqrt(9)
    close_to_mean(spikes, torch.zeros(32))
    close_to_mean(spikes**2, torch.full((32,), 0.36 / 32))


def test_dense_direction_is_m_times_w_star(generator):
    model = SparseCoding.draw(d=16, k=4, generator=generator)
    assert torch.allclose(model.dense_direction, model.M @ model.w_star)
    assert float(model.dense_direction.norm()) == pytest.approx(4)


def test_w_star_kinds(generator):
    assert draw_w_star("ones", 5, generator=generator).tolist() == [1] * 5
    signs = draw_w_star("signs", 1000, generator=generator)
    assert set(signs.tolist()) == {-1, 1}
    size = draw_w_star("spread", 1000, generator=generator).abs()
    assert 0.7 <= float(size.min()) < 0.75
    assert 1.25 < float(size.max()) <= 1.3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": 0}, "`d` of `SparseCoding` must be a whole number >= 1, got 0."),
        ({"k": 9}, "`k` of `SparseCoding` must be at most `D` = 8, got 9."),
        ({"k": 0}, "`k` of `SparseCoding` must be a whole number >= 1, got 0."),
        ({"sigma_x": -0.1}, "`sigma_x` of `SparseCoding` must be a finite number >= 0, got -0.1."),
        (
            {"sigma_spike": 9.0},
            "`sigma_spike` of `SparseCoding` must be at most 1.41 so that spikes have probability at most 1, "
            "got 9.0.",
        ),
        (
            {"w_star": "zeros"},
            "`w_star` of `draw_w_star` must be one of 'ones', 'signs', 'spread'; got 'zeros'.",
        ),
        (
            {"small_spread": 3.0},
            "`small_spread` of `SparseCode` must be at most sqrt(k) = 2 so that |z_i| <= 1, got 3.0.",
        ),
        ({"large_rate": 0.0}, "`large_rate` of `SparseCode` must be a finite number > 0, got 0.0."),
        (
            {"scales": ((0.2, 0.5),)},
            "`scales` of `SparseCode` must hold pairs (a, r) with 0 <= a <= 1/2 and r <= 2a, got (0.2, 0.5).",
        ),
        (
            {"small_rate": 3.0},
            "`k` of `SparseCode` is too large for these rates: P(z_i != 0) would be 1.52 > 1; "
            "lower `small_rate` or raise `D`.",
        ),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(change, message, generator):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        SparseCoding.draw(**{"d": 8, "k": 4, "generator": generator} | change)


def test_a_dictionary_of_another_width_is_refused():
    with pytest.raises(ShapeError, match=r"`M` must have shape \(\*, 8\), got \(8, 9\)\."):
        SparseCoding(code=SparseCode(k=4, D=8), M=torch.ones(8, 9), w_star=torch.ones(8))
