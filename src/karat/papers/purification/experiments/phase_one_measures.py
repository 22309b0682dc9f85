"""What is measured of single neurons in the lottery's first phase."""

import math

import numpy as np
import torch

from karat.papers.purification.bounds import GAMMA, ticket_counts
from karat.papers.purification.experiments.decoupled import Floats, activity, census
from karat.papers.purification.experiments.first_phase import MOST, Inputs, Phase, sparse_codes


def measure(phase: Phase, inputs: Inputs) -> dict[str, float]:
    """The entries of `PhaseResult` at one stop.

    Args:
        phase: at the stop, ordinary coordinates settled.
        inputs: fresh ones.
    """
    growth = phase.lead_growth(inputs)
    sets = ticket_sets(phase)
    return {
        "steps": phase.steps,
        "passed": phase.passed,
        "threshold": phase.b,
        **_growth(phase, inputs, growth),
        **{name: float(sets[name].mean()) for name in ("ept", "ept_plus", "ept_plus_plus", "no_new_plus")},
        "sure_kept": float(sets["sure"][: phase.config.sure].mean()),
        **_probabilities(phase, inputs),
        **_coupling(phase, inputs, growth),
        **_net(phase, inputs),
        "counted": most_near_threshold(phase, inputs),
    }


def ticket_sets(phase: Phase) -> dict[str, Floats]:
    """Masks (m,): which neurons are sure winners, and which are ordinary in the paper's senses.

    Args:
        phase: at a stop.

    Reading: as `ordinary_neurons`, O(1) is 3 and Omega(d/log d) is d/(10 log d).

    Ref: purification, Def B.1; purification, Def B.3
    """
    config, rule, b = phase.config, phase.config.rule, phase.b
    d, log_d, width = config.d, math.log(config.d), rule.width(b)
    large = width * math.sqrt(2 * math.sqrt(log_d))
    plus = rule.k / (rule.d * rule.beta) * b
    levels = np.array([rule.potential_level * b, large, width / log_d, plus])
    counts = np.zeros((len(phase.neurons.W), 2 + len(levels)))
    census(phase.neurons.W, levels, counts)
    lead = np.abs(phase.neurons.lead)
    counts[:, 2:] += lead[:, None] >= levels
    squares = counts[:, 0] + lead**2
    potential, big, visible, new = counts[:, 2:].T
    return {
        "sure": (phase.neurons.lead >= rule.sure_level * b) & (potential == 1),
        "ept": (squares <= 2 * width**2 * d)
        & (potential <= MOST)
        & (big <= 2 ** -math.sqrt(log_d) * d)
        & (d - visible >= d / (10 * log_d)),
        "ept_plus": (squares <= width**2 * d / log_d**2) & (visible <= MOST),
        "ept_plus_plus": squares <= (width / rule.beta) ** 2,
        "no_new_plus": new <= (phase.first_potential & (lead >= plus)),
    }


def _growth(phase: Phase, inputs: Inputs, growth: Floats) -> dict[str, float]:
    field, nodes, b = phase.field(inputs), phase.neurons.nodes, phase.b
    lead = phase.neurons.lead
    level = phase.config.rule.potential_level * b
    ordinary = np.abs(field[np.abs(nodes) < level])
    ordinary_leads = np.abs(growth[np.abs(lead) < level])
    first = lead[: phase.config.sure] / b
    return {
        "sure_least": float(growth[: phase.config.sure].min()),
        "sure_most": float(growth[: phase.config.sure].max()),
        "lead_least": float(first.min()),
        "lead_most": float(first.max()),
        "largest": float(max(np.abs(growth).max(), np.abs(field).max())),
        "others": float(max(ordinary.max(initial=0), ordinary_leads.max(initial=0))),
    }


