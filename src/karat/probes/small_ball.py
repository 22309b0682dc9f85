"""Mass near the decision boundary of the sparse-coding model, and the floor it puts under any classifier."""

import math

import torch
from torch import Tensor

from karat.core.checks import require_number
from karat.data.sparse_coding import SparseCoding


def boundary_mass(model: SparseCoding, z: Tensor, t: Tensor) -> Tensor:
    r""":math:`P(|\langle w^*, z \rangle| \le t)` for every t, (g,).

    Args:
        model: its label vector.
        z: (n, D) codes drawn from it.
        t: (g,) distances.

    Ref: purification, Lemma H.1
    """
    score = (z.double() @ model.w_star.double()).abs()
    return (score.unsqueeze(1) <= t.double()).double().mean(dim=0)


def robust_error_floor(model: SparseCoding, z: Tensor, p: float, tau: float) -> float:
    r"""Lower bound on the robust error of ANY classifier in the l_p ball of radius tau, p = 2 or inf.

    The sizes s of the small codes :math:`|z_j| = s / \sqrt k` are independent and uniform on [1,
    small_spread]: given which codes are on, and their signs, s is uniform on a cube. Reflecting s in the
    hyperplane :math:`\langle w^*, z \rangle = 0` keeps that law and flips the label. Where the image
    :math:`s'` stays in the cube and :math:`\|M z - M z'\|_p \le 2 \tau`, the midpoint of the two inputs is
    within reach of both, so every classifier errs on one of them: half of the mass of such pairs is lost by
    all.

    .. math:: \text{floor} = \tfrac12 P\big(s' \text{ in the cube},\; \|M (z - z')\|_p \le 2 \tau\big)

    Args:
        model: the law of inputs and labels.
        z: (n, D) codes drawn from the model, over which the probability is estimated.
        p: norm of the ball, 2 or inf.
        tau: its radius.

    Holds when: the noise is independent of the code (both inputs carry the same) and small_spread > 1.
    Reading: Lemma H.1's mass near the boundary made into a number by the pairing argument; it uses the spread
        of the small codes only, so the truth is larger.

    Ref: purification, Lemma H.1
    """
    require_number(tau, "tau", "robust_error_floor", minimum=0)
    code, z = model.code, z.double()
    size = z.abs() * math.sqrt(code.k)
    # Large codes have |z| = 1; a small one reaches that size only if small_spread = sqrt(k).
    small = (size >= 1 - 1e-6) & (size <= code.small_spread + 1e-6) & (z.abs() < 1 - 1e-6)
    # Codes of the intermediate sizes are fixed and must not be moved.
    for a, _ in code.scales:
        small &= (z.abs() - code.k**-a).abs() > 1e-6
    lever = torch.where(small, model.w_star.double() * z.sign(), 0.0)
    score = z @ model.w_star.double()
    length = lever.square().sum(dim=1)
    # The reflection in <w*, z> = 0 moves the sizes s along the normal of that hyperplane, twice the distance.
    shift = -2 * math.sqrt(code.k) * (score / length.clamp_min(1e-300)).unsqueeze(1) * lever
    image = size + shift
    inside = ((image >= 1) & (image <= code.small_spread) | ~small).all(dim=1) & (length > 0)
    moved = (shift * z.sign() / math.sqrt(code.k)) @ model.M.double().T
    distance = torch.linalg.vector_norm(moved, ord=p, dim=1)
    return float((inside & (distance <= 2 * tau)).double().mean()) / 2
