"""The paper's sign(0) = +1: a thresholded net that sleeps on an input predicts +1 there."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.core.classifier import Classifier
from karat.core.norms import dual_exponent
from karat.core.region import Region
from karat.nets import OddTwoLayer


def ties_to_plus(margin: Tensor, y: Tensor) -> Tensor:
    """Margins y f where f = 0 counts for the label +1: the smallest positive number there, else unchanged.

    Args:
        margin: (n,) y f.
        y: (n,) labels.

    >>> ties_to_plus(torch.tensor([0.0, 0.0, 2.0]), torch.tensor([1.0, -1.0, 1.0])) > 0
    tensor([ True, False,  True])
    """
    return torch.where((margin == 0) & (y > 0), torch.finfo(margin.dtype).tiny, margin)


@dataclass(frozen=True, eq=False)
class TiesToPlus:
    r"""A classifier of labels +-1 that predicts +1 where f = 0, as the labels themselves do.

    Everywhere else in karat a margin of zero is an error; on inputs with z = 0, which carry the label +1,
    that would blame every thresholded net for saying nothing.

    Args:
        classifier: to be read this way.

    Reading: :math:`E_\rho f` is never exactly zero, but on a sleeping net it is far below rounding, and the
        net with drawn noise, which the theorems speak of, is zero there: what is computed as zero counts as
        zero.
    """

    classifier: Classifier

    def margin(self, x: Tensor, y: Tensor) -> Tensor:
        """y f(x), positive at f = 0 if y = +1."""
        return ties_to_plus(self.classifier.margin(x, y), y)

    def margin_and_gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The margin, and the gradient of y f(x)."""
        margin, gradient = self.classifier.margin_and_gradient(x, y)
        return ties_to_plus(margin, y), gradient


@dataclass(frozen=True, eq=False)
class Wake:
    r"""Push along the one neuron that the radius drives furthest against the label.

    .. math:: i^* = \arg\max_i \; \tau \|w_i\|_q - y \langle w_i, x \rangle

    Where the net sleeps its gradient is zero and no descent moves. This is the exact worst case for a net
    of one pair of neurons.

    Args:
        net: to be woken.
    """

    net: OddTwoLayer

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the point of the ball that drives the chosen neuron furthest, as an attack `Method` does.

        Args:
            classifier: is not looked at.
            x: (n, d) inputs.
            y: (n,) labels.
            ball: of the perturbations.
            generator: is not used.
        """
        W, sign = self.net.W.to(x), y.to(x).unsqueeze(1)
        length = torch.linalg.vector_norm(W, ord=dual_exponent(ball.p), dim=1)
        drive = ball.radius(x).unsqueeze(1) * length - sign * (x @ W.T)
        return ball.extreme_point(-sign * W[drive.argmax(dim=1)])
