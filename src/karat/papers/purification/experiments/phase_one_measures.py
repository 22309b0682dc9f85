"""What is measured of single neurons in the lottery's first phase."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from karat.papers.purification.bounds_phase import early_tail
from karat.papers.purification.experiments.decoupled import Floats, Positions, activity, census
from karat.papers.purification.experiments.first_phase import MOST, Inputs, Phase, sparse_codes
from karat.papers.purification.experiments.phase_one_config import PhaseConfig
from karat.training.odd.bias import ShrinkingNoise

Mask = NDArray[np.bool_]

MULTIPLES = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Values of lambda in Lemma C.4(a)."""


def measure(phase: Phase, inputs: Inputs) -> dict[str, float]:
    """The entries of `PhaseResult` at one stop.

    Args:
        phase: at the stop, ordinary coordinates settled.
        inputs: fresh ones.
    """
    growth = phase.lead_growth(inputs)
    sets = ticket_sets(phase)
    looked = sets["ept" if phase.passed < phase.config.phases().T_a * (1 - 1e-9) else "ept_plus"]
    chosen = looked if looked.any() else np.ones_like(looked)
    return {
        "steps": phase.steps,
        "passed": phase.passed,
        "threshold": phase.b,
        "looked_at": float(looked.mean()),
        **_growth(phase, inputs, growth, chosen, sets["sure"] & chosen),
        **{name: float(sets[name].mean()) for name in ("ept", "ept_plus", "ept_plus_plus", "no_new_plus")},
        "sure_kept": float(sets["sure"][: phase.config.sure].mean()),
        **_probabilities(phase, inputs, chosen),
        **_certified(phase, chosen),
        "early_tail": _early_tail(phase, inputs, chosen),
        "rest": _rest(phase, inputs, chosen & sets["no_new_plus"]),
        **_coupling(phase, inputs, growth),
        **_net(phase, inputs, sets["sure"]),
        "counted": most_near_threshold(phase, inputs),
    }


def ticket_sets(phase: Phase) -> dict[str, Mask]:
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


def _growth(phase: Phase, inputs: Inputs, growth: Floats, chosen: Mask, sure: Mask) -> dict[str, float]:
    field, nodes, b = phase.field(inputs)[chosen], phase.neurons.nodes[chosen], phase.b
    lead = phase.neurons.lead
    winners = growth[: phase.config.sure]
    level = phase.config.rule.potential_level * b
    ordinary = np.abs(field[np.abs(nodes) < level])
    ordinary_leads = np.abs(growth[chosen & (np.abs(lead) < level)])
    first = lead[: phase.config.sure] / b
    return {
        "sure_least": float(growth[sure].min()) if sure.any() else math.nan,
        "sure_most": float(growth[sure].max()) if sure.any() else math.nan,
        "winner_least": float(winners.min()),
        "winner_most": float(winners.max()),
        "lead_least": float(first.min()),
        "lead_most": float(first.max()),
        "largest": float(max(np.abs(growth[chosen]).max(), np.abs(field).max())),
        "others": float(max(ordinary.max(initial=0), ordinary_leads.max(initial=0))),
    }


def _probabilities(phase: Phase, inputs: Inputs, chosen: Mask) -> dict[str, float]:
    rule = phase.config.rule
    found = np.zeros((len(phase.neurons.lead), 3))
    activity(
        phase.own_labels,
        inputs.u,
        inputs.s,
        inputs.small[1],
        phase.neurons.lead,
        phase.b,
        phase.sigma,
        rule.c2 / (10 * rule.c1) * phase.b,
        *phase.rates,
        float(phase.config.d),
        found,
    )
    # E[y 1 <xi, M_j>] = (sigma_x^2/d) w_j E[y phi(.)/sigma] by Stein's identity; the lemma has its own.
    return {
        "awake": float(found[chosen, 0].max()),
        "printed_beyond": float(found[chosen, 1].max()),
        "edge": float((np.abs(found[:, 2]) * phase.own_noise / phase.sigma)[chosen].max()),
    }


def _rest(phase: Phase, inputs: Inputs, old: Mask) -> float:
    """The largest |<w_i, x>| over b without the leading feature, of neurons without a new potential one."""
    chosen = old if old.any() else np.ones_like(old)
    return float(np.abs(inputs.u[chosen]).max() / phase.b)


def _certified(phase: Phase, chosen: Mask) -> dict[str, float]:
    r"""Largest bounds on P(|<w_i, x>| >= b/10) and P(|<w_i, x>| >= sigma_w), by the proof of Lemma C.4(b).

    .. math:: P(|\langle w, z \rangle| \ge t) \le q \, P(z_j \ne 0)
        + 2 \exp\Big(-\frac{t^2/2}{v + a t/3}\Big), \qquad v = E z_j^2 \sum_j w_j^2 + \sigma_x^2 |w|^2/d,

    with the q coordinates of size :math:`\sigma_w/\log d` and more, and a the largest of all others.
    """
    config, width = phase.config, phase.config.rule.width(phase.b)
    level = width / math.log(config.d)
    counts = np.zeros((len(phase.neurons.W), 3))
    census(phase.neurons.W, np.array([level]), counts)
    lead = np.abs(phase.neurons.lead)
    visible = counts[:, 2] + (lead >= level)
    largest = np.minimum(np.maximum(counts[:, 1], np.where(lead < level, lead, 0)), level)
    noise = config.sigma_x**2 * lead**2 / config.d
    v = counts[:, 0] * (config.code.second_moment + config.sigma_x**2 / config.d) + noise
    on = config.code.expected_support / config.d
    found = {}
    for name, t in (("beyond", phase.b / 10), ("tail", width)):
        bounds = visible * on + 2 * np.exp(-(t**2) / 2 / (v + largest * t / 3))
        found[name] = float(np.minimum(bounds, 1)[chosen].max())
    return found


