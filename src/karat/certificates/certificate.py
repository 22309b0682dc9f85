"""The result of certification: per sample a bracket of the worst margin and a status."""

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

Status = Literal["robust", "broken", "tie", "undecided"]
STATUSES: tuple[Status, ...] = ("robust", "broken", "tie", "undecided")


class SoundnessError(AssertionError):
    """A lower bound exceeds an attained margin by more than rounding: a bug, never a result."""


@dataclass(frozen=True, eq=False)
class Certificate:
    r"""What is known of the worst margin of every sample, from below and from above.

    .. math:: \text{lower} \le \min_{\delta \in \text{ball}} \text{margin}(x + \delta) \le \text{upper}

    Args:
        lower: (n,) float64, proven bounds.
        upper: (n,) float64, margins of the witnesses.
        status: one word per sample.
        delta: witnesses of `upper`, shaped like x.
        seconds: wall time of every stage.

    robust: lower > 0. broken: the witness has a margin below minus its rounding error. tie: both ends are
    zero up to the tie tolerance. undecided: none of these within the time given.
    """

    lower: Tensor
    upper: Tensor
    status: list[Status]
    delta: Tensor
    seconds: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.status)

    def count(self, status: Status) -> int:
        """Number of samples of one status."""
        return self.status.count(status)

    def mask(self, status: Status) -> Tensor:
        """(n,) booleans: which samples have this status."""
        return torch.tensor([sample_status == status for sample_status in self.status])


def classify(lower: Tensor, upper: Tensor, error: Tensor, tolerance: Tensor) -> list[Status]:
    """Statuses from brackets.

    Args:
        lower: (n,) proven bounds.
        upper: (n,) margins of witnesses.
        error: (n,) rounding of upper.
        tolerance: (n,) what counts as zero in a tie.
    """
    wrong = lower > upper + error
    if bool(wrong.any()):
        i = int(wrong.nonzero()[0])
        raise SoundnessError(
            f"sample {i} has lower bound {float(lower[i]):.17g} above {float(upper[i]):.17g}."
        )
    statuses: list[Status] = []
    for low, high, slack, zero in zip(
        lower.tolist(), upper.tolist(), error.tolist(), tolerance.tolist(), strict=True
    ):
        if low > 0:
            statuses.append("robust")
        elif high < -slack:
            statuses.append("broken")
        elif low >= -max(zero, slack) and high <= max(zero, slack):
            statuses.append("tie")
        else:
            statuses.append("undecided")
    return statuses
