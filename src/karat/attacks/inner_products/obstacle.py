"""When an attack can be run on inner products, and the one sentence that says why it cannot."""

from typing import Any

from karat.attacks.pgd import PGD
from karat.attacks.routes import span_obstacle
from karat.core.region import Region


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
