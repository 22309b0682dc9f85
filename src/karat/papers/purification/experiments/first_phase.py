"""Algorithm 1 for single neurons near initialisation, at d = 1e5 and more: start, clock and steps."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import log_ndtr, ndtri_exp

from karat.papers.purification.experiments.decoupled import (
    Floats,
    Positions,
    Singles,
    census,
    field_growth,
    lead_growth,
    move,
    projections,
)
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.phase_one_config import PhaseConfig
from karat.training.odd.bias import ShrinkingNoise

NODES = 13
"""Sizes at which the growth of ordinary coordinates is computed; between them it is linear."""

MOST = 3
"""What O(1) many coordinates means, as in `ordinary_neurons`."""

STEADY = 0.02
"""Ordinary coordinates move together once one of them has this far to go, in units of b."""

REACH = 1.3
"""Coordinates beyond this multiple of b grow as fast as one there: every code of size one wakes them."""


@dataclass(eq=False)
class Neurons:
    """Sampled neurons in the dictionary's basis, all signs turned such that w* = 1.

    Args:
        W: (m, d) coordinates, the first one left at zero.
        lead: (m,) the leading coordinates, each on a feature of its own.
        nodes: (m, g) sizes at which the growth of the other coordinates is known.
        shift: (m, g) how far they still have to move.
        squares: (m,) squared lengths without the leading coordinate.
    """

    W: Singles
    lead: Floats
    nodes: Floats
    shift: Floats
    squares: Floats

    def settle(self, b: float) -> None:
        """Move the ordinary coordinates as far as they have to, and cover them with nodes anew.

        Args:
            b: present threshold.
        """
        if self.shift.any():
            move(self.W, self.nodes, self.shift)
        counts = np.zeros((len(self.W), 2))
        census(self.W, np.zeros(0), counts)
        self.squares = counts[:, 0]
        most = np.minimum(counts[:, 1], REACH * b)
        self.nodes = np.linspace(-most, most, NODES, axis=1)
        self.shift = np.zeros_like(self.nodes)


@dataclass(frozen=True, eq=False)
class Inputs:
    """Codes without the leading one, and sizes for codes that are summed over.

    Args:
        u: (m, n) projections.
        s: (n,) scores.
        small: (2, n) sizes of small codes.
    """

    u: Floats
    s: Floats
    small: Floats


def draw_neurons(config: PhaseConfig, generator: torch.Generator) -> Neurons:
    """Sure winners, those of the wrong sign, and typical neurons, from the Gaussian start conditioned on it.

    Args:
        config: of the run.
        generator: of the draw.

    Ref: purification, Def B.1
    """
    rule, planted = config.rule, config.sure + config.wrong
    unit = math.sqrt(rule.c1 * math.log(config.d))
    W = torch.randn(planted + config.typical, config.d, generator=generator, dtype=torch.float32)
    uniform = torch.rand(planted, generator=generator, dtype=torch.float64).numpy()
    chosen = W[:planted]
    beyond = chosen.abs() >= rule.potential_level * unit
    while bool(beyond.any()):  # a sure winner has no second feature
        chosen[beyond] = torch.randn(int(beyond.sum()), generator=generator)
        beyond = chosen.abs() >= rule.potential_level * unit
    rows = np.arange(len(W))
    best = W.abs().argmax(dim=1).numpy()
    array = W.numpy()
    lead = array[rows, best].astype(float)
    best[:planted] = 0
    # A Gaussian beyond the level of sure winners, by inversion of its tail.
    lead[:planted] = -ndtri_exp(np.log1p(-uniform) + log_ndtr(-rule.sure_level * unit))
    lead[config.sure : planted] *= -1
    array[rows, best] = array[rows, 0]
    array[:, 0] = 0
    neurons = Neurons(array, lead, np.zeros((len(W), NODES)), np.zeros((len(W), NODES)), np.zeros(len(W)))
    neurons.settle(config.first_threshold)
    return neurons


def sparse_codes(
    config: PhaseConfig, n: int, generator: torch.Generator
) -> tuple[Positions, Positions, Floats]:
    """Codes without the first coordinate: where each begins, columns, values.

    Args:
        config: of the run.
        n: how many.
        generator: of the draw.
    """
    positions, values = config.code.nonzero(n, generator=generator)
    rows, columns = (positions // config.d).numpy(), (positions % config.d).numpy()
    kept = columns > 0
    return np.searchsorted(rows[kept], np.arange(n + 1)), columns[kept], values.numpy()[kept]


def draw_inputs(config: PhaseConfig, neurons: Neurons, generator: torch.Generator) -> Inputs:
    """Fresh inputs as the neurons see them.

    Args:
        config: of the run.
        neurons: at this step.
        generator: of the draw.
    """
    rows, columns, values = sparse_codes(config, config.n, generator)
    u = np.zeros((len(neurons.W), config.n))
    projections(neurons.W, rows, columns, values, u)
    s = np.add.reduceat(np.append(values, 0.0), rows[:-1]) * (rows[1:] > rows[:-1])
    if config.labels == "coin":  # a score that no single code can turn
        s = 1e6 * (2.0 * torch.randint(2, (config.n,), generator=generator).numpy() - 1)
    spread = torch.rand(2, config.n, generator=generator, dtype=torch.float64).numpy()
    return Inputs(u, s, (1 + (config.small_spread - 1) * spread) / math.sqrt(config.k))


class Phase:
    """Algorithm 1 for single neurons: its clock, threshold and noise.

    Args:
        config: of the run.
        generator: of start and inputs.
    """

    def __init__(self, config: PhaseConfig, generator: torch.Generator) -> None:
        self.config = config
        for_start, self.for_inputs, for_labels, self.for_test = split(generator, 4)
        self.neurons = draw_neurons(config, for_start)
        self.first_potential = np.abs(self.neurons.lead) >= config.rule.potential_level * (
            config.first_threshold / config.threshold
        )
        self.b, self.passed, self.steps = config.first_threshold, 0.0, 0
        self.noise = ShrinkingNoise(d=config.d, first_phase=config.phases().T_a)
        rows, _, values = sparse_codes(config, 20_000, for_labels)
        score = np.add.reduceat(np.append(values, 0.0), rows[:-1]) * (rows[1:] > rows[:-1])
        # E[y | z_j = s] = P(|score of the others| <= s), the others being symmetric.
        self.explicit = 0.5 * config.large_rate * float((np.abs(score) <= 1).mean())
        self.speed = config.bias_share * self.explicit

    @property
    def rates(self) -> tuple[float, float]:
        """d times the probabilities of a large and of a small code."""
        return self.config.large_rate, self.config.small_rate * self.config.k

    @property
    def sigma(self) -> Floats:
        """(m,) noise of the neurons: their own, and what the input noise adds to it."""
        squares = self.neurons.squares + self.neurons.lead**2
        own = self.own_noise
        return np.asarray(np.sqrt(own**2 + self.config.sigma_x**2 * squares / self.config.d))

    @property
    def own_noise(self) -> float:
        """The printed noise of the neurons, times its constant."""
        return self.config.noise * self.noise(self.b, self.passed)

    @property
    def own_labels(self) -> bool:
        """Whether labels are the neuron's own."""
        return self.config.labels == "own"

    def lead_growth(self, inputs: Inputs) -> Floats:
        """(m,) growth of the leading coordinates, times d."""
        growth = np.zeros(len(self.neurons.lead))
        u, s, small = inputs.u, inputs.s, inputs.small[0]
        lead_growth(self.own_labels, u, s, small, self.neurons.lead, self.b, self.sigma, *self.rates, growth)
        return growth

    def field(self, inputs: Inputs) -> Floats:
        """(m, g) growth of other coordinates of the nodes' sizes, times d."""
        growth = np.zeros_like(self.neurons.nodes)
        field_growth(
            self.own_labels,
            inputs.u,
            inputs.s,
            inputs.small,
            self.neurons.lead,
            self.neurons.nodes,
            self.b,
            self.sigma,
            *self.rates,
            float(self.config.d),
            growth,
        )
        return growth

    def advance(self, until: float) -> None:
        """Train until the threshold has grown by this much in all, ordinary coordinates in one go.

        Args:
            until: in units of sigma_0.
        """
        inputs = draw_inputs(self.config, self.neurons, self.for_inputs)
        step = (until - self.passed) / self.config.substeps
        self.neurons.shift += self.field(inputs) * (until - self.passed) / self.speed
        for _ in range(self.config.substeps):
            self.neurons.lead += self.lead_growth(inputs) * step / self.speed
            self.b += step
            self.passed += step
        self.passed = until
        self.steps += self.config.substeps
        if np.abs(self.neurons.shift).max() > STEADY * self.b:
            self.neurons.settle(self.b)


def clock(config: PhaseConfig) -> tuple[list[float], list[float]]:
    """Growth of the threshold at the end of every stretch, and those after which to look.

    Args:
        config: of the run.
    """
    phases = config.phases()
    last, b, thresholds = config.length * phases.T_b, config.first_threshold, []
    while b < config.first_threshold + last:
        near = b < 2 * config.first_threshold  # where it is decided who wins
        b *= 1 + (config.stretch - 1) / (12 if near else 1)
        thresholds.append(b)
    grid = {b - config.first_threshold for b in thresholds} | {phases.T_a, last}
    ends = sorted(time for time in grid if 0 < time <= last)
    early = [time for time in ends if time < phases.T_a]
    late = [time for time in ends if time > phases.T_a]
    kept = {*early[:: max(1, len(early) // 5)], *late[:: max(1, len(late) // 3)], phases.T_a, last}
    return ends, sorted({0.0, *(time for time in ends if time in kept)})
