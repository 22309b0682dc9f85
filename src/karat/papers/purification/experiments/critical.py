"""The critical lemma on gradients, on random and on extreme laws."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge

from karat.core.ranges import Count, settings
from karat.papers.purification.bounds_critical import Array, SignedLaw
from karat.study.experiment import Experiment, Preset

Symmetry = Literal["odd", "even", "none"]


@dataclass(frozen=True, kw_only=True)
@settings
class CriticalConfig:
    r"""Laws and functions.

    Args:
        spread: :math:`\sqrt V/\sigma_\rho` of the extreme law.
        symmetry: "odd" Y(z, S) = -Y(-z, -S), "even" as printed, or "none".
        cases: random laws.
    """

    spread: Annotated[float, Ge(1e-6)]
    symmetry: Symmetry = "odd"
    cases: Count = 400


@dataclass(frozen=True, kw_only=True)
class CriticalResult:
    r"""Exact expectations over bounds.

    Args:
        needed: :math:`|\Delta|` over :math:`\sqrt V/\sigma_\rho` for the extreme law, where L = 0.
        needed_below: :math:`-\Delta` over it, Y not falling in z.
        plain: largest :math:`|\Delta|` over the bound (a) with its constants, over random laws.
        below: largest :math:`-\Delta` over that of (b), Y not falling in z.
        fine: largest :math:`|\Delta|` over that of (c).
    """

    needed: float
    needed_below: float
    plain: float
    below: float
    fine: float


def run(config: CriticalConfig, generator: torch.Generator) -> CriticalResult:
    """Draw laws and functions; every expectation is a finite sum."""
    draws = np.random.default_rng(int(torch.randint(2**31, (1,), generator=generator)))
    plain, below, fine = 0.0, 0.0, 0.0
    for _ in range(config.cases):
        law, eta = _random_law(config.symmetry, draws)
        rising = _rising(law, config.symmetry)
        plain = max(plain, abs(law.delta) / law.plain_bound)
        below = max(below, -rising.delta / (np.sqrt(2 / np.pi) * rising.spread))
        fine = max(fine, abs(law.delta) / law.fine_bound(eta))
    extreme = _extreme(config, 1.0)
    return CriticalResult(
        needed=abs(extreme.delta) / extreme.spread,
        needed_below=-_extreme(config, -1.0).delta / extreme.spread,
        plain=plain,
        below=float(below),
        fine=fine,
    )


def turned(Y: Array) -> Array:
    """Y at -S.

    Args:
        Y: (p, q) values at S.
    """
    return Y[::-1, ::-1]


def _symmetric(symmetry: Symmetry, up: Array, middle: Array, down: Array) -> tuple[Array, Array]:
    """Y(0, .) and Y(-1, .) of the symmetry, made from any tables."""
    if symmetry == "none":
        return middle, down
    sign = -1.0 if symmetry == "odd" else 1.0
    return (middle + sign * turned(middle)) / 2, sign * turned(up)


def _random_law(symmetry: Symmetry, draws: np.random.Generator) -> tuple[SignedLaw, float]:
    """A law with up to five values each; sizes over several powers of ten."""
    eta = draws.uniform(1e-3, 0.01)
    b = 10 ** draws.uniform(0, 3)
    alpha = b * draws.choice([draws.uniform(0, 1), 1.0, 10 ** draws.uniform(-4, 0)]) * (1 - 5 * eta)
    parts: list[tuple[Array, Array]] = []
    for _ in range(2):
        half = b * 10 ** draws.uniform(-6, 0.5, size=2)
        odds = draws.dirichlet([1.0, 1.0, draws.choice([0.1, 10.0])])
        values = np.concatenate([-half, [0.0], half[::-1]])
        parts.append((values, np.array([odds[0], odds[1], 2 * odds[2], odds[1], odds[0]]) / 2))
    up, middle, down = draws.uniform(-1, 1, size=(3, 5, 5))
    kind = draws.integers(4)
    if kind:  # corners of the cube are where a linear function is largest
        up, middle, down = np.sign(up), np.sign(middle), np.sign(down)
    middle, down = _symmetric(symmetry, up, middle, down)
    if kind > 1:  # Y hardly depends on z: L is small, or nil
        up = middle + (kind - 2) * 1e-3 * (up - middle)
        down = _symmetric(symmetry, up, middle, down)[1]
    return SignedLaw(*parts[0], *parts[1], up, middle, down, alpha=float(alpha), b=b, sigma=1.0), eta


def _rising(law: SignedLaw, symmetry: Symmetry) -> SignedLaw:
    """The law with a Y that does not fall in z; an even one cannot depend on z then."""
    if symmetry == "even":
        return replace(law, up=law.middle, down=law.middle)
    up = np.maximum(law.up, law.middle)
    down = np.minimum(law.down, law.middle) if symmetry == "none" else -turned(up)
    return replace(law, up=up, down=down)


def _extreme(config: CriticalConfig, sign: float) -> SignedLaw:
    """S_2 is plus or minus the spread, sigma = 1 and alpha = b = 1; Y does not depend on z."""
    values = config.spread * np.array([-1.0, 1.0])
    Y = sign * (np.sign(values) if config.symmetry == "odd" else np.ones(2))[:, None]
    one, half = np.ones(1), np.full(2, 0.5)
    return SignedLaw(values, half, 0 * one, one, Y, Y, Y, alpha=1.0, b=1.0, sigma=1.0)


_SPREADS = (1e-4, 1e-3, 1e-2, 0.1)


def _preset(cases: int) -> Preset[CriticalConfig]:
    return Preset(
        config=CriticalConfig(spread=0.1, cases=cases),
        grid={"spread": _SPREADS, "symmetry": ("odd", "even")},
        seeds=3,
        cell_seconds=cases * 1e-4,
    )


CRITICAL = Experiment(
    name="purification.critical",
    title="How far can a threshold unit lean on one code, for any labels?",
    paper="purification",
    presets={"tiny": _preset(50), "quick": _preset(400), "full": _preset(5000)},
    run=run,
)
