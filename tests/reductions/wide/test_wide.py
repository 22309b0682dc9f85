"""One hidden layer in few coordinates: equal to karat's deep net, drawn starts in law, and its size."""

import math

import pytest
import torch
from scipy.stats import ks_2samp

from karat.core.losses import Logistic
from karat.nets.init import deep_gaussian
from karat.reductions.wide import Problem, draw_start, lift, reduce, step
from karat.training import frobenius_ball
from karat.training.surrogate import Sets, SurrogateDescent, worst

FALSE_ALARM = 1e-4


def draw_sets(n=3, K=4, d=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.nn.functional.normalize(torch.randn(n, K, d, generator=generator, dtype=torch.float64), dim=2)
    return Sets(x, torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)[:n])


def follow(state, steps):
    losses = []
    for _ in range(steps):
        state = step(state)
        losses.append(state.loss)
    return state, losses


def test_forty_projected_updates_are_those_of_the_deep_net():
    m, sets, loss = 150, draw_sets(), Logistic()
    net = deep_gaussian(4, m, 1, generator=torch.Generator().manual_seed(1))
    radius = 1 / math.sqrt(m)
    descent = SurrogateDescent(
        lr=2 / m, trainable=("W1",), loss=loss, projection=frobenius_ball(net, radius, ("W1",))
    )
    problem = Problem(descent, net, sets, lambda sets: worst(loss))
    full, full_losses = descent.run(net, sets, worst(loss), steps=40)
    state, losses = follow(reduce(problem), 40)
    assert losses == pytest.approx(full_losses, abs=1e-12)
    lifted = lift(state, problem).layers[0]
    assert torch.allclose(lifted, full.layers[0], atol=1e-13)
    # The projection has acted: both ends lie on the sphere around the start.
    assert float((lifted - net.layers[0]).norm()) == pytest.approx(radius)
    assert torch.equal(lift(reduce(problem), problem).layers[0], net.layers[0])


def drawn_losses(seed, m, sets, descent, radius):
    state = draw_start(
        m,
        sets,
        descent,
        weight_radius=radius,
        pick=lambda sets: worst(Logistic()),
        generator=torch.Generator().manual_seed(seed),
    )
    return follow(state, 5)[1]


def full_losses(seed, m, sets, descent, radius):
    net = deep_gaussian(sets.x.shape[2], m, 1, generator=torch.Generator().manual_seed(10_000 + seed))
    ball = frobenius_ball(net, radius, ("W1",))
    rule = SurrogateDescent(lr=descent.lr, trainable=("W1",), projection=ball)
    return rule.run(net, sets, worst(Logistic()), steps=5)[1]


def test_drawn_starts_train_as_full_ones_do_in_law():
    """Losses at the start and after four updates of 400 nets each: two tests of Kolmogorov and Smirnov."""
    m, sets, radius = 8, draw_sets(), 0.5
    descent = SurrogateDescent(lr=0.2)
    ours, theirs = (
        torch.tensor([draw(seed, m, sets, descent, radius) for seed in range(400)])
        for draw in (drawn_losses, full_losses)
    )
    for update in (0, 4):
        assert ks_2samp(ours[:, update], theirs[:, update]).pvalue > FALSE_ALARM / 2
    # So many nets would see a start of 1.3 times its standard deviation.
    wide = 1.3 * ours[:, 0] - 0.3 * ours[:, 0].mean()
    assert ks_2samp(wide + 0.3, theirs[:, 0]).pvalue < FALSE_ALARM


def test_inputs_of_a_drawn_start_have_the_lengths_of_a_gaussian_matrix():
    """|A x|^2 is 2/m times a chi-squared with m degrees of freedom: a z-test of its mean at 4.5 sigma."""
    m, draws, sets = 12, 500, draw_sets(n=1, K=1)
    squares = [
        float(
            draw_start(
                m,
                sets,
                SurrogateDescent(lr=1.0),
                weight_radius=None,
                pick=lambda sets: worst(Logistic()),
                generator=torch.Generator().manual_seed(seed),
            )
            .sets.x.square()
            .sum()
        )
        for seed in range(draws)
    ]
    assert sum(squares) / draws == pytest.approx(2, abs=4.5 * math.sqrt(8 / m / draws))


def test_a_drawn_state_holds_m_times_d_numbers():
    """The width at which a matrix of m x m numbers would take a terabyte."""
    m, sets = 400_000, draw_sets()
    state = draw_start(
        m,
        sets,
        SurrogateDescent(lr=1e-7),
        weight_radius=1e-3,
        pick=lambda sets: worst(Logistic()),
        generator=torch.Generator().manual_seed(0),
    )
    assert state.net.W.numel() + state.net.a.numel() == m * 5
    assert math.isfinite(step(state).loss)


def test_a_layer_narrower_than_its_input_cannot_be_drawn():
    with pytest.raises(ValueError, match="`m` of `draw_start` must be a whole number >= 4, got 3"):
        draw_start(
            3,
            draw_sets(),
            SurrogateDescent(lr=1.0),
            weight_radius=None,
            pick=lambda sets: worst(Logistic()),
            generator=torch.Generator(),
        )
