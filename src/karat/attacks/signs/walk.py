"""Sign descent on a net of hinges, some samples at a time, as long as it is cheaper than dense steps."""

import torch
from torch import Tensor

from karat.attacks.routes import worthwhile
from karat.core.classifier import Classifier
from karat.core.hinges import HasHinges, Hinges

# A walk ends once it adds more than this share of the numbers that dense steps add: each one of its own costs
# several times as much.
LIMIT = 0.1
# Numbers of x walked before the work is judged, and then at a time.
FIRST, CHUNK = 60_000, 500_000
ROUNDING = 32.0


def walkable_hinges(classifier: Classifier, x: Tensor, y: Tensor, steps: int) -> Hinges | None:
    """The net as hinges if the classifier knows it so and a walk by signs is worth it.

    Args:
        classifier: what is attacked.
        x: (n, d) inputs.
        y: (n,) labels.
        steps: gradient steps of one run.
    """
    hinges = classifier.hinges(x, y) if isinstance(classifier, HasHinges) else None
    if hinges is None or hinges.W.dtype != x.dtype or hinges.W.shape[1] != x.shape[1]:
        return None
    return hinges if worthwhile(x, len(hinges.W), steps) else None


class Walk:
    """Sign descent in an l_inf ball, sample by sample.

    Args:
        hinges: the net and the labels.
        step: (n,) lengths of a step.
        tau: (n,) radii.
        steps: their number.
        keep_best: return the best point of every sample.
        until_broken: leave it once its margin is <= 0.
    """

    def __init__(
        self, hinges: Hinges, step: Tensor, tau: Tensor, steps: int, *, keep_best: bool, until_broken: bool
    ) -> None:
        self._hinges, self._step, self._tau, self._steps = hinges, step, tau, steps
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
            cost = self._walk(x[rows], delta[rows], rows, last[rows], best[rows], margin[rows])
            if cost is None:
                break
            low, share = rows.stop, cost
        return (best if self._keep_best else last)[:low], margin[:low]

    def _walk(
        self, x: Tensor, start: Tensor, rows: slice, last: Tensor, best: Tensor, best_margin: Tensor
    ) -> float | None:
        """Write the outcome for some samples; returns the work as a share of that of dense steps.

        None if something is not finite: then nothing is said of these samples.
        """
        from karat.attacks.signs.steps import Net, Points, Reach, Rules, sign_walk  # Numba takes a second
        from karat.core.compiled import scalar_like

        W, columns, weight, slope = self._W, self._columns, self._weight, self._hinges.slope
        sign, step, tau = (t[rows].contiguous() for t in (self._hinges.sign, self._step, self._tau))
        offset = self._hinges.offset.detach()
        H = torch.addmm(self._hinges.bias.detach(), x + start, columns)
        active = H > 0
        G = (torch.where(active, weight, slope * weight) * sign.unsqueeze(1)) @ W
        torch.mul(sign, torch.where(active, H, slope * H) @ weight + offset, out=best_margin)
        if not bool(torch.isfinite(G.sum(dim=1) + best_margin).all()):
            return None
        # The first step is a dense one; the walk goes on from there.
        bound = tau.unsqueeze(1)
        torch.clamp(torch.addcmul(start, G.sign(), step.unsqueeze(1), value=-1), -bound, bound, out=last)
        if self._until_broken:
            broken = best_margin <= 0
            last[broken] = start[broken]
        if self._watch:
            best.copy_(start)
        move = last - start
        arrays = (H, G, last, move, move @ columns, best, best_margin)
        work = sign_walk(
            Net(
                W.numpy(),
                columns.numpy(),
                weight.numpy(),
                scalar_like(slope, x),
                scalar_like(float(offset), x),
            ),
            Reach(sign.numpy(), step.numpy(), tau.numpy()),
            Points(*(tensor.numpy() for tensor in arrays)),
            Rules(
                self._steps,
                self._watch,
                self._until_broken,
                scalar_like(ROUNDING * torch.finfo(x.dtype).eps, x),
            ),
        )
        if bool(best_margin.isnan().any()):
            return None
        return work / (2 * self._steps * len(x) * W.numel())
