"""Single neurons near initialisation: the same steps as the whole net's, exact expectations, and limits."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from karat.data import SparseCode
from karat.nets import OddTwoLayer
from karat.papers.purification.bounds_phase import early_tail
from karat.papers.purification.checks.phase_one import CHECKS
from karat.papers.purification.experiments.decoupled import (
    activity,
    census,
    field_growth,
    lead_growth,
    move,
    pair_gate,
    projections,
)
from karat.papers.purification.experiments.first_phase import (
    NODES,
    Phase,
    clock,
    draw_inputs,
    draw_neurons,
    sparse_codes,
)
from karat.papers.purification.experiments.phase_one import COUPLED, run
from karat.papers.purification.experiments.phase_one_config import PhaseConfig
from karat.papers.purification.experiments.phase_one_measures import (
    MULTIPLES,
    measure,
    outgrowing,
    ticket_sets,
)
from karat.training.odd import FrozenBias, OddTrainer, RelativeStep

SMALL = PhaseConfig(d=2000, k=8, sure=4, wrong=2, typical=3, n=200, n_test=100)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gates(u: np.ndarray, b: float, sigma: float) -> np.ndarray:
    return ndtr((u - b) / sigma) + ndtr((-u - b) / sigma)


def test_a_step_of_the_whole_net_is_one_of_each_neuron():
    """At d = 60 with 200 pairs and tiny weights; f is of order 1e-9, and so is what l' = 1/2 leaves out."""
    d, m, n, scale, h = 60, 200, 400, 1e-9, 1e-10
    code = SparseCode(k=7, D=d)
    z = code.sample(n, generator=generator(1))
    y = torch.where(z.sum(dim=1) >= 0, 1.0, -1.0).double()
    W = scale * torch.randn(m, d, generator=generator(2), dtype=torch.float64)
    b, sigma = 1.0 * scale, 0.3 * scale
    net = OddTwoLayer(W=W, b=torch.tensor(-b, dtype=torch.float64), sigma_rho=sigma)
    trainer = OddTrainer(step=RelativeStep(size=h), decay=0.0, bias=FrozenBias())
    after = trainer.advance(net, z, y, 0)
    moved = (after.W - W).numpy() / h
    growth = gates((z @ W.T).numpy(), b, sigma).T @ (y[:, None] * z).numpy() * d / (2 * n)
    assert np.abs(growth).max() > 0.1
    f = float(net(z).abs().max())
    # |l' - 1/2| <= |f|/4, so that every coordinate is right up to |f|/2 of what all gates open would give.
    most = d * float(z.abs().mean(dim=0).max())
    assert np.abs(moved - growth).max() <= f / 2 * most + 1e-9 * np.abs(growth).max()


def all_codes(d: int, code: SparseCode) -> tuple[np.ndarray, np.ndarray]:
    """Every code of a law with two levels and its probability."""
    large, small = (float(p) for p in code.probability)
    sizes = [0.0, 1.0, -1.0, float(code.size[1]), -float(code.size[1])]
    odds = [1 - large - small, large / 2, large / 2, small / 2, small / 2]
    z = np.array(list(itertools.product(sizes, repeat=d)))
    p = np.array([math.prod(row) for row in itertools.product(odds, repeat=d)])
    return z, p


def test_summing_over_a_code_gives_the_exact_expectation():
    """d = 5 with every code enumerated: the growth of each coordinate against its definition."""
    d, b, sigma = 5, 1.0, 0.4
    code = SparseCode(k=4, D=d, large_rate=0.5, small_rate=0.3, small_spread=1.0)
    rates = (0.5, 0.3 * 4)
    w = np.array([1.6, -0.7, 0.9, 0.33, -1.21])
    z, p = all_codes(d, code)
    u, s = z @ w, z.sum(axis=1)
    # Ties <w*, z> = 0 have y = +1 whatever the sign of z, which the symmetric formula cannot see.
    y = np.where(np.abs(s) < 1e-9, 0.0, np.sign(s))
    exact = d * (p * y * gates(u, b, sigma)) @ z / 2
    rest, odds = all_codes(d - 1, code)
    size = float(code.size[1])

    def estimate(j: int) -> float:
        others = np.delete(w, j)
        total = 0.0
        for level, rate in ((1.0, rates[0]), (size, rates[1])):
            push = rest.sum(axis=1) + level
            sign = np.where(np.abs(push) < 1e-9, 0.0, np.sign(push))
            total += rate * level / 2 * float(odds @ (sign * gates(rest @ others + w[j] * level, b, sigma)))
        return total

    assert [estimate(j) for j in range(d)] == pytest.approx(exact, abs=1e-12)


