"""The same neurons before and after adversarial training: their pure and dense parts, how far they move."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.data import SparseCoding
from karat.nets import OddTwoLayer
from karat.probes.cosines import abs_cosine, alignment_with_start
from karat.probes.dense_mixture import DenseMixture, split_mixture
from karat.probes.live_rows import grown_neurons
from karat.probes.movement import relative_movement, relative_movement_along

HISTOGRAM = (-0.1, 0.1, 80)
r"""Range and number of bins of the histograms of :math:`\beta_{ij} / \alpha_i`."""


@dataclass(frozen=True, kw_only=True)
class NeuronParts:
    r"""Pure and dense part of some neurons, one entry per neuron.

    Args:
        pure: length of the part on the neuron's own features.
        dense: component of the rest along :math:`M w^*`.
        own: number of own features.
        histogram: counts of :math:`\beta_{ij} / \alpha_i` over all of them, the last bins open.
    """

    pure: list[float]
    dense: list[float]
    own: list[int]
    histogram: list[int]


def either_live(before: OddTwoLayer, after: OddTwoLayer, most: int = 400) -> Tensor:
    """Indices of neurons that are live in at least one of two nets.

    Args:
        before: a net.
        after: the same net after more training.
        most: how many indices at most.
    """
    live = [grown_neurons(net.W, -float(net.b)) for net in (before, after)]
    return (live[0] | live[1]).nonzero().squeeze(1)[:most]


def neuron_parts(model: SparseCoding, net: OddTwoLayer, rows: Tensor) -> NeuronParts:
    """Split some neurons into pure and dense part.

    Args:
        model: gives dictionary and label vector.
        net: whose neurons.
        rows: their indices.
    """
    mixture = split_mixture(net.W, model.M, model.w_star).select(rows)
    return NeuronParts(
        pure=_rounded(mixture.pure_norm),
        dense=_rounded(mixture.along),
        own=mixture.own_count.tolist(),
        histogram=_histogram(mixture),
    )


def _histogram(mixture: DenseMixture) -> list[int]:
    """Counts of beta_ij / alpha_i off N_i; values beyond the range fall into the last bins."""
    low, high, bins = HISTOGRAM
    beta = (mixture.coefficients / mixture.w_star / mixture.alpha.unsqueeze(1))[~mixture.own]
    return [int(v) for v in torch.histc(beta.clamp(low, high), bins, low, high)]


def _rounded(values: Tensor) -> list[float]:
    return [round(float(v), 4) for v in values]


@dataclass(frozen=True, kw_only=True)
class Movements:
    r"""How far each training carried the weights, weighted as in the theorems and over live neurons.

    Args:
        start_alignment: of the clean net with its start.
        start_alignment_robust: of the robust net with that start.
        start_theta: mean |cos| of live neurons between start and clean net.
        theta: mean |cos| of live neurons between clean and robust net.
        theta_low: what 10% of them stay below.
        movement: :math:`\sum_i \|w_i - w_i'\|^2 / \sum_i \|w_i\|^2` from the clean net w to the robust w'.
        movement_along: the part of it along :math:`M w^*`.
        largest_move: of one neuron.
    """

    start_alignment: float
    start_alignment_robust: float
    start_theta: float
    theta: float
    theta_low: float
    movement: float
    movement_along: float
    largest_move: float


def movements(model: SparseCoding, start: OddTwoLayer, clean: OddTwoLayer, robust: OddTwoLayer) -> Movements:
    """Compare the weights of three nets.

    Args:
        model: gives the dense direction.
        start: before training.
        clean: after clean training.
        robust: after adversarial training from there.
    """
    live = grown_neurons(clean.W, -float(clean.b))
    theta = abs_cosine(clean.W, robust.W)[live]
    moved = torch.linalg.vector_norm(robust.W - clean.W, dim=1)
    return Movements(
        start_alignment=alignment_with_start(clean.W, start.W),
        start_alignment_robust=alignment_with_start(robust.W, start.W),
        start_theta=float(abs_cosine(clean.W, start.W)[live].mean()),
        theta=float(theta.mean()),
        theta_low=float(theta.quantile(0.1)),
        movement=relative_movement(robust.W, clean.W),
        movement_along=relative_movement_along(robust.W, clean.W, model.dense_direction),
        largest_move=float(moved.max()),
    )
