"""Linear relaxation through many layers: lines below and above every neuron, pulled back to the input."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.certificates.conjugate import conjugate
from karat.certificates.hull import hull_of
from karat.certificates.interval import Chain, interval_bounds
from karat.certificates.layers import Affine
from karat.certificates.profile import Profile
from karat.certificates.rounding import UNDERFLOW, gamma
from karat.certificates.support import support
from karat.core.ball import Ball

_WIDEST = 600  # neurons of a layer whose own intervals are worth a pull-back each


@dataclass(frozen=True, eq=False)
class Lines:
    """alpha t + constant below, and above, psi(t) for every neuron of a layer (n, ...)."""

    below: tuple[Tensor, Tensor]
    above: tuple[Tensor, Tensor]


def lines_of(profile: Profile, low: Tensor, high: Tensor) -> Lines:
    """The lines of the convex and the concave envelope at the middle of [low, high], sound after rounding.

    Args:
        profile: psi.
        low: lower ends of the intervals, of any shape.
        high: upper ends.
    """
    middle, sides = (low + high) / 2, []
    for sign in (1.0, -1.0):
        c = torch.full_like(low, sign)
        slope = hull_of(profile, c, low, high).slope_at(middle)
        constant, _ = conjugate(profile, c, slope, low, high)
        sides.append((sign * slope, sign * constant))
    return Lines(sides[0], sides[1])


def deep_bound(chain: Chain, x: Tensor, rows: Tensor, sample: Tensor, ball: Ball) -> tuple[Tensor, Tensor]:
    """Interval and linear-relaxation lower bounds (N,) of <row, output> over the ball.

    Args:
        chain: layers.
        x: (n, ...) float64.
        rows: (N, outputs).
        sample: (N,) the sample each row belongs to.
        ball: the allowed perturbations.

    Returns:
        bounds from intervals alone, and from pulling lines back, both with rounding charged.
    """
    with torch.no_grad():
        boxes = interval_bounds(chain, x, ball)
        ends = boxes[-1][0].reshape(len(x), -1)[sample], boxes[-1][1].reshape(len(x), -1)[sample]
        crude = (rows.clamp_min(0) * ends[0] + rows.clamp_max(0) * ends[1]).sum(dim=1)
        size = (rows.abs() * torch.maximum(ends[0].abs(), ends[1].abs())).sum(dim=1)
        crude = crude - gamma(rows.shape[1]) * (size + UNDERFLOW)
        lines: dict[int, Lines] = {}
        for k, layer in enumerate(chain):
            if isinstance(layer, Profile):
                low, high = _tightened(chain[:k], x, ball, boxes[k], lines)
                boxes[k] = (low, high)
                lines[k] = lines_of(layer, low, high)
        shape = boxes[-1][0].shape[1:]
        fine = _pull_back(chain, x, ball, rows.reshape(len(rows), *shape), sample, lines)
    return crude, torch.maximum(crude, fine)


def _tightened(
    chain: Chain, x: Tensor, ball: Ball, box: tuple[Tensor, Tensor], lines: dict[int, Lines]
) -> tuple[Tensor, Tensor]:
    """A hidden layer's intervals from pulled-back lines if the layer is small enough, else as they are."""
    width = math.prod(box[0].shape[1:])
    first = next((layer for layer in chain if isinstance(layer, Affine) and layer.kind != "flatten"), None)
    # Intervals of a first dense or convolutional layer are exact already.
    if width > _WIDEST or (not lines and first is not None and first.kind in ("linear", "conv")):
        return box
    low, high = box
    eye = torch.eye(width, dtype=torch.float64)
    parts = []
    for i in range(len(x)):
        index = torch.full((2 * width,), i)
        rows = torch.cat([eye, -eye]).reshape(2 * width, *box[0].shape[1:])
        parts.append(_pull_back(chain, x, ball, rows, index, lines))
    pulled = torch.stack(parts).reshape(len(x), 2, *box[0].shape[1:])
    return torch.maximum(low, pulled[:, 0]), torch.minimum(high, -pulled[:, 1])


def _pull_back(
    chain: Chain,
    x: Tensor,
    ball: Ball,
    rows: Tensor,
    sample: Tensor,
    lines: dict[int, Lines],
) -> Tensor:
    """Lower bounds (N,) of <row, output of the chain>, from the last layer to the input.

    `size` follows the same path with absolute values: the sum of all products that were rounded. It never
    falls below UNDERFLOW, so that products which vanish on the way are charged, too.
    """
    shapes = _input_shapes(chain, x)
    coefficient, size = rows, rows.abs()
    constant, total = torch.zeros(len(rows)).double(), torch.zeros(len(rows)).double()
    operations = 0
    for k in range(len(chain) - 1, -1, -1):
        layer = chain[k]
        if isinstance(layer, Affine):
            offset = layer.offset(shapes[k])
            constant = constant + (coefficient * offset).flatten(1).sum(dim=1)
            total = total + (size * (offset.abs() + UNDERFLOW)).flatten(1).sum(dim=1)
            coefficient = layer.pull_back(coefficient, shapes[k])
            size = layer.pull_back(size, shapes[k], absolute=True) + UNDERFLOW
            operations += layer.terms + math.prod(coefficient.shape[1:]) + offset.numel()
            continue
        below, above = lines[k].below, lines[k].above
        plus, minus = coefficient.clamp_min(0), coefficient.clamp_max(0)
        constant = constant + (plus * below[1][sample] + minus * above[1][sample]).flatten(1).sum(dim=1)
        heights = torch.maximum(below[1].abs(), above[1].abs())[sample]
        total = total + (size * (heights + UNDERFLOW)).flatten(1).sum(dim=1)
        coefficient = plus * below[0][sample] + minus * above[0][sample]
        size = size * torch.maximum(below[0].abs(), above[0].abs())[sample] + UNDERFLOW
        operations += coefficient[0].numel()
    flat, centre = coefficient.flatten(1), x.flatten(1)[sample]
    ball = ball.with_tau(ball.radius(x)[sample])
    grown = support(-flat, ball, centre)
    total = total + (size.flatten(1) * (centre.abs() + UNDERFLOW)).sum(dim=1)
    total = total + 2 * support(size.flatten(1), _plain(ball))
    operations += 2 * flat.shape[1]
    return constant + (flat * centre).sum(dim=1) - grown - gamma(operations) * (total + UNDERFLOW)


def _plain(ball: Ball) -> Ball:
    return Ball(ball.p, ball.tau)


def _input_shapes(chain: Chain, x: Tensor) -> list[torch.Size]:
    shapes, state = [], x[:1]
    for layer in chain:
        shapes.append(state.shape[1:])
        state = layer.forward(state) if isinstance(layer, Affine) else state
    return shapes