def test_compiled_growth_is_the_mean_over_its_inputs():
    rng = np.random.default_rng(0)
    n, b, sigma, rates, d = 60, 1.0, np.array([0.3]), (0.2, 0.9), 50.0
    u, s = rng.normal(size=(1, n)), rng.normal(size=n)
    small, lead, node = rng.uniform(0.2, 0.4, (2, n)), np.array([1.4]), 0.8
    out, field, found = np.zeros(1), np.zeros((1, 1)), np.zeros((1, 3))
    lead_growth(False, u, s, small[0], lead, b, sigma, *rates, out)
    field_growth(False, u, s, small, lead, np.array([[node]]), b, sigma, *rates, d, field)
    activity(False, u, s, small[1], lead, b, sigma, 0.5, *rates, d, found)
    both_u, both_s = np.concatenate([u[0], -u[0]]), np.concatenate([s, -s])
    a, c = (np.tile(row, 2) for row in small)

    def mean(push, move):
        return np.where(both_s + push >= 0, 1, -1) * gates(both_u + move, b, sigma[0])

    expected = rates[0] * mean(1, lead[0]) + rates[1] * a * mean(a, lead[0] * a)
    assert out[0] == pytest.approx(expected.mean() / 2)
    strata = [(0 * c, 1 - sum(rates) / d)]
    strata += [
        (sign * size, rate / 2 / d) for sign in (1, -1) for size, rate in ((c**0, rates[0]), (c, rates[1]))
    ]
    total = sum(
        odds
        * (rates[0] * mean(1 + e, node + lead[0] * e) + rates[1] * a * mean(a + e, node * a + lead[0] * e))
        for e, odds in strata
    )
    assert field[0, 0] == pytest.approx(total.mean() / 2)
    awake = sum(odds * gates(both_u + lead[0] * e, b, sigma[0]) / 2 for e, odds in strata)
    assert found[0, 0] == pytest.approx(awake.mean())
    beyond = sum(odds * (np.abs(both_u + lead[0] * e) >= 0.5) for e, odds in strata)
    assert found[0, 1] == pytest.approx(beyond.mean())


def test_stein_gives_the_growth_by_input_noise():
    """E[y 1[u + s g >= b] g] = s E[y phi((u - b)/s)]/s on one input, g the Gaussian of the noise."""
    u, b, sigma = 0.8, 1.0, 0.5
    found = np.zeros((1, 3))
    args = (np.array([[u]]), np.array([1.0]), np.array([0.3]), np.zeros(1), b, np.array([sigma]))
    activity(False, *args, 0.5, 1e-12, 1e-12, 1.0, found)
    g = torch.randn(2_000_000, generator=generator(), dtype=torch.float64).numpy()
    # Both halves of the symmetric law of (u, y), each with probability 1/2.
    sampled = (((u + sigma * g >= b) * g).mean() - ((-u + sigma * g >= b) * g).mean()) / 2
    assert found[0, 2] == pytest.approx(sampled, abs=4e-3)  # five standard errors


@pytest.mark.parametrize("u", [0.0, 0.7, -3.0])
def test_pair_gate_without_noise_is_a_step(u):
    assert pair_gate(u, 1.0, 1e-9) == float(abs(u) > 1)
    assert pair_gate(u, 0.0, 0.5) == pytest.approx(1.0)


