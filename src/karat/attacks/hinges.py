"""A two-layer net of hinges: what a classifier may offer so that l_inf steps are taken by changes of sign."""

from typing import Protocol

import torch
from torch import Tensor

from karat.attacks.routes import worthwhile
from karat.core.classifier import Classifier

# A walk ends once it adds more than this share of the numbers that dense steps add: each one of its own costs
# several times as much.
LIMIT = 0.1
# Numbers of x walked before the work is judged, and then at a time.
FIRST, CHUNK = 60_000, 500_000
ROUNDING = 32.0


class Hinges(Protocol):
    """A net whose neurons are straight on either side of zero.

    margin(x) = sign * (offset + sum_s weight_s phi(<w_s, x> + bias_s)),   phi(z) = max(z, slope z)
    """

    @property
    def W(self) -> Tensor:
        """Hidden weights, (m, d)."""
        ...

    @property
    def bias(self) -> Tensor:
        """Hidden biases, (m,)."""
        ...

    @property
    def weight(self) -> Tensor:
        """Output weights with every scaling inside, (m,)."""
        ...

    @property
    def offset(self) -> Tensor:
        """Output offset, ()."""
        ...

    @property
    def slope(self) -> float:
        """Derivative of phi below zero, between 0 and 1."""
        ...

    @property
    def sign(self) -> Tensor:
        """Labels +-1, (n,)."""
        ...


def hinges_of(classifier: Classifier, x: Tensor, y: Tensor, steps: int) -> Hinges | None:
    """The net as hinges if the classifier knows it so and a walk by signs is worth it.

    A classifier that may know its net so has a method `hinges(x, y)`, which returns None where it does not.

    Args:
        classifier: what is attacked.
        x: (n, d) inputs.
        y: (n,) labels.
        steps: gradient steps of one run.
    """
    known = getattr(classifier, "hinges", None)
    if known is None:
        return None
    found: Hinges | None = known(x, y)
    if found is None or found.W.dtype != x.dtype or found.W.shape[1] != x.shape[1]:
        return None
    return found if worthwhile(x, len(found.W), steps) else None


class Walk:
    """Sign descent in an l_inf ball, sample by sample.

    Args:
        hinges: the net and the labels.
        step, tau: (n,) length of a step and radius.
        steps: their number.
        keep_best: return the best point of every sample.
        until_broken: leave it once its margin is <= 0.
    """

    def __init__(
        self, hinges: Hinges, step: Tensor, tau: Tensor, steps: int, *, keep_best: bool, until_broken: bool
    ) -> None:
        self._net, self._step, self._tau, self._steps = hinges, step, tau, steps
        self._keep_best, self._until_broken, self._watch = keep_best, until_broken, keep_best or until_broken
        self._W, self._weight = hinges.W.detach().contiguous(), hinges.weight.detach().contiguous()
        self._columns = self._W.T.contiguous()

    @torch.no_grad()
    def __call__(self, x: Tensor, delta: Tensor) -> tuple[Tensor, Tensor]:
        """Points (the best ones if watched, else the last ones) and best margins of the first samples.

        The walk ends before a sample where something is not finite, or after samples that were hard (so many
        signs changed that dense steps are cheaper); what comes then is left to dense steps.
        """
        last, margin = x.new_empty(x.shape), x.new_empty(len(x))
        best = x.new_empty(x.shape) if self._watch else last
        low, share = 0, 0.0
        first, chunk = (max(1, size // x.shape[1]) for size in (FIRST, CHUNK))
        while low < len(x) and share < LIMIT:
            rows = slice(low, min(len(x), low + (chunk if low else first)))
            found = self._walk(x[rows], delta[rows], rows, last[rows], best[rows], margin[rows])
            if found is None:
                break
            low, share = rows.stop, found
        return (best if self._keep_best else last)[:low], margin[:low]

    def _walk(
        self, x: Tensor, start: Tensor, rows: slice, last: Tensor, best: Tensor, best_margin: Tensor
    ) -> float | None:
        """Write the outcome for some samples; returns the work as a share of that of dense steps.

        None if something is not finite: then nothing is said of these samples.
        """
        from karat.attacks.sign_walk import sign_walk  # Numba takes a second to import
        from karat.core.compiled import scalar_like

        W, columns, weight, slope = self._W, self._columns, self._weight, self._net.slope
        sign, step, tau = (t[rows].contiguous() for t in (self._net.sign, self._step, self._tau))
        offset = self._net.offset.detach()
        H = torch.addmm(self._net.bias.detach(), x + start, columns)
        active = H > 0
        G = (torch.where(active, weight, slope * weight) * sign.unsqueeze(1)) @ W
        torch.mul(sign, torch.where(active, H, slope * H) @ weight + offset, out=best_margin)
        if not bool(torch.isfinite(G.sum(dim=1) + best_margin).all()):
            return None
        bound = tau.unsqueeze(1)
        torch.clamp(torch.addcmul(start, G.sign(), step.unsqueeze(1), value=-1), -bound, bound, out=last)
        if self._until_broken:
            broken = best_margin <= 0
            last[broken] = start[broken]
        if self._watch:
            best.copy_(start)
        move = last - start
        work = sign_walk(
            H=H.numpy(),
            G=G.numpy(),
            delta=last.numpy(),
            move=move.numpy(),
            R=(move @ columns).numpy(),
            W=W.numpy(),
            columns=columns.numpy(),
            weight=weight.numpy(),
            slope=scalar_like(slope, x),
            offset=scalar_like(float(offset), x),
            rounding=scalar_like(ROUNDING * torch.finfo(x.dtype).eps, x),
            sign=sign.numpy(),
            step=step.numpy(),
            tau=tau.numpy(),
            steps=self._steps,
            watch=self._watch,
            until_broken=self._until_broken,
            best=best.numpy(),
            best_margin=best_margin.numpy(),
        )
        if bool(best_margin.isnan().any()):
            return None
        return work / (2 * self._steps * len(x) * W.numel())
