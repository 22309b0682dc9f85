"""What attacks, probes and certificates see of a network: a margin and its gradient."""

from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Classifier(Protocol):
    """Anything with a margin: y f(x) for scalar outputs and labels +-1, logit_y - max_other logit otherwise.

    A sample is misclassified exactly when its margin is <= 0.
    """

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Margins (n,) of samples x (n, ...) with labels y (n,)."""
        ...

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Margins (n,) and their gradients with respect to x, shaped like x."""
        ...
