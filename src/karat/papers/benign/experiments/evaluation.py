"""What is measured of a net while it trains, and the curves and last values that a run keeps of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ErrorKind = Literal["clean", "robust", "certified"]
"""Which test error: without an attack, under PGD, or an upper bound under every attack."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Training loss and errors of a net at one step.

    Args:
        train_loss: mean loss over the attacked training points.
        train_error: share of the training points that the attack breaks.
        clean_error: test error without an attack, under label noise.
        robust_error: test error under PGD, a lower bound on the true robust error.
        certified_error: upper bound on the true robust error; None where no certificate was asked for or
            none is known (other norms than l2, activations that are not piecewise linear).
        certified_train_error: upper bound on the share of training points that any attack breaks; None as
            above.
        margin: mean test margin of the worse class over a Lipschitz constant of the net, where a certificate
            was asked for.
    """

    train_loss: float
    train_error: float
    clean_error: float
    robust_error: float
    certified_error: float | None = None
    certified_train_error: float | None = None
    margin: float | None = None

    def test_error(self, kind: ErrorKind) -> float:
        """Return a test error.

        Args:
            kind: which.
        """
        if kind == "certified":
            if self.certified_error is None:
                raise ValueError("the run has no certified error.")
            return self.certified_error
        return self.clean_error if kind == "clean" else self.robust_error


@dataclass(frozen=True, kw_only=True)
class CurvesResult:
    """Curves over training, one value per evaluated step, and the last evaluation.

    Args:
        iterations: the evaluated steps.
        train_loss: as in `Evaluation`, at each of them.
        train_error: as in `Evaluation`, at each of them.
        clean_error: as in `Evaluation`, at each of them.
        robust_error: as in `Evaluation`, at each of them.
        final: the last evaluation, the only one with certificates.
    """

    iterations: list[int]
    train_loss: list[float]
    train_error: list[float]
    clean_error: list[float]
    robust_error: list[float]
    final: Evaluation


def as_curves(evaluations: Mapping[int, Evaluation]) -> CurvesResult:
    """Return the evaluations of a run as curves.

    Args:
        evaluations: step -> evaluation, in the order of the steps.
    """
    taken = list(evaluations.values())
    return CurvesResult(
        iterations=list(evaluations),
        train_loss=[one.train_loss for one in taken],
        train_error=[one.train_error for one in taken],
        clean_error=[one.clean_error for one in taken],
        robust_error=[one.robust_error for one in taken],
        final=taken[-1],
    )


def evaluation_steps(steps: int, evaluations: int) -> list[int]:
    """Return the steps at which a run is evaluated: 0, 1, then geometrically up to the last.

    Args:
        steps: length of the run.
        evaluations: about how many; a single one is taken at the last step.

    >>> evaluation_steps(100, 5), evaluation_steps(100, 1)
    ([0, 1, 5, 22, 100], [100])
    """
    if evaluations == 1:
        return [steps]
    inner = max(evaluations - 2, 1)
    grid = {round(steps ** (i / inner)) for i in range(inner + 1)}
    return sorted({0, 1, steps} | {step for step in grid if 0 < step < steps})