def _probabilities(phase: Phase, inputs: Inputs) -> dict[str, float]:
    rule = phase.config.rule
    levels = (phase.b / 10, rule.width(phase.b), rule.c2 / (10 * rule.c1) * phase.b)
    found = np.zeros((len(levels), len(phase.neurons.lead), 3))
    for row, level in zip(found, levels, strict=True):
        activity(
            phase.own_labels,
            inputs.u,
            inputs.s,
            inputs.small[1],
            phase.neurons.lead,
            phase.b,
            phase.sigma,
            level,
            *phase.rates,
            float(phase.config.d),
            row,
        )
    # E[y 1 <xi, M_j>] = (sigma_x^2/d) w_j E[y phi(.)/sigma] by Stein's identity; the lemma has its own.
    return {
        "awake": float(found[0, :, 0].max()),
        "beyond": float(found[0, :, 1].max()),
        "tail": float(found[1, :, 1].max()),
        "printed_beyond": float(found[2, :, 1].max()),
        "edge": float((np.abs(found[0, :, 2]) * phase.own_noise / phase.sigma).max()),
        "rest": float(np.abs(inputs.u).max() / phase.b),
    }


def _coupling(phase: Phase, inputs: Inputs, growth: Floats) -> dict[str, float]:
    config = phase.config
    large, small = phase.rates
    size = inputs.small[0]
    near = [(np.abs(inputs.s) <= level).astype(float) for level in (1.0, size)]
    common = float((large * near[0] + small * size * near[1]).mean()) / 2
    lead = phase.neurons.lead[: config.sure]
    grown = lead >= config.grown * math.sqrt(config.k) * phase.b
    deviation = np.abs(growth[: config.sure][grown] - common) / common
    return {"spread": float(deviation.max()) if grown.any() else math.nan, "grown": int(grown.sum())}


def _net(phase: Phase, inputs: Inputs) -> dict[str, float]:
    """Accuracy and output of a net with one sure winner per feature, its sleeping neurons left out.

    Reading: features take the sampled winners in turn, and the other coordinates of a winner are independent
        of the input's other codes; a neuron whose feature is off is asleep as long as `rest` is below 0.1.
    """
    config = phase.config
    if phase.passed < config.phases().T_a or not config.n_test:
        return {"accuracy": math.nan, "output": math.nan}
    rows, columns, values = sparse_codes(config, config.n_test, phase.for_test)
    which = columns % config.sure
    rest = inputs.u[which, columns % config.n]
    noise = torch.randn(len(values), generator=phase.for_test, dtype=torch.float64).numpy()
    v, rho = phase.neurons.lead[which] * values + rest, phase.sigma[which] * noise
    active = np.maximum(v + rho - phase.b, 0) - np.maximum(rho - v - phase.b, 0)
    f, s = (_sums(part, rows) for part in (active, values))
    right = np.where(f >= 0, 1, -1) == np.where(s >= 0, 1, -1)
    return {"accuracy": float(right.mean()), "output": float(np.abs(f).max())}


def _sums(values: Floats, rows: Floats) -> Floats:
    """Sums of consecutive entries, those of row n from rows[n] on."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[rows[1:]] - total[rows[:-1]])


def most_near_threshold(phase: Phase, inputs: Inputs) -> float:
    """Most neurons of a whole net with |<w_i, x>| >= b/10 on one of the test inputs.

    Args:
        phase: at a stop.
        inputs: fresh ones, for neurons without a feature that is on.

    Reading: a potential winner counts whenever its feature is on, grown or not; the number of those of a
        feature is Poisson with the mean of Lemma B.2. Of all others the share of typical neurons counts that
        are beyond b/10 without their leading feature.
    """
    config = phase.config
    if not config.n_test:
        return 0.0
    rows, columns, _ = sparse_codes(config, config.n_test, phase.for_test)
    features, which = np.unique(columns, return_inverse=True)
    mean = ticket_counts(config.d, config.m, config.c0, GAMMA).potential
    rate = torch.full((len(features),), mean, dtype=torch.float64)
    holders = torch.poisson(rate, generator=phase.for_test).numpy()
    typical = np.abs(inputs.u[config.sure + config.wrong :])
    others = float((typical >= phase.b / 10).mean(axis=0).max()) * config.m
    return float(_sums(holders[which], rows).max()) + others
