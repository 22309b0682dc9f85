"""The strongest perturbations of both nets: how they transfer, and in how many directions they live."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from karat.attacks import PGD, GradientStep, Steepest, Strongest, transfer_matrix
from karat.attacks.judge import run_attack
from karat.attacks.pgd import better
from karat.core.ball import Ball
from karat.core.classifier import Classifier
from karat.data.loading import evenly
from karat.probes.bases import frequency_coefficients, principal_coefficients
from karat.probes.density import Density, mean_density, noise_density
from karat.probes.reconstruction import as_targets
from karat.yours.probe.comparison import Comparison
from karat.yours.probe.first_layer import FirstLayer, atoms_of
from karat.yours.probe.settings import ProbeSettings

LONG = PGD(steps=30)
REST = Strongest((Steepest(), PGD(steps=20, restarts=2, random_start=True), GradientStep()))
PCA_INPUTS = 1000
"""Inputs whose principal components are a basis; what they do not span is spread over a random complement."""


@dataclass(frozen=True, kw_only=True)
class Basis:
    """Densities in one basis.

    Args:
        name: pixels, dct, pca, or the features of a net.
        size: number of its elements.
        neutral: whether it is independent of both nets.
        rows: what is described -> density.
    """

    name: str
    size: int
    neutral: bool
    rows: dict[str, Density]


@dataclass(frozen=True, kw_only=True)
class TransferRates:
    """Perturbations of one net on the other.

    Args:
        before_to_after: share of before's successful perturbations that also flip after, among inputs
            both get right; NaN where there are none.
        before_count: how many these are.
        after_to_before: the same of after's perturbations on before.
        after_count: how many these are.
    """

    before_to_after: float
    before_count: int
    after_to_before: float
    after_count: int


def strongest_deltas(
    comparison: Comparison, ball: Ball, settings: ProbeSettings, generator: torch.Generator
) -> dict[str, Tensor]:
    """Perturbations of both nets on the same inputs, the strongest of several attacks.

    Long PGD from zero on all inputs; PGD from random starts, the fast gradient method and the gradient line
    on those it does not break.

    Args:
        comparison: the nets and the inputs.
        ball: allowed perturbations.
        settings: sample sizes.
        generator: of random starts and draws.
    """
    x, y = comparison.some(settings.samples)
    deltas = {}
    for net in comparison.pair:
        delta = run_attack(LONG, net.classifier, x, y, ball, generator=generator).delta
        margin = net.classifier.margin(x + delta, y)
        rows = (margin > 0).nonzero().squeeze(1)
        if len(rows):
            part = ball.with_tau(ball.radius(x)[rows])
            more = run_attack(REST, net.classifier, x[rows], y[rows], part, generator=generator)
            delta[rows], _ = better(delta[rows], margin[rows], more.delta, more.margin)
        deltas[net.name] = delta
    return deltas


def transfer_rates(
    comparison: Comparison, deltas: dict[str, Tensor], ball: Ball, settings: ProbeSettings
) -> TransferRates:
    """How often a perturbation made for one net fools the other.

    Args:
        comparison: the nets and the inputs.
        deltas: net -> its strongest perturbations.
        ball: in which they lie.
        settings: sample sizes.
    """
    x, y = comparison.some(settings.samples)
    known = {id(net.classifier): deltas[net.name] for net in comparison.pair}

    def found_before(classifier: Classifier, *_: Any, **__: Any) -> Tensor:
        return known[id(classifier)]

    table = transfer_matrix([net.classifier for net in comparison.pair], x, y, ball, method=found_before)
    return TransferRates(
        before_to_after=float(table.rate[0, 1]),
        before_count=int(table.count[0, 1]),
        after_to_before=float(table.rate[1, 0]),
        after_count=int(table.count[1, 0]),
    )


def l2_radius(ball: Ball, d: int) -> float:
    """Radius of the l2 ball whose perturbations are described: that of the smallest one around the ball."""
    tau = float(torch.as_tensor(ball.tau).max())
    return tau * math.sqrt(d) if ball.p == math.inf else tau


@dataclass(frozen=True, eq=False)
class Described:
    """Inputs (n, ...) and the perturbations of both nets that are described and drawn."""

    x: Tensor
    deltas: dict[str, Tensor]


def describe_perturbations(
    comparison: Comparison,
    deltas: dict[str, Tensor],
    ball: Ball,
    settings: ProbeSettings,
    generator: torch.Generator,
) -> Described:
    """Perturbations in an l2 ball: extreme points of other balls are dense or sparse by their geometry.

    Args:
        comparison: the nets and the inputs.
        deltas: net -> its strongest perturbations.
        ball: in which they lie.
        settings: sample sizes.
        generator: of random starts and draws.
    """
    x, y = comparison.some(settings.samples)
    rows, _ = evenly(torch.arange(len(x)), y, settings.described)
    x, y = x[rows], y[rows]
    if ball.p == 2:
        return Described(x, {name: delta[rows] for name, delta in deltas.items()})
    wide = Ball(2, l2_radius(ball, x[0].numel()), ball.box)
    method = PGD(steps=20)
    wide_deltas = {
        net.name: run_attack(method, net.classifier, x, y, wide, generator=generator).delta
        for net in comparison.pair
    }
    return Described(x, wide_deltas)


def densities(
    comparison: Comparison,
    described: Described,
    layer: FirstLayer | None,
    settings: ProbeSettings,
    generator: torch.Generator,
) -> tuple[Basis, ...]:
    """Densities of both nets' perturbations, of the centred inputs and of white noise, basis by basis.

    Args:
        comparison: the nets and the inputs.
        described: inputs and perturbations.
        layer: the first layer, whose features are a basis.
        settings: sample sizes.
        generator: of the directions that the inputs do not span.
    """
    x = described.x
    vectors = {f"perturbation of {name}": _moving(delta) for name, delta in described.deltas.items()}
    centred = as_targets(comparison.images(x)).reshape(x.shape) if comparison.image else x - x.mean(dim=0)
    vectors["inputs, centred"] = centred
    bases = [
        _basis(
            "pixels" if comparison.image else "coordinates",
            True,
            {n: v.flatten(1) for n, v in vectors.items()},
        )
    ]
    if comparison.image:
        waves = {name: frequency_coefficients(comparison.images(v)) for name, v in vectors.items()}
        bases.append(_basis("dct", True, waves))
    data = comparison.some(PCA_INPUTS)[0]
    axes = {name: principal_coefficients(v, data, generator=generator) for name, v in vectors.items()}
    bases.append(_basis("pca", True, axes))
    if layer is not None:
        for net in comparison.pair:
            atoms = atoms_of(layer, layer.filters(net), settings.atoms).to(x)
            coefficients = {name: v.flatten(1) @ atoms.T for name, v in vectors.items()}
            bases.append(_basis(f"features of {net.name}", False, coefficients))
    return tuple(bases)


def _moving(delta: Tensor) -> Tensor:
    """Perturbations that are not zero; all of them if none moves."""
    moves = delta.flatten(1).abs().amax(dim=1) > 0
    return delta[moves] if bool(moves.any()) else delta


def _basis(name: str, neutral: bool, coefficients: dict[str, Tensor]) -> Basis:
    rows = {row: mean_density(table) for row, table in coefficients.items()}
    size = next(iter(coefficients.values())).shape[1]
    if neutral:
        rows["white noise"] = noise_density(size)
    return Basis(name=name, size=size, neutral=neutral, rows=rows)
