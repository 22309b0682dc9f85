"""Interval bounds: every layer's outputs between two numbers, one layer at a time."""

import math

import torch
from torch import Tensor

from karat.certificates.layers import Affine
from karat.certificates.profile import Profile
from karat.certificates.rounding import FUNCTION, UNDERFLOW, gamma
from karat.core.ball import Ball
from karat.core.norms import dual_exponent, per_sample

Chain = list[Affine | Profile]
Box = tuple[Tensor, Tensor]


def interval_bounds(chain: Chain, x: Tensor, ball: Ball) -> list[Box]:
    r"""Lower and upper ends of the input to every layer and of the output, rounded outwards.

    A first dense or convolutional layer sees the ball itself through the dual norm; all later ones see a box.

    .. math:: \text{centre} \to L\,\text{centre} + b, \qquad \text{radius} \to |L|\,\text{radius}, \qquad
        \psi \to \text{its range on the interval}

    Args:
        chain: layers.
        x: (n, ...) samples in float64.
        ball: the allowed perturbations.

    Returns:
        len(chain) + 1 pairs shaped like the layers' inputs, the last one of the output.
    """
    tau = per_sample(ball.radius(x), x)
    low, high = x - tau, x + tau
    if ball.box is not None:
        low, high = low.clamp_min(ball.box[0]), high.clamp_max(ball.box[1])
    boxes: list[Box] = [(low, high)]
    untouched = True
    for layer in chain:
        if isinstance(layer, Affine):
            exact = untouched and layer.kind in ("linear", "conv") and ball.p != math.inf
            box = _affine(layer, boxes[-1])
            if exact:
                box = _meet(box, _through_dual_norm(layer, x, ball))
            # A Flatten changes no number: the next layer still sees the ball.
            if layer.kind == "flatten":
                x = layer.forward(x)
            else:
                untouched = False
        else:
            box, untouched = range_of(layer, *boxes[-1]), False
        boxes.append(box)
    return boxes


def _affine(layer: Affine, box: Box) -> Box:
    low, high = box
    centre, radius = (low + high) / 2, (high - low) / 2
    middle, spread = layer.forward(centre), layer.absolute(radius)
    size = layer.absolute(centre.abs()) + spread + layer.offset(centre.shape[1:]).abs()
    pad = gamma(layer.terms) * (size + UNDERFLOW)
    return middle - spread - pad, middle + spread + pad


def _through_dual_norm(layer: Affine, x: Tensor, ball: Ball) -> Box:
    middle = layer.forward(x)
    spread = per_sample(ball.radius(x), middle) * layer.row_norms(x.shape[1:], dual_exponent(ball.p))
    size = layer.absolute(x.abs()) + spread + layer.offset(x.shape[1:]).abs()
    pad = gamma(layer.terms) * (size + UNDERFLOW)
    return middle - spread - pad, middle + spread + pad


def _meet(one: Box, other: Box) -> Box:
    return torch.maximum(one[0], other[0]), torch.minimum(one[1], other[1])


def range_of(profile: Profile, low: Tensor, high: Tensor) -> Box:
    """Smallest and largest psi on [low, high]: at the ends, the knots, or where a curved piece is flat.

    Args:
        profile: psi.
        low: lower ends of the intervals.
        high: upper ends.
    """
    points = [low, high, *(torch.minimum(low.clamp_min(knot), high) for knot in profile.knots)]
    for left, right, curvature in profile.pieces():
        if curvature != 0 and profile.steepness[0] < 0:  # only then can psi' vanish inside a piece
            p, q = low.clamp_min(left), high.clamp_max(right)
            inside = torch.maximum(p, q)
            points.append(profile.point_of_derivative(torch.zeros_like(p), p, inside, curvature))
    values = torch.stack([profile.value(s) for s in points])
    size = values.abs().amax(dim=0) + torch.maximum(low.abs(), high.abs()) + 2 * profile.size
    pad = FUNCTION * (size + UNDERFLOW)
    return values.amin(dim=0) - pad, values.amax(dim=0) + pad
