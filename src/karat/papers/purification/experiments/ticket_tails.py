"""From which dimension on the lottery of the theory has its sure winners: exact Gaussian tails, no draws."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from scipy import optimize
from scipy.special import log_ndtr

from karat.core.ranges import settings
from karat.papers.purification.bounds import sure_winners_from
from karat.study.experiment import Experiment, Preset

EXPONENTS = (2.0, 3.0, 4.0, 6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 72.0, 96.0, 144.0, 192.0)
"""log10 of the dimensions at which the expected numbers are tabulated."""


@dataclass(frozen=True, kw_only=True)
@settings
class TailsConfig:
    """Constants of the lemma.

    Args:
        c0: exponent of the width, m = d^(1 + c0).
        gamma: slack of the lottery's levels.
        tail: "exact", or "exponent" for exp(-s^2/2) alone, as the lemma's own exponents have it.
    """

    c0: Annotated[float, Ge(1e-3), Le(1)]
    gamma: Annotated[float, Ge(1e-4), Le(0.1)]
    tail: Literal["exact", "exponent"] = "exact"


@dataclass(frozen=True, kw_only=True)
class TailsResult:
    """Expected numbers of sure winners of one feature.

    Args:
        exponents: log10 of the dimensions.
        log_sure: natural logarithm of the expected number at each of them.
        log_needed: that of 4 log d.
        lowest: log10 of the dimension at which the expected number is smallest, of those tabulated.
        first: log10 of the dimension from which on 4 log d are expected.
        formula: the same by the closed form.
    """

    exponents: list[float]
    log_sure: list[float]
    log_needed: list[float]
    lowest: float
    first: float
    formula: float


def log_sure_winners(log_d: float, c0: float, gamma: float, tail: str = "exact") -> float:
    r"""Natural logarithm of the expected number of sure winners of one feature, for any d.

    .. math:: \log \Big( m \, Q(s_+) \, (1 - 2 Q(s_-))^{d - 1} \Big), \qquad
        s_\pm = \sqrt{(c_1 \pm c_2) \log d}, \quad m = d^{1 + c_0}

    Args:
        log_d: :math:`\log d`.
        c0: exponent of the width.
        gamma: slack of the lottery's levels.
        tail: "exact" for the Gaussian Q, "exponent" for :math:`e^{-s^2/2}`.

    Ref: purification, Lemma B.2
    """
    c1, c2 = 2 + 2 * (1 - gamma) * c0, gamma * c0

    def log_q(square: float) -> float:
        return -square / 2 if tail == "exponent" else float(log_ndtr(-math.sqrt(square)))

    # (d - 1) log(1 - 2 Q): the product d Q is small, each factor may be far beyond the range of floats.
    second = 2 * math.exp(log_d + log_q((c1 - c2) * log_d))
    one = 2 * math.exp(log_q((c1 - c2) * log_d))
    # The bare exponent exceeds one half near s = 0, where it is no probability.
    alone = second * math.log1p(-min(one, 0.5)) / one if one > 1e-12 else -second
    others = 1 - math.exp(-log_d)  # (d - 1)/d
    return (1 + c0) * log_d + log_q((c1 + c2) * log_d) + others * alone


def run(config: TailsConfig, generator: torch.Generator) -> TailsResult:
    """Tabulate the expected numbers and find where they suffice; nothing is drawn."""
    logs = [exponent * math.log(10) for exponent in EXPONENTS]
    sure = [log_sure_winners(log_d, config.c0, config.gamma, config.tail) for log_d in logs]

    def missing(log_d: float) -> float:
        return math.log(4 * log_d) - log_sure_winners(log_d, config.c0, config.gamma, config.tail)

    low = 3 / (config.gamma * config.c0)
    high = low
    while missing(high) > 0:
        high *= 2
    first = float(optimize.brentq(missing, low, high)) if missing(low) > 0 else low
    return TailsResult(
        exponents=list(EXPONENTS),
        log_sure=sure,
        log_needed=[math.log(4 * log_d) for log_d in logs],
        lowest=EXPONENTS[min(range(len(sure)), key=sure.__getitem__)],
        first=first / math.log(10),
        formula=sure_winners_from(config.c0, config.gamma),
    )


POINTS = tuple(
    {"c0": c0, "gamma": gamma}
    for c0, gamma in ((1.0, 0.1), (0.75, 0.1), (0.5, 0.1), (1.0, 0.05), (0.5, 0.05), (0.34, 0.005))
)

TICKET_TAILS = Experiment(
    name="purification.ticket_tails",
    title="From which dimension on does every feature have its sure winners?",
    paper="purification",
    presets={
        scale: Preset(config=TailsConfig(c0=1.0, gamma=0.1), points=POINTS, seeds=1, cell_seconds=0.005)
        for scale in ("tiny", "quick", "full")
    },
    run=run,
)
