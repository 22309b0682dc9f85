"""The attack on points known through inner products: by side changes where they apply, else densely."""

from typing import Any, Literal

import torch
from torch import Tensor

from karat.attacks.inner_products.dense import ROUNDING, Attack, Perturbed, dense_attack, leave_alone
from karat.attacks.inner_products.gram import GramNet
from karat.attacks.inner_products.side_changes import Attacked, Net, Rules, Samples, side_change_attack
from karat.attacks.inner_products.weighting import gradient_weights
from karat.core.activations import leaky_slope
from karat.core.compiled import scalar_like
from karat.core.region import Region

Form = Literal["auto", "sides", "dense"]

# Products W delta are kept in the net's type and |delta|^2 in float64; this leaves room for large weights.
_LARGEST = {torch.float32: 1e30, torch.float64: 1e150}


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