def test_sparse_projections_are_those_of_the_dense_codes():
    W = np.random.default_rng(1).normal(size=(3, SMALL.d)).astype(np.float32)
    W[:, 0] = 0
    rows, columns, values = sparse_codes(SMALL, 50, generator(4))
    dense = SMALL.code.sample(50, generator=generator(4)).numpy()
    dense[:, 0] = 0
    u = np.zeros((3, 50))
    projections(W, rows, columns, values, u)
    assert u == pytest.approx(W @ dense.T, abs=1e-5)


def test_field_moves_coordinates_by_interpolation_and_is_constant_beyond():
    W = np.array([[9.0, -1.0, 0.25, 5.0]], dtype=np.float32)
    nodes = np.linspace(-1, 1, NODES)[None]
    move(W, nodes, 0.1 * nodes + 1)
    assert W[0] == pytest.approx([9.0, -0.1, 1.275, 6.1], abs=1e-6)
    counts = np.zeros((1, 3))
    census(W, np.array([1.0]), counts)
    assert counts[0] == pytest.approx([0.01 + 1.275**2 + 6.1**2, 6.1, 2], rel=1e-6)


def test_start_is_gaussian_conditioned_on_being_a_sure_winner():
    neurons = draw_neurons(replace(SMALL, sure=400, wrong=50, typical=50), generator(3))
    unit = SMALL.first_threshold
    rule = SMALL.rule
    lead = neurons.lead[:400] / unit
    assert lead.min() >= rule.sure_level
    assert (neurons.lead[400:450] < 0).all()
    assert np.abs(neurons.W[:450]).max() < rule.potential_level * unit
    # Mean excess of a Gaussian beyond t is phi(t)/Q(t) - t; five standard errors of 400 draws.
    t = rule.sure_level * unit
    excess = math.exp(-t * t / 2) / math.sqrt(2 * math.pi) / ndtr(-t) - t
    assert (neurons.lead[:400] - t).mean() == pytest.approx(excess, abs=5 * excess / 20)
    typical = np.concatenate([neurons.W[450:].ravel(), neurons.lead[450:]])
    assert typical.std() == pytest.approx(1, abs=0.02)


def test_sets_are_those_of_the_probe():
    from karat.probes.lottery import ordinary_neurons, tickets

    phase = Phase(SMALL, generator(5))
    for time in clock(SMALL)[0][:30]:
        phase.advance(time)
    phase.neurons.settle(phase.b)
    full = torch.tensor(phase.neurons.W).double()
    full[:, 0] = torch.tensor(phase.neurons.lead)
    sets, ordinary = ticket_sets(phase), ordinary_neurons(full, phase.b, SMALL.rule)
    for name in ("ept", "ept_plus", "ept_plus_plus"):
        assert sets[name].tolist() == getattr(ordinary, name).tolist()
    masks = tickets(full, torch.ones(SMALL.d), phase.b, SMALL.rule)
    assert sets["sure"].tolist() == masks.sure[:, 0].tolist()


def test_a_winner_awake_on_every_code_grows_at_the_common_rate():
    """The limit of a large coordinate: E[y z_j]/2 d, whatever the threshold; and none without a label."""
    phase = Phase(SMALL, generator(6))
    phase.neurons.lead[:] = 1e6
    inputs = draw_inputs(SMALL, phase.neurons, phase.for_inputs)
    large, small = phase.rates
    near = large * (np.abs(inputs.s) <= 1) + small * inputs.small[0] * (np.abs(inputs.s) <= inputs.small[0])
    assert phase.lead_growth(inputs) == pytest.approx(np.full(len(phase.neurons.lead), near.mean() / 2))


def test_explicit_constant_is_reached_once_codes_of_size_one_always_wake():
    config = replace(SMALL, k=80, n=4000)  # small codes are far too small to wake it
    phase = Phase(config, generator(7))
    phase.neurons.lead[:] = 1.8 * phase.b
    growth = phase.lead_growth(draw_inputs(config, phase.neurons, phase.for_inputs))
    assert growth / phase.explicit == pytest.approx(np.ones(len(growth)), abs=0.06)


