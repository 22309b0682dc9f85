"""Margins and perturbations of points under attack, from inner products."""

import torch
from torch import Tensor

from karat.attacks.inner_products.attack import Form, attack_of, perturb
from karat.attacks.inner_products.dense import Perturbed
from karat.attacks.inner_products.gram import GramNet, TwoLayerNet, gram_net
from karat.attacks.inner_products.obstacle import attack_obstacle
from karat.attacks.pgd import PGD
from karat.core.checks import require_labels, require_shape
from karat.core.region import Region

_ROWS = 256


def attacked_margins(
    net: GramNet, P: Tensor, y: Tensor, method: PGD, ball: Region, *, form: Form = "auto"
) -> Tensor:
    """y f(x + delta) with delta from the attack on the label y, for points with products P = x W^T.

    A flipped label is just another y: attacked_margins(net, P, -y, ...) attacks from the other side.

    Args:
        net: the net up to rotation.
        P: (k, m), e.g. `state.net.W` applied to test points.
        y: (k,) labels +-1.
        method: an attack for which `attack_obstacle` is None.
        ball: the allowed perturbations.
        form: "sides", "dense", or "auto".

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
        perturb(net, P[chosen].contiguous(), y[chosen], attack.rows(chosen), out, form=form)
        outputs.append(_finite(out.f + net.c, ball))
    return y * torch.cat(outputs) if outputs else torch.empty_like(y)


def attacked_perturbations(net: TwoLayerNet, x: Tensor, y: Tensor, method: PGD, ball: Region) -> Tensor:
    """Perturbations (n, d) of the attack, found on inner products: the same as the attack's own, faster.

    Args:
        net: two-layer, with its weights.
        x: (n, d) inputs.
        y: (n,) labels +-1.
        method: an attack for which `attack_obstacle` is None.
        ball: the allowed perturbations.

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
        out = Perturbed(chosen.stop - low, len(net.W), x.dtype)
        perturb(gram, P[chosen].contiguous(), y[chosen], attack.rows(chosen), out)
        _finite(out.f, ball)
        torch.mm(out.U, net.W, out=delta[chosen])
    return ball.project(_finite(delta, ball))  # only rounding is left to project


def _finite(values: Tensor, ball: Region) -> Tensor:
    """The outputs or perturbations of an attack, or an OverflowError that says what it was."""
    if not bool(torch.isfinite(values.sum())) and not bool(torch.isfinite(values).all()):
        tau = float(torch.as_tensor(ball.tau).max())
        raise OverflowError(
            f"the l2 attack of radius {tau:g} leaves the range of {values.dtype} on this net: its weights or "
            "inputs are too large or not finite."
        )
    return values
