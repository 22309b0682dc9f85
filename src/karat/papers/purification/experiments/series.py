"""Coefficients of the smoothed ReLU and smallest polynomials, one degree at a time."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Le

from karat.core.ranges import settings
from karat.papers.purification.bounds_series import largest_coefficient, least_size, smoothed_coefficients
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class SeriesConfig:
    """One degree.

    Args:
        degree: R of the polynomials; also the index i of the coefficients.
        nodes: points of [1/2, 1] at which polynomials are held small.
        base: what the repaired coefficients divide by, to the power i; 2 is right.
    """

    degree: Annotated[int, Ge(1), Le(12)]
    nodes: Annotated[int, Ge(1)] = 101
    base: float = 2.0


@dataclass(frozen=True, kw_only=True)
class SeriesResult:
    r"""Exact numbers.

    Args:
        even_ratio: :math:`|c_{2i}| \, i!`.
        odd_ratio: :math:`|c'_{2i+1}| \, (i + 1)!`.
        even_repaired: :math:`|c_{2i}| \sqrt{2 \pi}\, 2^i\, i!` from differences of the function itself.
        least: smallest size on [1/2, 1] of a polynomial with a coefficient of size 1, by linear programming.
        chebyshev: the same from the coefficients of Chebyshev's polynomial.
    """

    even_ratio: float
    odd_ratio: float
    even_repaired: float
    least: float
    chebyshev: float


def run(config: SeriesConfig, generator: torch.Generator) -> SeriesResult:
    """Evaluate; nothing is drawn."""
    i = config.degree
    even, odd = smoothed_coefficients(i + 1)
    factorial = torch.arange(1, i + 1, dtype=torch.float64).prod().item()
    return SeriesResult(
        even_ratio=abs(even[i]) * factorial,
        odd_ratio=abs(odd[i]) * factorial * (i + 1),
        even_repaired=_measured_coefficient(i) * (2 * torch.pi) ** 0.5 * config.base**i * factorial,
        least=least_size(i, config.nodes),
        chebyshev=1 / largest_coefficient(i),
    )


def _measured_coefficient(i: int) -> float:
    r"""Size of the coefficient of :math:`x^{2i}` in :math:`e^{-x^2/2}/\sqrt{2\pi}`, by values on a circle."""
    angle = 2 * torch.pi * torch.arange(64, dtype=torch.float64) / 64
    radius = max(1.0, (2 * i) ** 0.5)
    x = radius * torch.exp(1j * angle)
    values = torch.exp(-(x**2) / 2) / (2 * torch.pi) ** 0.5
    return float((values * torch.exp(-2j * i * angle)).mean().real.abs()) / radius ** (2 * i)


SERIES = Experiment(
    name="purification.series",
    title="How large are the coefficients of the smoothed ReLU, and how small can a polynomial be?",
    paper="purification",
    presets={
        "tiny": Preset(config=SeriesConfig(degree=1), grid={"degree": (1, 2, 3)}, seeds=1, cell_seconds=0.1),
        "quick": Preset(
            config=SeriesConfig(degree=1), grid={"degree": (1, 2, 3, 4, 6)}, seeds=1, cell_seconds=0.01
        ),
        "full": Preset(
            config=SeriesConfig(degree=1), grid={"degree": (1, 2, 3, 4, 6)}, seeds=1, cell_seconds=0.1
        ),
    },
    run=run,
)
