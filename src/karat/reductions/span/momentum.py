"""Momentum on inner products: the velocity lives in the span of weights and data, too."""

import torch
from torch import Tensor

from karat.attacks.inner_products.dense import Perturbed
from karat.reductions.span.descent import Products, cross_products


class Velocity:
    r"""Inner products of the velocity V with the points, the weights and itself, changed in place.

    .. math:: \mathrm{PV} = X V^T \ (n + k, m), \qquad C = W V^T \ (m, m), \qquad E = V V^T \ (m, m)

    and V itself where the weights are kept.
    """

    def __init__(self, products: Products) -> None:
        self.PV = torch.zeros_like(products.stack[: products.n + products.k])
        self.C = torch.zeros_like(products.G)
        self.E = torch.zeros_like(products.G)
        self.V = None if products.weights is None else torch.zeros_like(products.weights.padded)


def move_weights_with_momentum(
    products: Products, velocity: Velocity, perturbed: Perturbed, lr: float, decay: float, momentum: float
) -> None:
    r"""V <- momentum V + Y, then W <- W - lr V, with the gradient :math:`Y = D^T \tilde X + \lambda W`.

    .. math:: X Y^T &= (X \tilde X^T) D + \lambda P, \qquad W Y^T = H^T D + \lambda G \\
        V Y^T &= (\mathrm{PV} + U C)^T D + \lambda C^T \\
        Y Y^T &= D^T S D + \lambda (D^T H + H^T D) + \lambda^2 G

    Nothing is approximated; the price is about twice that of a step without momentum.

    Args:
        products: with D = diag(residual) Z filled in.
        velocity: changed in place.
        perturbed: the attacked samples.
        lr: step size.
        decay: factor of W in the gradient of the penalty, lambda above.
        momentum: share of the velocity that is kept.
    """
    n, D, H, G = products.n, products.D, products.H, products.G
    if products.weights is not None and velocity.V is not None:
        W, moved = products.weights.padded, products.weights.attacked(perturbed.U)
        velocity.V.mul_(momentum).addmm_(D.T, moved).add_(W, alpha=decay)
        W.sub_(velocity.V, alpha=lr)
    cross_products(products, perturbed)
    points, square = products.cross[:-n], products.cross[-n:]
    # All products with Y are taken before anything moves: each formula speaks of the old W and V.
    HD = H.T @ D
    WY = HD + decay * G
    VY = torch.addmm(velocity.PV[:n], perturbed.U, velocity.C).T @ D + decay * velocity.C.T
    YY = D.T @ (square @ D) + decay * _symmetric(HD) + decay * decay * G
    P = products.stack[:-n]
    velocity.PV.mul_(momentum).addmm_(points, D).add_(P, alpha=decay)
    P.sub_(velocity.PV, alpha=lr)
    WV = momentum * velocity.C + WY
    velocity.E.mul_(momentum * momentum).add_(YY).add_(_symmetric(VY), alpha=momentum)
    # (W - lr V)(W - lr V)^T, and W V^T after the same step.
    G.add_(_symmetric(WV), alpha=-lr).add_(velocity.E, alpha=lr * lr)
    velocity.C = WV.sub_(velocity.E, alpha=lr)


def _symmetric(A: Tensor) -> Tensor:
    return A + A.T
