"""The same perturbations, found by the fastest way that what is known of the classifier allows."""

import torch
from torch import Tensor

from karat.attacks.inner_products.gram import TwoLayerNet
from karat.attacks.method import Method
from karat.attacks.pgd import PGD
from karat.attacks.precision import perturbations
from karat.attacks.routes import route, worthwhile
from karat.core.ball import Ball
from karat.core.classifier import Classifier


def fastest_perturbations(
    method: Method,
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Ball,
    *,
    net: TwoLayerNet | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """What a method returns; on inner products where the net is known and plain PGD stays in its span.

    A method called by itself sees a classifier and no net: it goes by changes of sign or by gradients.

    Args:
        method: any attack.
        classifier: what it attacks.
        x: (n, ...) inputs.
        y: (n,) labels as the classifier takes them.
        ball: the allowed perturbations.
        net: the two-layer net that the classifier is, where that is known.
        generator: needed by attacks that draw random numbers.

    Returns:
        perturbations shaped like x.

    Raises:
        OverflowError: when an attack on inner products leaves the range of x's type.
    """
    if (
        net is not None
        and type(method) is PGD  # a subclass may take other steps
        and route(method, x, ball) == "inner products"
        and worthwhile(x, len(net.W), method.steps)
    ):
        from karat.attacks.inner_products.evaluate import attacked_perturbations  # Numba takes a second

        return attacked_perturbations(net, x, y, method, ball)
    return perturbations(method, classifier, x, y, ball, generator=generator)
