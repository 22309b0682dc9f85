"""The attackers that several experiments share."""

import math

from karat.attacks import PGD, FixedDirection, Method, Steepest
from karat.data import SparseCoding

FGM = Steepest(zero_below=1e-8)
"""The fast gradient method of training: zero where the dual norm of the gradient is below 1/poly(d)."""


def universal(model: SparseCoding, p: float) -> FixedDirection:
    r"""The attack that looks at no net: against y along :math:`M w^*`, in l_inf along its signs.

    Args:
        model: its dictionary and label vector.
        p: norm of the attack.
    """
    return FixedDirection(model.dense_direction, steepest=p == math.inf)


def strong_attacks(model: SparseCoding, p: float, steps: int) -> tuple[Method, ...]:
    """Universal direction, fast gradient method, and PGD from zero, from both of them, and at random.

    Args:
        model: its dictionary and label vector.
        p: norm of the attacks.
        steps: of each run of PGD.
    """
    fixed, fast = universal(model, p), Steepest()
    runs = (PGD(steps=steps), PGD(steps=steps, start=fixed), PGD(steps=steps, start=fast))
    return (fixed, fast, *runs, PGD(steps=steps, random_start=True))
