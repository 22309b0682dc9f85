"""How much of what training removes from a filter is only the start it still remembers."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_shape
from karat.probes.roughness import roughness


@dataclass(frozen=True, kw_only=True)
class Leftover:
    """Means over filters; w0 at the start, w before and w' after the training in question.

    Args:
        energy_before, energy_after: share of |w|^2 and |w'|^2 along the filter's own w0.
        cosine: of w' - w with the own w0, negative where the start is forgotten.
        cosine_others: mean |cos| with the starts of other filters.
        chance: mean |cos| of unrelated directions in this dimension.
        rough_before, rough_after: of the filters.
        rest_before, rest_after: of the filters without their component along w0; NaN for weights that are no
            pictures.
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
    """Decompose w' - w along each filter's own start.

    Args:
        start, before, after: (m, ...) weights of one layer, a row per filter.
        alive: rows of w not longer than this share of the median row are left out, they show no feature.

    Reading: roughness is that of unit filters, so shares of falls in roughness are approximate where the
        norms change; the dense mixtures of the theory do not depend on the start, so what lies along w0 is
        no evidence for it.

    Ref: purification, Fig 1
    """
    for name, tensor in (("before", before), ("after", after)):
        require_shape(tensor, name, tuple(start.shape))
    length = before.flatten(1).double().norm(dim=1)
    rows = length > alive * length.median()
    if not bool(rows.any()):
        raise ValueError("`leftover` needs a filter that is not zero in `before`.")
    w0, w, end = (tensor[rows].double() for tensor in (start, before, after))
    unit = torch.nn.functional.normalize(w0.flatten(1), dim=1)
    change = torch.nn.functional.normalize((end - w).flatten(1), dim=1) @ unit.T
    own = change.diagonal()
    others = change.abs().sum() - own.abs().sum()
    pairs = len(own) * (len(own) - 1)
    return Leftover(
        energy_before=_energy_along(w, unit),
        energy_after=_energy_along(end, unit),
        cosine=float(own.mean()),
        cosine_others=float(others / pairs) if pairs else math.nan,
        chance=math.sqrt(2 / (math.pi * unit.shape[1])),
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
