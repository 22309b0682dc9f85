r"""What training did to each layer's weights: cosines, movement, pairs, with the level that chance gives.

:math:`\theta` is the absolute cosine of `karat.probes.cosines`.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_shape
from karat.nets.weight_layers import WeightLayer
from karat.probes.cosines import LARGE, SMALL, abs_cosine, chance_cosine
from karat.probes.live_rows import live_filters

_MOST_ROWS = 2000


@dataclass(frozen=True, kw_only=True)
class LayerChange:
    r"""One layer before (w) and after (w'), and at the start (w0) where it is known: means over live rows.

    What starts with `start_` is NaN where the start is unknown.

    Args:
        name: of the layer.
        kind: of the layer, such as "linear" or "conv".
        m: rows.
        fan_in: numbers in a row.
        live: rows that are not nearly zero in either net.
        chance: mean theta of unrelated directions.
        theta: :math:`\theta(w, w')`.
        kept: share of rows with theta at least `LARGE`.
        pairs_before: mean theta between different rows of w.
        pairs_after: the same of w'.
        apart_before: share of pairs of rows of w with theta at most `SMALL`.
        apart_after: the same of w'.
        frobenius: :math:`\|W' - W\|_F`.
        relative: the same over :math:`\|W\|_F`.
        row: largest :math:`\|w' - w\|_2`.
        row_scaled: :math:`\sqrt m` times it, the unit of the lazy theory.
        start_before: :math:`\theta(w_0, w)`.
        start_after: :math:`\theta(w_0, w')`.
        start_relative: :math:`\|W - W_0\|_F / \|W_0\|_F`.
        start_row_scaled: :math:`\sqrt m` times the largest :math:`\|w - w_0\|_2`.
    """

    name: str
    kind: str
    m: int
    fan_in: int
    live: int
    chance: float
    theta: float
    kept: float
    pairs_before: float
    pairs_after: float
    apart_before: float
    apart_after: float
    frobenius: float
    relative: float
    row: float
    row_scaled: float
    start_before: float = math.nan
    start_after: float = math.nan
    start_relative: float = math.nan
    start_row_scaled: float = math.nan


def layer_change(before: WeightLayer, after: WeightLayer, start: WeightLayer | None = None) -> LayerChange:
    """Cosines and movement of one layer.

    Args:
        before: the layer before training.
        after: the layer after training.
        start: the layer where all training began, None if unknown.

    Reading: rows shorter than 5 % of the median row in either net carry no feature and are left out of the
        cosines, not of the movement. Wide layers are represented by 2000 evenly spaced rows in the pairs.

    Ref: purification, Fig 2
    """
    w, end = before.rows.double(), after.rows.double()
    require_shape(end, after.name, tuple(w.shape))
    m, fan_in = w.shape
    live = live_filters(w) & live_filters(end)
    theta = abs_cosine(w, end)[live]
    move = torch.linalg.vector_norm(end - w, dim=1)
    pairs = [_pairs(table[live]) for table in (w, end)]
    size = float(torch.linalg.norm(w))
    known = {} if start is None else _from_start(start.rows.double(), w, end, live)
    return LayerChange(
        name=before.name,
        kind=before.kind,
        m=m,
        fan_in=fan_in,
        live=int(live.sum()),
        chance=chance_cosine(fan_in),
        theta=_mean(theta),
        kept=_mean((theta >= LARGE).double()),
        pairs_before=pairs[0][0],
        pairs_after=pairs[1][0],
        apart_before=pairs[0][1],
        apart_after=pairs[1][1],
        frobenius=float(torch.linalg.norm(move)),
        relative=float(torch.linalg.norm(move)) / size if size > 0 else math.nan,
        row=float(move.max()),
        row_scaled=math.sqrt(m) * float(move.max()),
        **known,
    )


def layer_changes(
    before: list[WeightLayer], after: list[WeightLayer], start: list[WeightLayer] | None = None
) -> tuple[LayerChange, ...]:
    """`layer_change` of every layer; the nets must have the same layers of the same sizes.

    Args:
        before: layers before training.
        after: layers after training.
        start: layers where all training began, None if unknown.
    """
    shapes = [(layer.name, tuple(layer.rows.shape)) for layer in before]
    for name, layers in (("after", after), ("start", start)):
        if layers is not None and [(layer.name, tuple(layer.rows.shape)) for layer in layers] != shapes:
            raise ValueError(f"`before` and `{name}` must have the same layers of the same sizes.")
    first = [None] * len(before) if start is None else start
    return tuple(layer_change(w, end, w0) for w, end, w0 in zip(before, after, first, strict=True))


def _from_start(start: Tensor, w: Tensor, end: Tensor, live: Tensor) -> dict[str, float]:
    size, move = float(torch.linalg.norm(start)), torch.linalg.vector_norm(w - start, dim=1)
    return {
        "start_before": _mean(abs_cosine(start, w)[live]),
        "start_after": _mean(abs_cosine(start, end)[live]),
        "start_relative": float(torch.linalg.norm(move)) / size if size > 0 else math.nan,
        "start_row_scaled": math.sqrt(len(w)) * float(move.max()),
    }


def _pairs(w: Tensor) -> tuple[float, float]:
    """Mean theta over pairs of different rows, and the share of pairs at most 0.2."""
    if len(w) > _MOST_ROWS:
        w = w[torch.linspace(0, len(w) - 1, _MOST_ROWS).long()]
    if len(w) < 2:
        return math.nan, math.nan
    unit = torch.nn.functional.normalize(w, dim=1)
    theta = (unit @ unit.T).abs()[~torch.eye(len(w), dtype=torch.bool)]
    return _mean(theta), _mean((theta <= SMALL).double())


def _mean(values: Tensor) -> float:
    return float(values.mean()) if values.numel() else math.nan
