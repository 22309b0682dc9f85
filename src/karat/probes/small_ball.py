"""Mass near the decision boundary of the sparse-coding model, and the floor it puts under any classifier."""

import math
from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class SmallCodes:
    r"""The small codes that are on, without the zeros between them.

    Args:
        k: sparsity.
        spread: largest size s; a small code is :math:`\pm s/\sqrt k`.
        size: (n, most) sizes s in [1, spread].
        sign: (n, most) signs of :math:`w^*_j z_j`, 0 beyond the number of codes of a row.
    """

    k: int
    spread: float
    size: Tensor
    sign: Tensor

    @classmethod
    def draw(
        cls, *, n: int, k: int, d: int, spread: float, generator: torch.Generator, rate: float = 0.15
    ) -> "SmallCodes":
        r"""Draw the codes of n inputs.

        Args:
            n: how many inputs.
            k: sparsity.
            d: dimension.
            spread: largest size.
            generator: of the draw.
            rate: expected number of small codes over k.
        """
        tries = torch.full((n,), float(d), dtype=torch.float64)
        number = torch.binomial(tries, torch.full_like(tries, rate * k / d), generator=generator)
        most = max(1, int(number.max()))
        on = torch.arange(most) < number.unsqueeze(1)
        draws = torch.rand(n, most, generator=generator)
        sign = torch.where(torch.rand(n, most, generator=generator) < 0.5, -1.0, 1.0) * on
        return cls(k, spread, 1 + (spread - 1) * draws, sign)


def sliding_floor(codes: SmallCodes, rest: Tensor, tau: float) -> float:
    r"""Lower bound on the l2 robust error of ANY classifier for orthonormal features, from a slide of sizes.

    The map :math:`\varphi` slides every small code's size towards the other label,
    :math:`s_j \mapsto s_j - a \operatorname{sign}(w^*_j z_j)\, g(s_j)` with the hat
    :math:`g(s) = \min(s - 1, \text{spread} - s)`, and keeps everything else. It stays in the cube of sizes,
    is one-to-one for a < 1 and changes volumes by :math:`J = \prod_j (1 \mp a)`. Where z has label +1,
    :math:`\varphi(z)` label -1 and both lie within :math:`2 \tau`, their midpoint is in reach of both, and
    every classifier errs on one of them:

    .. math:: \text{error} \ge E\big[\min(1, J) \;;\; S(z) > 0 > S(\varphi(z)),\;
        \|z - \varphi(z)\| \le 2 \tau\big], \qquad S(z) = \langle w^*, z \rangle

    Args:
        codes: drawn small codes.
        rest: (n,) what the other codes add to the score.
        tau: the radius.

    Holds when: the noise is independent of the code, :math:`w^* \in \{\pm 1\}^d` and the codes are on or off
        independently.
    Reading: a is chosen per number of codes, so that the hat's mean square length fits :math:`2 \tau` with a
        tenth to spare; a reflection of all sizes instead leaves the cube as soon as there are many.

    Ref: purification, Sec 3
    """
    require_number(tau, "tau", "sliding_floor", minimum=0)
    root, on = math.sqrt(codes.k), codes.sign.abs()
    hat = torch.minimum(codes.size - 1, codes.spread - codes.size) * on
    # The hat's mean square is (spread - 1)^2 / 12.
    length = (codes.spread - 1) * (on.sum(dim=1) / 12).sqrt() * 1.1
    a = (2 * tau * root / length.clamp_min(1e-12)).unsqueeze(1)
    score = (codes.sign * codes.size).sum(dim=1).double() / root + rest
    moved = score - (a * hat).sum(dim=1).double() / root
    rising = torch.where(2 * codes.size < 1 + codes.spread, 1.0, -1.0)
    volume = torch.log1p((-a * codes.sign * rising).clamp_min(-1 + 1e-12)).sum(dim=1)
    near = torch.linalg.vector_norm(a * hat, dim=1) <= 2 * tau * root
    pairs = (score > 0) & (moved < 0) & near & (a.squeeze(1) < 1)
    return float((volume.clamp_max(0).exp().double() * pairs).mean())
