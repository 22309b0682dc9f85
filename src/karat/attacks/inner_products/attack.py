"""l2 attacks on points known through inner products: when they can be run, their steps, what they reach."""

from typing import Any, Literal

import torch
from torch import Tensor

from karat.attacks.inner_products.dense import ROUNDING, Attack, Perturbed, dense_attack, leave_alone
from karat.attacks.inner_products.gram import GramNet, TwoLayerNet, gram_net
from karat.attacks.inner_products.side_changes import (
    Attacked,
    Net,
    Rules,
    Samples,
    gradient_weights,
    side_change_attack,
)
from karat.attacks.pgd import PGD
from karat.attacks.routes import span_obstacle
from karat.core.activations import leaky_slope
from karat.core.checks import require_labels, require_shape
from karat.core.compiled import scalar_like
from karat.core.region import Region

Form = Literal["auto", "sides", "dense"]

# Products W delta are kept in the net's type and |delta|^2 in float64; this leaves room for large weights.
_LARGEST = {torch.float32: 1e30, torch.float64: 1e150}
# Samples that are attacked together.
_ROWS = 256


def attack_obstacle(method: Any, ball: Region) -> str | None:
    """Why an attack leaves the span of weights and data, or cannot be run inside it; None if it can.

    Args:
        method: any attack.
        ball: the allowed perturbations.

    >>> from karat.core.ball import Ball
    >>> attack_obstacle(PGD(), Ball(2, 0.1))
    >>> attack_obstacle(PGD(random_start=True), Ball(2, 0.1))
    'a random start leaves the span of weights and data'
    """
    if type(method) is not PGD:  # a subclass may take other steps
        return f"the attack {type(method).__name__} is not plain projected gradient descent"
    return span_obstacle(method, ball)


def attack_of(method: Any, ball: Region, n: int, dtype: torch.dtype) -> Attack:
    """Radii and step lengths of a PGD attack on n samples of a net in `dtype`.

    Args:
        method: a `PGD` for which `attack_obstacle` is None.
        ball: the allowed perturbations.
        n: number of samples.
        dtype: of the net.

    Raises:
        OverflowError: for radii or steps whose products with the weights leave the range of the type.
    """
    if dtype not in _LARGEST:
        raise TypeError(f"attacks on inner products run in float32 or float64, got {dtype}.")
    radius = ball.radius(torch.empty(n, dtype=torch.float64)).contiguous()
    if method.step is not None:
        length = torch.full_like(radius, method.step)
    else:
        length = radius * method.step_share
    longest = float(torch.maximum(radius, length).amax()) if n else 0.0
    if longest > _LARGEST[dtype]:
        raise OverflowError(
            f"an attack of radius or step {longest:g} overflows in {dtype}: the largest allowed is "
            f"{_LARGEST[dtype]:g}."
        )
    return Attack(radius, length, method.steps, method.keep == "best", method.until_broken)


def perturb(
    net: GramNet, P: Tensor, sign: Tensor, attack: Attack | None, out: Perturbed, *, form: Form = "auto"
) -> None:
    """Attack points with products P and write the result to `out`; f is not finite where it overflowed.

    Args:
        net: up to rotation.
        P: (n, m) products of the points, contiguous.
        sign: (n,) labels whose margin the attack lowers.
        attack: its radii and steps; None leaves the points alone.
        out: written.
        form: "sides" and "dense" insist on their form, "auto" takes side changes where they apply.
    """
    slope = leaky_slope(net.activation)
    if form == "sides" and slope is None:
        raise ValueError(f"the form of side changes needs a ReLU or leaky ReLU, got {net.activation}.")
    if attack is None or not bool((attack.radius > 0).any()) or not len(net.w):
        leave_alone(net, P, out)
    elif slope is None or form == "dense":
        dense_attack(net, P, sign, attack, out)
    else:
        _perturb_by_sides(net, slope, P, sign, attack, out)


def _perturb_by_sides(
    net: GramNet, slope: float, P: Tensor, sign: Tensor, attack: Attack, out: Perturbed
) -> None:
    typed_slope = scalar_like(slope, P)
    p, b, w = P.numpy(), net.b.numpy(), net.w.numpy()
    diagonal = net.G.diagonal().contiguous().numpy()
    gradient_weights(p, b, w, typed_slope, diagonal, out.Z.numpy(), out.size.numpy())
    torch.mm(out.Z, net.G, out=out.Q)
    floor = out.size.double() * (ROUNDING * torch.finfo(P.dtype).eps)
    numbers = (sign.double(), attack.radius, attack.length, floor)
    side_change_attack(
        Net(b, w, typed_slope, net.G.numpy(), float(net.c)),
        Samples(p, out.Q.numpy(), *(tensor.numpy() for tensor in numbers)),
        Attacked(*(tensor.numpy() for tensor in (out.H, out.U, out.Z, out.F, out.f))),
        Rules(attack.steps, attack.keep_best, attack.until_broken),
    )


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
