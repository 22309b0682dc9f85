"""Margins and perturbations of points under attack, from inner products."""

import torch
from torch import Tensor

from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.core.checks import require_labels, require_shape
from karat.nets.two_layer import TwoLayer
from karat.training.reduction.attack import Kernel, attack_of, perturb
from karat.training.reduction.exactness import attack_obstacle
from karat.training.reduction.factor import pivoted_cholesky
from karat.training.reduction.gram import GramNet, Perturbed, gram_net

_ROWS = 256


def attacked_margins(
    net: GramNet, P: Tensor, y: Tensor, method: PGD, ball: Ball, *, kernel: Kernel = "auto"
) -> Tensor:
    """y f(x + delta) with delta from the attack on the label y, for points with products P = x W^T.

    A flipped label is just another y: attacked_margins(net, P, -y, ...) attacks from the other side.

    Args:
        net: the net up to rotation; P: (k, m), e.g. `state.net.W` applied to test points; y: (k,) +-1;
        method, ball: an attack for which `attack_obstacle` is None.

    Returns:
        (k,) margins; a point is robustly misclassified when its margin is <= 0.

    Raises:
        OverflowError: when the attack leaves the range of P's type.
    """
    obstacle = attack_obstacle(method, ball)
    if obstacle is not None:
        raise ValueError(f"`attacked_margins` cannot run this attack: {obstacle}.")
    require_shape(P, "P", (None, len(net.w)))
    y = require_labels(y, len(P)).to(P.dtype)
    attack = attack_of(method, ball, len(P), P.dtype)
    outputs = []
    out: Perturbed | None = None
    for low in range(0, len(P), _ROWS):
        chosen = slice(low, min(low + _ROWS, len(P)))
        count = chosen.stop - low
        if out is None or len(out.f) != count:
            out = Perturbed(count, P.shape[1], P.dtype)
        perturb(net, P[chosen].contiguous(), y[chosen], attack.rows(chosen), out, kernel=kernel)
        outputs.append(_finite(out.f + net.c, ball))
    return y * torch.cat(outputs) if outputs else torch.empty_like(y)


def attacked_perturbations(net: TwoLayer, x: Tensor, y: Tensor, method: PGD, ball: Ball) -> Tensor:
    """Perturbations (n, d) of the attack, found on inner products: the same as the attack's own, faster.

    Args:
        method, ball: an attack for which `attack_obstacle` is None.

    Raises:
        OverflowError: when the attack leaves the range of x's type.
    """
    obstacle = attack_obstacle(method, ball)
    if obstacle is not None:
        raise ValueError(f"`attacked_perturbations` cannot run this attack: {obstacle}.")
    y = require_labels(y, len(x)).to(x.dtype)
    gram, P = gram_net(net), x @ net.W.T
    attack, delta = attack_of(method, ball, len(x), x.dtype), torch.empty_like(x)
    for low in range(0, len(x), _ROWS):
        chosen = slice(low, min(low + _ROWS, len(x)))
        out = Perturbed(chosen.stop - low, net.m, x.dtype)
        perturb(gram, P[chosen].contiguous(), y[chosen], attack.rows(chosen), out)
        _finite(out.f, ball)
        torch.mm(out.U, net.W, out=delta[chosen])
    return ball.project(_finite(delta, ball))  # only rounding is left to project


def _finite(values: Tensor, ball: Ball) -> Tensor:
    """The outputs or perturbations of an attack, or an OverflowError that says what it was."""
    if not bool(torch.isfinite(values.sum())) and not bool(torch.isfinite(values).all()):
        tau = float(torch.as_tensor(ball.tau).max())
        raise OverflowError(
            f"the l2 attack of radius {tau:g} leaves the range of {values.dtype} on this net: its weights or "
            "inputs are too large or not finite."
        )
    return values


def gaussian_products(net: GramNet, mean: Tensor, y: Tensor, *, generator: torch.Generator) -> Tensor:
    """Products W x of fresh points x = y mu + xi, xi ~ N(0, I_d), without W: W xi is N(0, G).

    Exact in law for any number of points at one time, with mean = W mu carried along as a tracked point.

    Args:
        mean: (m,) products of mu; y: (k,) signs of the clusters.

    Returns:
        (k, m).
    """
    require_shape(mean, "mean", (len(net.w),))
    scale = float(net.G.diagonal().max())
    root, _ = pivoted_cholesky(net.G, max(scale, 0.0) * len(mean) * torch.finfo(net.G.dtype).eps)
    root = root.to(mean.dtype)
    noise = torch.randn(len(y), root.shape[1], generator=generator, dtype=mean.dtype)
    return torch.addmm(torch.outer(y.to(mean.dtype), mean), noise, root.T)
