"""Concentration lemmas on sums whose tails are known exactly."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge

from karat.core.ranges import Moderate, settings
from karat.papers.purification.bounds_tails import bernstein_exponent, mcdiarmid, sign_tail, skew_tail
from karat.study.experiment import Experiment, Preset

DISTANCES = (0.5, 1.0, 2.0, 3.0, 4.0)
r"""Distances t in units of :math:`\sqrt N`, the size of a sum of N signs."""
SKEWS = (0.5, 0.1, 0.01)
"""Probabilities of a step up of the walks."""


@dataclass(frozen=True, kw_only=True)
@settings
class TailsConfig:
    r"""Sums of N terms.

    Args:
        N: number of terms.
        walk: "fair" steps of mean 0, or "rising" ones that are always 1: a submartingale.
        difference: factor of the differences :math:`c_i` that the bounds are told; 1 is the truth.
        variance: factor of the squares :math:`V_k^2` that the bounds are told; 1 is the truth.
    """

    N: Annotated[int, Ge(20)]
    walk: Literal["fair", "rising"] = "fair"
    difference: Moderate = 1.0
    variance: Moderate = 1.0


@dataclass(frozen=True, kw_only=True)
class TailsResult:
    r"""Probabilities over bounds; lists over the distances, of walks over skews and distances.

    Args:
        upper: :math:`P(f - E f \ge t)` of the sum of N signs, :math:`c_i = 2`.
        lower: :math:`P(f - E f \le -t)`.
        exponent: McDiarmid's :math:`2 t^2/\sum c_i^2` at these distances.
        extension_printed: :math:`-\log P(|f - E f| \ge t)` of the mean of N - 1 signs, over the printed
            exponent :math:`t^2/(t c + \sum_k V_k^4)`.
        extension: :math:`-\log(P/2)` over :math:`t^2/(t c + \sum_k V_k^2)`.
        walk: :math:`-\log P(X_N > t)` over :math:`t^2/(t c + \sum_t V_t^2)`.
    """

    upper: list[float]
    lower: list[float]
    exponent: list[float]
    extension_printed: list[float]
    extension: list[float]
    walk: list[float]


def run(config: TailsConfig, generator: torch.Generator) -> TailsResult:
    """Evaluate exact tails; nothing is drawn."""
    N, far = config.N, [x * math.sqrt(config.N) for x in DISTANCES]
    tails = [math.exp(sign_tail(N, t)) for t in far]
    told = (2 * config.difference) ** 2 * N
    return TailsResult(
        upper=tails,
        lower=tails,  # signs are symmetric
        exponent=[mcdiarmid(t, told) for t in far],
        extension_printed=[_extension(config, x, printed=True) for x in DISTANCES],
        extension=[_extension(config, x, printed=False) for x in DISTANCES],
        walk=[rate for up in SKEWS for rate in _walk_rates(config, up)],
    )


def _extension(config: TailsConfig, x: float, *, printed: bool) -> float:
    """The mean of N - 1 signs: one of them moves it by 2/N, and E (f' - f'')^2 = 2/N^2."""
    N, unit = config.N, 1 / config.N
    square = config.variance * 2 * unit**2
    t = x * math.sqrt(N - 1) * unit
    both = math.log(2) + sign_tail(N - 1, x * math.sqrt(N - 1))
    if printed:
        return -min(both, 0.0) / bernstein_exponent(t, 2 * unit, (N - 1) * square**2)
    return -(both - math.log(2)) / bernstein_exponent(t, 2 * unit, (N - 1) * square)


def _walk_rates(config: TailsConfig, up: float) -> list[float]:
    """Walks with steps of at most 1, at distances in units of their standard deviation."""
    N = config.N
    square = 1.0 if config.walk == "rising" else up / (1 - up)
    rates = []
    for x in DISTANCES:
        t = x * math.sqrt(N * square)
        if t >= N:
            continue
        log_p = 0.0 if config.walk == "rising" else skew_tail(N, t, up)
        rates.append(-log_p / bernstein_exponent(t, 1.0, config.variance * N * square))
    return rates


TAILS = Experiment(
    name="purification.tails",
    title="Do the concentration lemmas of the appendix hold on sums whose tails are known?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=TailsConfig(N=100),
            grid={"N": (100, 1000, 10_000), "walk": ("fair", "rising")},
            seeds=1,
            cell_seconds=0.02,
        ),
        "quick": Preset(
            config=TailsConfig(N=100),
            grid={"N": (100, 1000, 10_000, 100_000), "walk": ("fair", "rising")},
            seeds=1,
            cell_seconds=0.005,
        ),
        "full": Preset(
            config=TailsConfig(N=100),
            grid={"N": (100, 1000, 10_000, 100_000, 1_000_000), "walk": ("fair", "rising")},
            seeds=1,
            cell_seconds=0.02,
        ),
    },
    run=run,
)