def test_clock_stops_at_t_a_and_t_b():
    ends, stops = clock(SMALL)
    phases = SMALL.phases()
    assert stops[0] == 0
    assert phases.T_a in stops
    assert stops[-1] == ends[-1] == phases.T_b
    assert clock(replace(SMALL, length=0.0)) == ([], [0.0])


def test_bias_overtakes_what_starts_below_the_critical_size():
    """Half of the gate open: a bias half as fast as winners is outgrown from b0 on."""
    assert outgrowing(replace(SMALL, bias_share=0.5)) == SMALL.first_threshold
    assert outgrowing(SMALL) < SMALL.first_threshold


def test_winners_of_the_wrong_sign_shrink():
    result = run(replace(SMALL, length=0.02), generator(8))
    assert result.winner_least[0] > 0
    phase = Phase(SMALL, generator(8))
    first = phase.neurons.lead.copy()
    phase.advance(0.2)
    assert (np.abs(phase.neurons.lead[4:6]) < np.abs(first[4:6])).all()
    assert (phase.neurons.lead[:4] > first[:4]).all()


def check(item: str):
    (found,) = [check for check in CHECKS if check.claim_id == f"purification.{item}"]
    return found


@pytest.mark.parametrize(("item", "name"), [("lemC.8", "sure_most"), ("lemC.9", "largest")])
def test_growth_constants_must_not_follow_the_trivial_limit(item, name):
    def judged(power: float, sizes: int) -> str:
        runs = [
            replace(run, result=replace(run.result, **{name: [0.05 * (run.config.k / 41) ** power]}))
            for run in check(item).satisfied
            if run.config.d <= (100_000, 300_000, 1_000_000)[sizes - 1]
        ]
        return check(item).evaluate(runs).outcome

    assert judged(0.0, 3) == "holds"
    assert judged(0.5, 3) == "fails"
    assert judged(0.0, 2) == "inconclusive"


def test_growth_of_others_is_asked_from_t_a_on_only():
    def judged(at: float) -> str:
        runs = [
            replace(
                run,
                result=replace(
                    run.result, passed=[0.0, at * run.config.phases().T_a, 1e9], others=[9.0, 9.0, 1e-9]
                ),
            )
            for run in check("lemC.10").satisfied
        ]
        return check("lemC.10").evaluate(runs).outcome

    assert (judged(0.9), judged(1.1)) == ("holds", "fails")


def test_hypotheses_of_the_first_phase_are_met_at_the_preset_and_not_at_denser_codes():
    conditions = check("lemC.8").conditions
    assert "unmet" not in {condition.status for condition in conditions(PhaseConfig(d=100_000, k=41))}
    dense = {condition.name: condition.status for condition in conditions(PhaseConfig(d=100_000, k=300))}
    assert dense["Thm C.1: T_a <= T_b, i.e. k log(d)^2.5 <= d"] == "unmet"


def test_coupled_setting_lies_inside_the_regime():
    config = PhaseConfig(**COUPLED)
    assert config.k * math.log(config.d) ** 2.5 <= config.d


def test_the_early_tail_of_gaussian_projections_is_the_gaussian_one():
    phase = Phase(SMALL, generator())
    inputs = draw_inputs(SMALL, phase.neurons, generator(1))
    n = 100_000
    u = torch.randn(len(inputs.u), n, generator=generator(2), dtype=torch.float64).numpy()
    gaussian = replace(inputs, u=SMALL.rule.width(phase.b) * u, s=np.ones(n), small=np.ones((2, n)))
    on = SMALL.code.expected_support / SMALL.d
    exact = max((2 * ndtr(-multiple) + on) / early_tail(multiple, SMALL.d) for multiple in MULTIPLES)
    # Five standard deviations of the largest share, at lambda = 1: false alarms below 1e-5 for nine neurons.
    assert measure(phase, gaussian)["early_tail"] == pytest.approx(exact, abs=0.01)


def test_the_early_tail_says_nothing_at_zero_and_ends_at_its_second_term():
    assert early_tail(0.0, 100_000) > 1
    assert early_tail(1e9, 100_000) == math.exp(-(math.log(100_000) ** 0.25))
