"""What a half-space says about the other neurons: how far they can move in the part of the ball it leaves."""

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from karat.certificates.space import Space
from karat.core.norms import dual_exponent, norm

_PAD = 1e-12  # of magnitudes, on top of the rounding of inner products; far below anything that matters
_MOST = 1500  # neurons up to which a table per neuron is affordable
_RATIOS = (0.3, 0.6, 1.0, 1.6, 3.0)  # multipliers tried, in units of |w_j|_q / |w_i|_q


class Tightening(Protocol):
    """How far the other neurons can move; `pad` is what rounding may cost, relative to magnitudes."""

    @property
    def pad(self) -> float:
        """Relative error of the bounds."""
        ...

    def reach(self, neuron: Tensor, side: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        """Bounds (N, U) on <w_j, delta> and -<w_j, delta> over the ball where side <w_i, delta> >= distance.

        Args:
            neuron: (N,) the indices i.
            side: (N,) +1 or -1.
            distance: (N,), all of the search coordinates.
        """
        ...


@dataclass(frozen=True, eq=False)
class Caps:
    """In l2 exactly: the ball cut by a half-space is a cap, and only the cosine of two weights matters.

    Args:
        length: (U,) lengths of the weights.
        cosines: (U, U) between them.
        tau: radius of the ball.
        pad: relative error of the bounds.
    """

    length: Tensor
    cosines: Tensor
    tau: float
    pad: float

    def reach(self, neuron: Tensor, side: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        """See `Tightening`.

        Args:
            neuron: (N,) the neurons that are cut.
            side: (N,) +1 or -1.
            distance: (N,) of the half-space from the centre.
        """
        cosine = side.unsqueeze(1) * self.cosines[neuron]
        away = (distance / self.length[neuron]).unsqueeze(1)
        return self.length * self._cap(away, cosine), self.length * self._cap(away, -cosine)

    def _cap(self, distance: Tensor, cosine: Tensor) -> Tensor:
        return cap(distance, cosine, self.tau, self.pad)


@dataclass(frozen=True, eq=False)
class Multipliers:
    """In every norm: <w_j, delta> <= max over the ball of <w_j + lam n, delta> - lam distance, lam >= 0.

    The maxima depend on the pair of neurons alone, so they are tabulated when a neuron is first cut.

    Args:
        space: the search space.
        length: (U,) dual norms of the weights.
        pad: relative error of the bounds.
        tables: neuron -> its maxima, filled on the way.
    """

    space: Space
    length: Tensor
    pad: float
    tables: dict[int, Tensor] = field(default_factory=dict)

    def reach(self, neuron: Tensor, side: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        """See `Tightening`.

        Args:
            neuron: (N,) the neurons that are cut.
            side: (N,) +1 or -1.
            distance: (N,) of the half-space from the centre.
        """
        table = torch.stack([self._table(i) for i in neuron.tolist()])
        # A ball is symmetric: the mirrored half-space swaps up and down.
        forward = (side > 0).reshape(-1, 1, 1, 1)
        table = torch.where(forward, table, table.flip(1))
        share = torch.tensor(_RATIOS, dtype=table.dtype)
        lam = share.unsqueeze(1) * self.length / self.length[neuron].reshape(-1, 1, 1)
        price = lam * distance.reshape(-1, 1, 1)
        plain = float(self.space.ball.tau) * self.length
        bounds = [torch.minimum((table[:, k] - price).amin(dim=1), plain) for k in range(2)]
        return bounds[0], bounds[1]

    def _table(self, i: int) -> Tensor:
        """(2, ratios, U) maxima of w_j + lam w_i, and of w_j - lam w_i."""
        if i not in self.tables:
            W, q = self.space.W, dual_exponent(self.space.ball.p)
            unit = W[i] / self.length[i]
            rows = [
                norm(W + sign * ratio * self.length.unsqueeze(1) * unit, q)
                for sign in (1.0, -1.0)
                for ratio in _RATIOS
            ]
            table = float(self.space.ball.tau) * torch.stack(rows).reshape(2, len(_RATIOS), len(W))
            self.tables[i] = table
        return self.tables[i]


def tightening_of(space: Space) -> Tightening | None:
    """The tightening of a search space; None where a neuron has no weights or there are too many of them."""
    length = norm(space.W, dual_exponent(space.ball.p))
    pad = _PAD + 8 * space.problem.gamma
    if len(length) == 0 or not bool((length > 0).all()):
        return None
    if space.ball.p != 2:
        return Multipliers(space, length, pad) if len(length) <= _MOST else None
    unit = space.W / length.unsqueeze(1)
    return Caps(length, (unit @ unit.T).clamp(-1, 1), float(space.ball.tau), pad)


def cap(distance: Tensor, cosine: Tensor, tau: float, pad: float = _PAD) -> Tensor:
    r"""The largest :math:`\langle v, \delta\rangle` in the part of an l2 ball beyond a half-space.

    .. math:: \max \{\langle v, \delta\rangle : \|\delta\| \le \tau,\ \langle n, \delta\rangle \ge t\}
        \quad \text{for unit vectors with } \langle v, n\rangle = c

    It is tau if the ball's own maximiser obeys the constraint, else the maximum over the circle where both
    are tight, :math:`t c + \sqrt{\tau^2 - t^2} \sqrt{1 - c^2}`. Roots are rounded upwards.

    Args:
        distance: t.
        cosine: c.
        tau: radius of the ball.
        pad: relative error charged under the roots.
    """
    inner = (tau * tau - distance.square()).clamp_min(0) + pad * tau * tau
    outer = (1 - cosine.square()).clamp_min(0) + pad
    on_circle = distance * cosine + inner.sqrt() * outer.sqrt()
    return torch.where(tau * cosine >= distance, torch.full_like(on_circle, tau), on_circle.clamp_max(tau))
