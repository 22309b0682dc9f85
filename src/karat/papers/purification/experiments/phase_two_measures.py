r"""What is measured of a symmetric net after the lottery: growth, slopes, and the linear net beside it.

A neuron of feature i sees :math:`u_i = (\alpha - \beta) z_i + \beta S`, with the score :math:`S = \langle
w^*, z \rangle`; signs are turned such that :math:`w^* = 1`. Input and label turned around are as likely, so
that the mean over one half of a pair is half of the mean over both.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtr

from karat.core.compiled import Array
from karat.papers.purification.experiments.phase_two_config import PhaseTwoConfig
from karat.reductions.symmetric import SparsePoints, SymmetricNet, require_one_class
from karat.reductions.symmetric.net import Look

WHAT = "measures of training after the lottery"
"""They read the first class of neurons."""

CODES = (1.0, 0.5, 0.2, 0.1, 0.05)
"""Sizes of the code whose effect on f is looked at, beside the smallest one."""


def slope_of_loss(margin: Array) -> Array:
    r""":math:`\ell' = 1/(1 + e^{y f})`, exact far from the boundary, too.

    Args:
        margin: y f.
    """
    return np.asarray(np.exp(-np.logaddexp(0.0, margin)))


@dataclass(frozen=True, eq=False)
class Pass:
    """One look at some points, with the sums that all expectations need.

    Args:
        seen: outputs and gates.
        y: (n,) labels.
        steep: (n,) l'.
        awake: (n,) sum of the gates of all neurons that hold a feature.
    """

    seen: Look
    y: Array
    steep: Array
    awake: Array


def look_at(net: SymmetricNet, points: SparsePoints, y: Array) -> Pass:
    """Look at points once.

    Args:
        net: at a stop.
        points: inputs.
        y: (n,) their labels.
    """
    require_one_class(net, WHAT)
    seen = net.look(points)
    awake = points.row_sums(seen.gates[0]) + (points.d - points.support) * seen.rest_gate[:, 0]
    return Pass(seen, y, slope_of_loss(y * seen.f), awake)


def growth(config: PhaseTwoConfig, found: Pass) -> dict[str, float]:
    r"""Growth of a winner's coordinate and the largest of all others.

    .. math:: d\,E\big[y\, \ell'\, 1[\langle w_i, x \rangle + \rho_i \ge b]\, z_j\big]

    averaged over all permutations of the features: for i = j a sum over the codes that are on, for
    :math:`i \ne j` the sum over all pairs over d - 1.

    Args:
        config: says by which labels.
        found: one look.

    Ref: purification, Lem C.14; purification, Lem C.16
    """
    points, seen = found.seen.points, found.seen
    own = points.row_sums(seen.gates[0] * points.values)
    signed = found.y * found.steep
    winner = points.row_sums(seen.gates[0] * np.abs(points.values)) * found.steep
    if config.labels != "own":
        winner = own * signed
    other = (found.awake * points.score - own) * signed / (points.d - 1)
    hub = seen.hub_gate[:, 0] * points.score * signed
    return {
        "own": float(winner.mean()) / 2,
        "others": max(abs(float(other.mean())), abs(float(hub.mean()))) / 2,
    }


def noise_growth(net: SymmetricNet, found: Pass) -> dict[str, float]:
    r"""How input noise moves coordinates, in units of :math:`\sigma_x^2/d`, for small :math:`\sigma_x`.

    By Stein's identity :math:`\frac{d}{\sigma_x^2} E[y\, \ell' G_i \langle \xi, M_j \rangle]` is

    .. math:: w_{ij}\, E[y\, \ell'\, \varphi((u_i - b)/\sigma_\rho)]/\sigma_\rho
        - E[\ell' (1 - \ell')\, G_i\, \partial_j f]

    with the gate G of one half and the density :math:`\varphi`.

    Args:
        net: at a stop, with noise.
        found: one look.

    Ref: purification, Lem C.17
    """
    require_one_class(net, WHAT)
    points, seen, d = found.seen.points, found.seen, net.d
    slope, rest_slope = net.input_gradient(seen)
    off = points.d - points.support
    score, signed = points.score, found.y * found.steep
    u = (net.alpha - net.beta) * points.values + net.beta * points.per_entry(score)
    edge = points.row_sums(_edge(u, net)) + off * _edge(net.beta * score, net)
    bend = found.steep * (1 - found.steep)
    own = points.row_sums(seen.gates[0] * slope) + off * seen.rest_gate[:, 0] * rest_slope
    every = points.row_sums(slope) + off * rest_slope
    edge_mean = float((signed * edge).mean()) / d
    own_bend, pair_bend = (float((bend * part).mean()) / 2 for part in (own, found.awake * every - own))
    hub = net.gamma * float((signed * _edge(net.gamma * score, net)).mean())
    hub -= float((bend * seen.hub_gate[:, 0] * every).mean()) / 2 / d
    return {
        "own_noise": abs(net.alpha * edge_mean - own_bend / d),
        "other_noise": max(abs(net.beta * edge_mean - pair_bend / (d * (d - 1))), abs(hub)),
    }


def _edge(u: Array, net: SymmetricNet) -> Array:
    """Density of the noise at the edge of one half, by both halves: y turns with u."""
    root = math.sqrt(2 * math.pi) * net.sigma_rho
    low, high = (u - net.threshold) / net.sigma_rho, (u + net.threshold) / net.sigma_rho
    return np.asarray((np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / (2 * root))


def with_code(points: SparsePoints, size: float) -> SparsePoints:
    """The points with one more code, on a coordinate that was off.

    Args:
        points: inputs, most coordinates of which are off.
        size: of the code.
    """
    offsets = points.offsets + np.arange(len(points) + 1)
    values = np.insert(points.values, points.offsets[1:], size)
    return SparsePoints(points.d, values, offsets, points.rest)


def lipschitz(config: PhaseTwoConfig, net: SymmetricNet, points: SparsePoints) -> dict[str, float]:
    r"""The largest change of f by one code over its size, and what others than its neuron can add to it.

    .. math:: L_{t,j} = \max \frac{|f(x) - f(x')|}{|z_j|}, \qquad
        |\beta| \max \sum_{i \ne j} 1[|\langle w_i, x \rangle| + \rho_i \ge b]

    Args:
        config: gives the smallest code.
        net: at a stop.
        points: inputs x' without the code.

    Reading: maxima over inputs; no number of draws shows a probability :math:`e^{-\log^2 d}`.

    Ref: purification, Def C.13; purification, Lem C.20
    """
    require_one_class(net, WHAT)
    before = net.look(points)
    steepest, most = 0.0, 0.0
    for size in (*CODES, 1 / math.sqrt(config.k)):
        for code in (size, -size):
            moved = with_code(points, code)
            after = net.look(moved)
            steepest = max(steepest, float(np.abs(after.f - before.f).max()) / size)
            gates = moved.row_sums(after.gates[0]) + (moved.d - moved.support) * after.rest_gate[:, 0]
            most = max(most, float(gates.max()))
    hubs = net.hubs * abs(net.gamma) * float(before.hub_gate.max())
    return {"lipschitz": steepest, "excess": abs(net.beta) * most + hubs}


def coupled(
    config: PhaseTwoConfig, net: SymmetricNet, points: SparsePoints, generator: np.random.Generator
) -> dict[str, float]:
    r"""The linear net of the same gates at :math:`\mu^*`, with neuron noise drawn, against :math:`\alpha S`.

    .. math:: g_t(\mu^*) = g_{t,1} + g_{t,4}, \qquad g_{t,1} = \alpha \sum_j z_j 1[\text{j awake}], \qquad
        g_{t,4} = \sum_i (\rho_i - b) \big(1[u_i + \rho_i \ge b] - 1[-u_i + \rho_i \ge b]\big)

    Args:
        config: gives alpha.
        net: at a stop.
        points: inputs.
        generator: of the noise.

    Reading: every neuron is the one sure winner of its feature. Noise is drawn for neurons whose code is on;
        all others enter with their mean.

    Ref: purification, Def D.3; purification, Def D.4
    """
    require_one_class(net, WHAT)
    b, sigma, score = net.threshold, net.sigma_rho, points.score
    u = (net.alpha - net.beta) * points.values + net.beta * points.per_entry(score)
    rho = sigma * generator.standard_normal(len(u))
    up, down = u + rho >= b, rho - u >= b
    off = points.d - points.support
    rest = points.row_sums((rho - b) * (up.astype(float) - down)) + off * _mean_rest(
        net.beta * score, b, sigma
    )
    linear = config.coupling * points.row_sums(points.values * (up.astype(float) + down))
    asleep = np.logaddexp(log_ndtr((b - np.abs(u)) / sigma), log_ndtr(-(b + np.abs(u)) / sigma))
    return {
        "unmatched": min(0.0, float(logsumexp(asleep)) - math.log(len(points))),
        "rest": float(np.abs(rest).max()),
        "deviation": float(np.abs(linear + rest - config.coupling * score).max()),
    }


def _mean_rest(u: Array, b: float, sigma: float) -> Array:
    """Mean of (rho - b) (1[u + rho >= b] - 1[-u + rho >= b])."""

    def half(v: Array) -> Array:
        p = (b - v) / sigma
        return np.asarray(sigma * np.exp(-(p**2) / 2) / math.sqrt(2 * math.pi) - b * ndtr(-p))

    return half(u) - half(-u)
