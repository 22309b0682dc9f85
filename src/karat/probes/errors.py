"""Clean and robust error, with label noise taken into account exactly."""

from dataclasses import dataclass

import torch
from torch import Tensor

from karat.attacks.method import Method
from karat.core.ball import Ball
from karat.core.classifier import Classifier


@dataclass(frozen=True)
class Errors:
    """Shares of errors under flipped labels.

    Args:
        clean: without perturbation.
        robust: under attack.
    """

    clean: float
    robust: float


def mix_flips(error_at_clean_label: float, error_at_flipped_label: float, flip_rate: float) -> float:
    r"""Error when a label is flipped with probability :math:`\beta`, independently of the input.

    .. math:: (1 - \beta)\, P(\text{an allowed point has } y_c f \le 0)
              + \beta\, P(\text{an allowed point has } -y_c f \le 0)

    Symbols: flip_rate is beta.

    Args:
        error_at_clean_label: the first probability.
        error_at_flipped_label: the second probability.
        flip_rate: of the labels.

    Reading: the second term is not 1 minus the first: near the boundary a ball contains points of both signs.
        Drawing it exactly keeps the noise of the test labels out of the measurement.

    >>> mix_flips(0.0, 1.0, 0.1)
    0.1

    Ref: benign, Thm 3.2
    """
    return (1 - flip_rate) * error_at_clean_label + flip_rate * error_at_flipped_label


def error_share(margin: Tensor) -> float:
    """Share of margins that are errors, <= 0 or NaN."""
    return float((~(margin > 0)).double().mean())


def flipped_errors(
    classifier: Classifier,
    x: Tensor,
    y_clean: Tensor,
    ball: Ball,
    method: Method,
    flip_rate: float = 0.0,
    *,
    generator: torch.Generator | None = None,
) -> Errors:
    """Clean and attacked error of labels that are flipped with probability flip_rate.

    The attack's errors are lower bounds on the worst case: a perturbation it misses is not counted.

    Args:
        classifier: what is attacked.
        x: (n, d) test inputs.
        y_clean: (n,) their labels before flipping.
        ball: the perturbations allowed.
        method: the attack.
        flip_rate: of the labels.
        generator: of attacks that draw.
    """

    def attacked(y: Tensor) -> float:
        # Not judged: a margin that is not a number counts as an error here, where the judge refuses it.
        delta = method(classifier, x, y, ball, generator=generator)
        return error_share(torch.minimum(classifier.margin(x, y), classifier.margin(x + delta, y)))

    robust = attacked(y_clean)
    opposite = attacked(-y_clean) if flip_rate else 1.0
    return Errors(
        clean=mix_flips(
            error_share(classifier.margin(x, y_clean)), error_share(classifier.margin(x, -y_clean)), flip_rate
        ),
        robust=mix_flips(robust, opposite, flip_rate),
    )
