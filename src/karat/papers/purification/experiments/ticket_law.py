"""Lucky neurons at the start by exact Gaussian tails, in dimensions that only formulas reach."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt

from karat.core.ranges import Positive, settings
from karat.papers.purification.bounds_tickets import LuckyShares, lucky_shares
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class TicketLawConfig:
    r"""A Gaussian start.

    Args:
        digits: :math:`\log_{10} d`.
        width: x of :math:`m = d^x`.
        shift: added to the levels 2, 2.01 and 2.02.
    """

    digits: Annotated[float, Ge(1)]
    width: Positive = 1.01
    shift: Annotated[float, Gt(-2)] = 0.0

    @property
    def log_d(self) -> float:
        """Natural logarithm of the dimension."""
        return self.digits * math.log(10)


@dataclass(frozen=True, kw_only=True)
class TicketLawResult:
    """Logarithms of shares and of numbers per feature.

    Args:
        log: see `LuckyShares`.
    """

    log: LuckyShares


def run(config: TicketLawConfig, generator: torch.Generator) -> TicketLawResult:
    """Evaluate the formulas; nothing is drawn."""
    return TicketLawResult(log=lucky_shares(config.log_d, config.width, config.shift))


_GROWING = tuple(
    {"digits": digits, "width": 1.01} for digits in (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 300.0)
)
_PRINTED = tuple({"digits": digits, "width": 1.001} for digits in (2.0, 10.0, 100.0, 1000.0, 10_000.0))
_WIDER = tuple({"digits": digits, "width": 1.0125} for digits in (3000.0, 6000.0, 12_000.0))
_ALL = Preset(
    config=TicketLawConfig(digits=2.0), points=(*_GROWING, *_PRINTED, *_WIDER), seeds=1, cell_seconds=0.005
)

TICKET_LAW = Experiment(
    name="purification.ticket_law",
    title="How many neurons are lucky at the start, by exact tails?",
    paper="purification",
    presets={"tiny": _ALL, "quick": _ALL, "full": _ALL},
    run=run,
)
