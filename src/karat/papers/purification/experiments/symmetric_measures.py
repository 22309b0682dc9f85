"""What is measured on a symmetric net: errors without and under attack, certificates, its tangent."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.core.compiled import Array
from karat.papers.purification.bounds import mixture_ratio
from karat.papers.purification.experiments.pure_start_config import PureStartConfig
from karat.reductions.symmetric import SparsePoints, SymmetricNet, attack, draw_points, strongest
from karat.reductions.symmetric.perturbation import Start
from karat.reductions.symmetric.worst_case import tangent_deviation, worst_margins

CHUNK = 2**21
"""Codes that are held in memory at once."""

MOVES: tuple[Start, ...] = ("universal", "fast gradient")
"""Attacks by one move."""


def wrong(margin: Array, label: Array) -> NDArray[np.bool_]:
    """(n,) bool: the sign of the output is not the label; the sign of zero is +1.

    Args:
        margin: y f.
        label: y.
    """
    return np.asarray(~((margin > 0) | ((margin == 0) & (label > 0))))


@dataclass(frozen=True, kw_only=True)
class SymmetricErrors:
    r"""A symmetric net on fresh inputs.

    Args:
        alpha: its pure part.
        beta: its dense mixture.
        gamma: coefficient of the neurons without a feature.
        law: :math:`(\beta/\alpha) / (E \|z\|_0 / d)`, mixture over the predicted one.
        objective: logistic loss plus regulariser.
        error: share of wrong inputs without attack.
        universal: moved along the universal direction.
        fgm: under the fast gradient method.
        attacked: under the strongest attack, on fewer inputs.
        certified: that are not proven right in the whole ball, on the same ones.
        fallen: moved along the universal direction by the length `fall` of the settings.
        fallen_dense: moved by :math:`-y M w^* / k^2`.
    """

    alpha: float
    beta: float
    gamma: float
    law: float
    objective: float
    error: float
    universal: float
    fgm: float
    attacked: float
    certified: float
    fallen: float
    fallen_dense: float


def measure(config: PureStartConfig, net: SymmetricNet, generator: np.random.Generator) -> SymmetricErrors:
    """Measure a net.

    Args:
        config: the attacks, and how many inputs.
        net: to be attacked.
        generator: of the inputs.
    """
    code, p = config.code, config.p
    # In the norm of the attack: along all features alike, 1/k^2 each.
    dense = config.sparsity**-2 * (math.sqrt(config.d) if p == 2 else 1.0)
    wrong_inputs, losses = [], []
    for points in _chunks(config, config.n_test, generator):
        margin = points.label * net(points)
        losses.append(np.logaddexp(0.0, -margin))
        wrong_inputs.append(wrong(margin, points.label))
    moved: list[list[NDArray[np.bool_]]] = [[], [], [], []]
    for points in _chunks(config, config.n_moved, generator):
        attacks = (
            attack(net, points, p, config.tau, start="universal"),
            attack(net, points, p, config.tau),
            attack(net, points, p, config.fall, start="universal"),
            attack(net, points, p, dense, start="universal"),
        )
        for errors, found in zip(moved, attacks, strict=True):
            errors.append(wrong(found.margin, points.label))
    universal, fgm, fallen, fallen_dense = (float(np.concatenate(errors).mean()) for errors in moved)
    attacked, certified = robust_errors(config, net, draw_points(code, config.n_attack, generator=generator))
    return SymmetricErrors(
        alpha=net.alpha,
        beta=net.beta,
        gamma=net.gamma,
        law=net.beta / net.alpha / mixture_ratio(code.expected_support, config.d),
        objective=float(np.concatenate(losses).mean()) + penalty(config, net),
        error=float(np.concatenate(wrong_inputs).mean()),
        universal=universal,
        fgm=fgm,
        attacked=attacked,
        certified=certified,
        fallen=fallen,
        fallen_dense=fallen_dense,
    )


def universal_error(config: PureStartConfig, net: SymmetricNet, points: SparsePoints) -> float:
    """Share of inputs that are wrong after the move along the universal direction by the length `fall`.

    Args:
        config: the norm and the length.
        net: to be attacked.
        points: inputs.
    """
    found = attack(net, points, config.p, config.fall, start="universal")
    return float(wrong(found.margin, points.label).mean())


def _chunks(config: PureStartConfig, count: int, generator: np.random.Generator) -> Iterator[SparsePoints]:
    """Draw inputs, as many at once as fit into memory."""
    rows = max(1, int(CHUNK / max(config.code.expected_support, 1.0)))
    while count > 0:
        yield draw_points(config.code, min(rows, count), generator=generator)
        count -= rows


def penalty(config: PureStartConfig, net: SymmetricNet) -> float:
    r"""The regulariser :math:`\lambda \sum_i (\|w_i\|^2/2 + \|w_i\|^3/3)`.

    Args:
        config: its weight.
        net: the neurons.

    Ref: purification, Sec 4
    """
    rows = ((net.copies * net.d, net.length), (net.hubs, net.hub_length))
    total = sum(count * (length**2 / 2 + length**3 / 3) for count, length in rows)
    return config.scaled_decay / config.d * total


def robust_errors(config: PureStartConfig, net: SymmetricNet, points: SparsePoints) -> tuple[float, float]:
    """Shares of inputs that an attack breaks, and that are not proven robust.

    Args:
        config: the ball.
        net: to be attacked.
        points: inputs; PGD attacks those that single moves do not break and no certificate proves.
    """
    # From cheap to dear: single moves break most of what can be broken, and no attack breaks what is proven.
    left = points
    for start in MOVES:
        left = left.select(~wrong(attack(net, left, config.p, config.tau, start=start).margin, left.label))
    unproven = left.select(
        wrong(worst_margins(net, left, config.p, config.tau, cells=config.cells), left.label)
    )
    found = strongest(net, unproven, config.p, config.tau, steps=config.pgd_steps)
    broken = len(points) - len(left) + int(wrong(found.margin, unproven.label).sum())
    return broken / len(points), (len(points) - len(left) + len(unproven)) / len(points)


@dataclass(frozen=True, kw_only=True)
class TangentDeviation:
    r"""How far a net is from its tangent in the l2 ball around an input.

    Args:
        reached: mean over inputs of :math:`|f(x + \delta) - f(x) - \langle \nabla f, \delta \rangle|` for
            the fast gradient method's or the universal perturbation, the larger one.
        bound: mean of an upper bound over the whole ball.
        worst_bound: the largest bound of an input.
    """

    reached: float
    bound: float
    worst_bound: float


def deviations(
    config: PureStartConfig, net: SymmetricNet, generator: np.random.Generator
) -> TangentDeviation | None:
    """Compare a net with its tangents; None in l_inf, where the text says nothing of it.

    Args:
        config: the ball, and how many inputs.
        net: with alpha > beta.
        generator: of the inputs.
    """
    if config.p != 2:
        return None
    points = draw_points(config.code, config.n_linear, generator=generator)
    seen = net.look(points)
    slope, rest = net.input_gradient(seen)
    reached = np.zeros(len(points))
    for start in MOVES:
        found = attack(net, points, 2, config.tau, start=start)
        tangent = points.row_sums(slope * found.values) + (points.d - points.support) * rest * found.rest
        reached = np.maximum(reached, np.abs(points.label * found.margin - seen.f - tangent))
    bound = np.minimum(tangent_deviation(net, points, config.tau, cells=8), 1e9)
    return TangentDeviation(
        reached=float(reached.mean()), bound=float(bound.mean()), worst_bound=float(bound.max())
    )
