"""The Lasso for many targets at once: a path of sparse codes with their errors and duality gaps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.checks import require_integer, require_number, require_shape

RATIOS = (0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0.007, 0.003)
"""Weights of the l1 norm along a path, in units of the smallest weight that makes every coefficient zero."""


@dataclass(frozen=True, eq=False)
class LassoPath:
    """Solutions for falling weights of the l1 norm, one row per weight and one column per target.

    Args:
        ratios: (L,) weights in units of each target's largest correlation with an atom.
        nonzeros: (L, n) exactly non-zero coefficients.
        errors: (L, n) squared error over squared length.
        gaps: (L, n) duality gap over half the squared length, a bound on how far from optimal.
        codes: (L, n, D) the solutions.
    """

    ratios: tuple[float, ...]
    nonzeros: Tensor
    errors: Tensor
    gaps: Tensor
    codes: Tensor

    @property
    def atoms(self) -> int:
        """Length of a code."""
        return self.codes.shape[2]

    def curve(self) -> tuple[list[float], list[float]]:
        """Mean number of non-zeros and mean error per weight: the sparsity-error curve."""
        return self.nonzeros.double().mean(dim=1).tolist(), self.errors.mean(dim=1).tolist()

    def nonzeros_at(self, error: float) -> Tensor:
        """(n,) non-zeros needed for a relative squared error, linear between weights; inf if not reached.

        Reading: a path starts at no coefficient and error 1.
        """
        require_number(error, "error", "nonzeros_at", positive=True, maximum=1)
        count = torch.cat([torch.zeros_like(self.nonzeros[:1]), self.nonzeros]).double()
        missing = torch.cat([torch.ones_like(self.errors[:1]), self.errors])
        reached = missing <= error
        first = reached.to(torch.int8).argmax(dim=0, keepdim=True)
        before = (first - 1).clamp_min(0)
        high, low = missing.gather(0, before), missing.gather(0, first)
        share = torch.where(high > low, (high - error) / (high - low).clamp_min(1e-300), 1.0)
        needed = count.gather(0, before) + share * (count.gather(0, first) - count.gather(0, before))
        return torch.where(reached.any(dim=0), needed.squeeze(0), math.inf)


@torch.no_grad()
def lasso_path(
    targets: Tensor, atoms: Tensor, *, ratios: Sequence[float] = RATIOS, iterations: int = 80
) -> LassoPath:
    r"""The Lasso for every target x and a falling sequence of weights.

    .. math:: \min_c \; \tfrac12 \|x - A^\top c\|^2 + \text{weight} \cdot \|c\|_1

    Accelerated proximal gradient (FISTA) on the Gram matrix :math:`A A^\top`, computed once; every weight
    starts from the solution before it, and momentum restarts where it points uphill. Coefficients are zero
    exactly, by the soft threshold. Atoms are made unit; atoms that are zero stay out.

    Args:
        targets: (n, d).
        atoms: (D, d) rows.
        ratios: falling, in (0, 1).
        iterations: per weight.

    Reading: the paper minimises :math:`\|x - A^\top c\|^2 + \lambda \|c\|_1`, so its lambda is twice the
        weight here; weights are relative to each target, which leaves the path unchanged by rescaling an
        image.

    Ref: purification, Fig 12
    """
    require_shape(targets, "targets", (None, None))
    require_shape(atoms, "atoms", (None, targets.shape[1]))
    require_integer(iterations, "iterations", "lasso_path", minimum=1)
    falling = list(ratios) == sorted(set(ratios), reverse=True)
    if not ratios or not falling or not 0 < min(ratios) <= max(ratios) < 1:
        raise ValueError(f"`ratios` of `lasso_path` must fall and lie in (0, 1), got {tuple(ratios)}.")
    unit = torch.nn.functional.normalize(atoms.to(targets), dim=1)
    gram, correlation = unit @ unit.T, targets @ unit.T
    energy = targets.square().sum(dim=1).double()
    step = 1 / _largest_eigenvalue(gram)
    # From this weight on the zero code is optimal, so ratios of it are comparable between targets.
    largest = correlation.abs().amax(dim=1, keepdim=True)
    c = torch.zeros_like(correlation)
    nonzeros, errors, gaps, codes = [], [], [], []
    for ratio in ratios:
        c = _fista(c, gram, correlation, ratio * largest, step, iterations)
        error, gap = _quality(c, gram, correlation, (ratio * largest).squeeze(1), energy)
        nonzeros.append((c != 0).sum(dim=1))
        errors.append(error)
        gaps.append(gap)
        codes.append(c)
    stacked = (torch.stack(rows) for rows in (nonzeros, errors, gaps, codes))
    return LassoPath(tuple(ratios), *stacked)


def _fista(c: Tensor, gram: Tensor, correlation: Tensor, weight: Tensor, step: float, count: int) -> Tensor:
    ahead, momentum = c, torch.ones_like(weight)
    for _ in range(count):
        inner = torch.addmm(correlation, ahead, gram, beta=step, alpha=-step).add_(ahead)
        new = _shrink(inner, step * weight)
        move = new - c
        # Adaptive restart: momentum that points uphill is dropped, per target.
        uphill = ((ahead - new) * move).sum(dim=1, keepdim=True) > 0
        momentum = torch.where(uphill, 1.0, momentum)
        grown = (1 + (1 + 4 * momentum.square()).sqrt()) / 2
        ahead = torch.addcmul(new, (momentum - 1) / grown, move)
        c, momentum = new, grown
    return c


def _shrink(v: Tensor, level: Tensor) -> Tensor:
    r"""The soft threshold :math:`\operatorname{sign}(v) \max(|v| - \text{level}, 0)`, zero exactly."""
    return v - v.clamp(-level, level)


def _quality(
    c: Tensor, gram: Tensor, correlation: Tensor, weight: Tensor, energy: Tensor
) -> tuple[Tensor, Tensor]:
    """Relative squared error and relative duality gap, the dual point being the scaled residual."""
    image = c @ gram
    left = (correlation - image).double().abs().amax(dim=1)
    along = (c * correlation).sum(dim=1).double()
    square = (energy - 2 * along + (c * image).sum(dim=1).double()).clamp_min(0)
    weight = weight.double()
    # A dual point must have correlations of at most the weight: shrink the residual until it does.
    scale = torch.where(left > weight, weight / left.clamp_min(1e-300), 1.0)
    primal = square / 2 + weight * c.abs().sum(dim=1).double()
    # Dual value at s r: s <r, x> - s^2 |r|^2 / 2, with <r, x> = |x|^2 - <c, A x>.
    dual = scale * (energy - along) - scale.square() * square / 2
    size = energy.clamp_min(torch.finfo(torch.float64).tiny)
    return square / size, (primal - dual) * 2 / size


def _largest_eigenvalue(gram: Tensor) -> float:
    """Power iteration, with two per cent on top: a step a little too short is safe, one too long is not."""
    v = torch.ones(len(gram), 1, dtype=gram.dtype) + torch.linspace(0, 1, len(gram)).to(gram).unsqueeze(1)
    for _ in range(60):
        v = gram @ v
        v = v / torch.linalg.vector_norm(v).clamp_min(torch.finfo(gram.dtype).tiny)
    return max(1.02 * float(torch.linalg.vector_norm(gram @ v)), 1e-12)
