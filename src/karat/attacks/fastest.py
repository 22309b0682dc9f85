"""The same perturbations, found by the fastest way that what is known of the classifier allows."""

import torch
from torch import Tensor

from karat.attacks.inner_products.gram import TwoLayerNet
from karat.attacks.method import Method
from karat.attacks.pgd import PGD
from karat.attacks.precision import perturbations
from karat.attacks.routes import route, worthwhile
from karat.core.classifier import Classifier
from karat.core.region import Region


def products_fit(net: TwoLayerNet, x: Tensor) -> bool:
    """Whether the inner products of an attack stay far inside the range of x's type.

    A gradient enters by its squared length, a sum of products of four weights: it vanishes, or overflows,
    long before the gradient itself does, and the attack would stand still.

    Args:
        net: the two-layer net.
        x: (n, d) inputs.
    """
    limits = torch.finfo(x.dtype)
    low, high = limits.tiny * 1e10, limits.max * 1e-10
    weight, output = float(net.W.abs().max()), abs(net.scale) * float(net.a.abs().max())
    sizes = (weight**2, weight**2 * output, weight**2 * output**2)
    reach = weight * float(x.abs().max()) * x.shape[1]
    return all(low < size < high for size in sizes) and max(reach, reach * output) < high


def fastest_perturbations(
    method: Method,
    classifier: Classifier,
    x: Tensor,
    y: Tensor,
    ball: Region,
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
        and products_fit(net, x)
    ):
        from karat.attacks.inner_products.attack import attacked_perturbations  # Numba takes a second

        return attacked_perturbations(net, x, y, method, ball)
    return perturbations(method, classifier, x, y, ball, generator=generator)
