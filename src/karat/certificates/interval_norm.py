"""The largest norm of a sum of vectors whose coefficients are known up to intervals, by an SDP dual."""

import torch
from torch import Tensor

from karat.certificates.rounding import gamma
from karat.core.norms import dual_exponent, norm

_RANK = 20
_MARGIN = 1e-9  # relative error granted to LAPACK's largest eigenvalue


def interval_norm(W: Tensor, low: Tensor, high: Tensor, p: float, *, rounds: int = 60) -> float:
    r"""A bound on :math:`\|\sum_s t_s w_s\|_q`, q dual to p, over coefficients t in their intervals.

    It is a Lipschitz constant of the margin. With B the rows
    :math:`\tfrac12 (\text{high}_s - \text{low}_s) w_s` and one row for the middle of all intervals, for all
    positive :math:`\lambda` and :math:`\mu`:

    .. math:: \ell_2: &\quad \|B^T t\|_2^2 \le \Big(\sum_s \lambda_s\Big)\,
        \lambda_{\max}\big(D_\lambda^{-1/2} B B^T D_\lambda^{-1/2}\big) \\
        \ell_\infty: &\quad \|B^T t\|_1 \le \Big(\sum_s \lambda_s \sum_j \mu_j\Big)^{1/2}
        \sigma_{\max}\big(D_\lambda^{-1/2} B D_\mu^{-1/2}\big) \\
        \ell_1: &\quad \|B^T t\|_\infty \text{ exactly, as the largest column sum of } |B|

    The multipliers come from the low-rank form of the primal SDP (unit vectors v_s in place of the t_s, block
    ascent); any positive ones are sound, the best give the Shor (LipSDP) value.

    Args:
        W: (m, d) the vectors.
        low: (m,) lower ends of their coefficients.
        high: (m,) upper ends.
        p: norm of the ball.
        rounds: of the block ascent.

    Returns:
        the bound, infinite if an interval is.
    """
    if not bool(torch.isfinite(low).all() and torch.isfinite(high).all()):
        return float("inf")
    middle, radius = (low + high) / 2, (high - low) / 2
    keep = radius > 0
    centre = middle @ W
    # The rounding of the middle row, and of middle and radius themselves.
    slack = gamma(W.shape[0]) * float(((middle.abs() + radius) * norm(W, dual_exponent(p))).sum())
    if not bool(keep.any()):
        return float(torch.linalg.vector_norm(centre, ord=dual_exponent(p))) * (1 + _MARGIN) + slack
    if p == 1:
        value = (centre.abs() + radius @ W.abs()).max()
        return float(value) * (1 + gamma(W.shape[0])) + slack
    B = torch.cat([radius[keep].unsqueeze(1) * W[keep], centre.unsqueeze(0)])
    B = B[B.abs().amax(dim=1) > 0]
    if len(B) == 0:
        return slack
    bound = _two_norm(B, rounds) if p == 2 else _one_norm(B[:, B.abs().amax(dim=0) > 0], rounds)
    # Plain triangle inequality: the ascent may stop early, and a bound is a bound.
    return min(bound, float(norm(B, dual_exponent(p)).sum()) * (1 + gamma(B.numel()))) + slack


def _two_norm(B: Tensor, rounds: int) -> float:
    K = B @ B.T
    V = _start(len(K), B)
    image = K @ V
    for _ in range(rounds):
        # K is positive semidefinite, so moving every vector along its own image raises sum K <v_i, v_j>.
        V = image / torch.linalg.vector_norm(image, dim=1, keepdim=True).clamp_min(1e-300)
        image = K @ V
    lam = _positive(torch.linalg.vector_norm(image, dim=1))
    root = lam.rsqrt()
    scaled = K * root.unsqueeze(1) * root
    top = float(torch.linalg.eigvalsh(scaled)[-1]) * (1 + _MARGIN) + _gram_error(B, scaled)
    return float((float(lam.sum()) * top) ** 0.5) * (1 + _MARGIN)


def _one_norm(B: Tensor, rounds: int) -> float:
    V = _start(len(B), B)
    for _ in range(rounds):
        P = B.T @ V
        mu = torch.linalg.vector_norm(P, dim=1, keepdim=True)
        V = B @ (P / mu.clamp_min(1e-300))
        lam = torch.linalg.vector_norm(V, dim=1, keepdim=True)
        V = V / lam.clamp_min(1e-300)
    lam, mu = _positive(lam.squeeze(1)), _positive(mu.squeeze(1))
    C = B * lam.rsqrt().unsqueeze(1) * mu.rsqrt()
    gram = C @ C.T if C.shape[0] <= C.shape[1] else C.T @ C
    top = float(torch.linalg.eigvalsh(gram)[-1]) * (1 + _MARGIN) + _gram_error(C, gram)
    return float((float(lam.sum()) * float(mu.sum()) * top) ** 0.5) * (1 + _MARGIN)


def _gram_error(B: Tensor, gram: Tensor) -> float:
    return gamma(max(B.shape)) * float(gram.diagonal().sum())


def _positive(multipliers: Tensor) -> Tensor:
    return multipliers.clamp_min(1e-9 * float(multipliers.max()) + 1e-300)


def _start(count: int, like: Tensor) -> Tensor:
    """Unit vectors that differ from row to row; a fixed seed, for any start is sound."""
    V = torch.randn(
        count, min(_RANK, count), generator=torch.Generator().manual_seed(count), dtype=like.dtype
    )
    return V / torch.linalg.vector_norm(V, dim=1, keepdim=True)
