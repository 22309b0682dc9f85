"""What an attack is: a map from a classifier, samples and a ball to one perturbation per sample."""

from typing import Protocol

import torch
from torch import Tensor

from karat.core.classifier import Classifier
from karat.core.region import Region


class Method(Protocol):
    r"""An attack with its knobs fixed; the radius comes with the call.

    .. math:: \delta_i = A(f, x_i, y_i, r), \qquad \|\delta_i\|_p \le \tau_i

    Symbols: r, the attacker's random string, is `generator`.

    Ref: purification, Def 4.2
    """

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations shaped like x, inside the ball.

        Args:
            classifier: what is attacked.
            x: (n, ...) inputs.
            y: (n,) labels.
            ball: the allowed perturbations.
            generator: draws random numbers, where there are any.
        """
        ...


def method_name(method: Method) -> str:
    """The name an error message gives to an attack."""
    return getattr(method, "__name__", type(method).__name__)


def require_generator(generator: torch.Generator | None, owner: str) -> torch.Generator:
    """Return the generator, or say which attack cannot do without one.

    >>> require_generator(None, "SmoothedPGD")
    Traceback (most recent call last):
    ...
    ValueError: `SmoothedPGD` draws random numbers: pass a `generator`.
    """
    if generator is None:
        raise ValueError(f"`{owner}` draws random numbers: pass a `generator`.")
    return generator