def _early_tail(phase: Phase, inputs: Inputs, chosen: Mask) -> float:
    """The largest probability of a projection beyond lambda sigma_w, over the bound for neurons in S_ept.

    Reading: the leading feature is on with probability E|z|_0/d, which is added to the share of inputs.

    Ref: purification, Lem C.4(a)
    """
    d, width = phase.config.d, phase.config.rule.width(phase.b)
    beyond = [(np.abs(inputs.u[chosen]) >= multiple * width).mean(axis=1).max() for multiple in MULTIPLES]
    on = phase.config.code.expected_support / d
    return max(
        float(share + on) / early_tail(multiple, d) for share, multiple in zip(beyond, MULTIPLES, strict=True)
    )


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


def _net(phase: Phase, inputs: Inputs, sure: Mask) -> dict[str, float]:
    """Accuracy and output of a net with one sure winner per feature, its sleeping neurons left out.

    Reading: features take in turn those sampled winners that are sure ones still, and the other coordinates
        of a winner are independent of the input's other codes; a neuron whose feature is off is asleep on all
        inputs once no sampled one comes within eight standard deviations of its noise of b.
    """
    config = phase.config
    winners = np.flatnonzero(sure[: config.sure])
    near = np.abs(inputs.u[winners]).max(initial=0) + 8 * phase.sigma[winners].max(initial=0)
    if near >= phase.b or not (len(winners) and config.n_test):
        return {"accuracy": math.nan, "output": math.nan}
    rows, columns, values = sparse_codes(config, config.n_test, phase.for_test)
    which = winners[columns % len(winners)]
    rest = inputs.u[which, columns % config.n]
    noise = torch.randn(len(values), generator=phase.for_test, dtype=torch.float64).numpy()
    v, rho = phase.neurons.lead[which] * values + rest, phase.sigma[which] * noise
    active = np.maximum(v + rho - phase.b, 0) - np.maximum(rho - v - phase.b, 0)
    f, s = (_sums(part, rows) for part in (active, values))
    right = np.where(f >= 0, 1, -1) == np.where(s >= 0, 1, -1)
    return {"accuracy": float(right.mean()), "output": float(np.abs(f).max())}


def _sums(values: Floats, rows: Positions) -> Floats:
    """Sums of consecutive entries, those of row n from rows[n] on."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(total[rows[1:]] - total[rows[:-1]])


def outgrowing(config: PhaseConfig) -> float:
    r"""The first coordinate, over sigma_0, from which on one grows faster than the bias at the start.

    .. math:: b_0 + s \, \Phi^{-1}(C'), \qquad s^2 = \sigma_\rho^2 + d \, E z_j^2 + \sigma_x^2

    A code of size one wakes it with probability :math:`\Phi((w - b_0)/s)`, if its other codes are taken as
    Gaussian, and C' is the speed of the bias over that of a winner that such a code always wakes.

    Args:
        config: of the run.
    """
    b0 = config.first_threshold
    own = config.noise * ShrinkingNoise(d=config.d, first_phase=1.0)(b0, 0.0)
    s = math.sqrt(own**2 + config.d * config.code.second_moment + config.sigma_x**2)
    return b0 + s * float(ndtri(min(config.bias_share, 0.5)))


def most_near_threshold(phase: Phase, inputs: Inputs) -> float:
    """Most neurons of a whole net with |<w_i, x>| >= b/10 on one of the test inputs.

    Args:
        phase: at a stop.
        inputs: fresh ones, for neurons without a feature that is on.

    Reading: whoever outgrows the bias at the start counts whenever its feature is on, and so does a
        potential winner of the wrong sign; the number of those of a feature is Poisson with the mean that
        Gaussian tails give. Of all others the share of typical neurons counts that are beyond b/10 without
        their leading feature.
    """
    config = phase.config
    if not config.n_test:
        return 0.0
    rows, columns, _ = sparse_codes(config, config.n_test, phase.for_test)
    features, which = np.unique(columns, return_inverse=True)
    unit = config.first_threshold / config.threshold
    tails = ndtr(-np.array([outgrowing(config), config.rule.potential_level * unit]))
    mean = config.m * float(tails.sum())
    rate = torch.full((len(features),), mean, dtype=torch.float64)
    holders = torch.poisson(rate, generator=phase.for_test).numpy()
    typical = np.abs(inputs.u[config.sure + config.wrong :])
    others = float((typical >= phase.b / 10).mean(axis=0).max()) * config.m
    return float(_sums(holders[which], rows).max()) + others
