r"""How much of what training removes from a filter is only the start that it still remembers.

The weights of a filter are :math:`w_0` at the start, :math:`w` before and :math:`w'` after the training in
question.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_shape
from karat.probes.cosines import chance_cosine
from karat.probes.live_rows import live_filters
from karat.probes.roughness import roughness


@dataclass(frozen=True, kw_only=True)
class Leftover:
    r"""Means over filters; what is rough is NaN for weights that are no pictures.

    Args:
        energy_before: share of :math:`\|w\|^2` along the filter's own :math:`w_0`.
        energy_after: share of :math:`\|w'\|^2` along it.
        cosine: of :math:`w' - w` with the own :math:`w_0`, negative where the start is forgotten.
        cosine_others: mean absolute cosine of :math:`w' - w` with the starts of other filters.
        chance: mean absolute cosine of unrelated directions in this dimension.
        rough_before: roughness of :math:`w`.
        rough_after: roughness of :math:`w'`.
        rest_before: roughness of :math:`w` without its component along :math:`w_0`.
        rest_after: roughness of :math:`w'` without its component along :math:`w_0`.
    """

    energy_before: float
    energy_after: float
    cosine: float
    cosine_others: float
    chance: float
    rough_before: float
    rough_after: float
    rest_before: float
    rest_after: float

    @property
    def forgotten(self) -> float:
        """Share of the fall in roughness that vanishes once the starts are projected out; NaN without one."""
        fall = self.rough_before - self.rough_after
        return 1 - (self.rest_before - self.rest_after) / fall if fall > 0 else math.nan


def leftover(start: Tensor, before: Tensor, after: Tensor, *, alive: float = 0.05) -> Leftover:
    r"""Decompose :math:`w' - w` along each filter's own start.

    Args:
        start: (m, ...) weights of one layer at the start, a row per filter.
        before: the same before the training in question.
        after: the same after it.
        alive: rows of `before` not longer than this share of the median row show no feature and are left out.

    Reading: roughness is that of unit filters, so shares of falls in roughness are approximate where the
        norms change; the dense mixtures of the theory do not depend on the start, so what lies along
        :math:`w_0` is no evidence for it.

    Ref: purification, Fig 1
    """
    for name, tensor in (("before", before), ("after", after)):
        require_shape(tensor, name, tuple(start.shape))
    rows = live_filters(before.flatten(1).double(), alive)
    if not bool(rows.any()):
        raise ValueError("`leftover` needs a filter that is not zero in `before`.")
    w0, w, end = (tensor[rows].double() for tensor in (start, before, after))
    unit = torch.nn.functional.normalize(w0.flatten(1), dim=1)
    # Cosines of every filter's change with every start; the filter's own start is on the diagonal.
    cosines = torch.nn.functional.normalize((end - w).flatten(1), dim=1) @ unit.T
    own_start = cosines.diagonal()
    others = cosines.abs().sum() - own_start.abs().sum()
    pairs = len(w) * (len(w) - 1)
    return Leftover(
        energy_before=_energy_along(w, unit),
        energy_after=_energy_along(end, unit),
        cosine=float(own_start.mean()),
        cosine_others=float(others / pairs) if pairs else math.nan,
        chance=chance_cosine(unit.shape[1]),
        rough_before=_rough(w),
        rough_after=_rough(end),
        rest_before=_rough(_without(w, unit)),
        rest_after=_rough(_without(end, unit)),
    )


def _energy_along(w: Tensor, unit: Tensor) -> float:
    rows = torch.nn.functional.normalize(w.flatten(1), dim=1)
    return float((rows * unit).sum(dim=1).square().mean())


def _without(w: Tensor, unit: Tensor) -> Tensor:
    rows = w.flatten(1)
    return (rows - (rows * unit).sum(dim=1, keepdim=True) * unit).reshape(w.shape)


def _rough(w: Tensor) -> float:
    return float(roughness(w).mean()) if w.dim() == 4 and min(w.shape[2:]) > 1 else math.nan
