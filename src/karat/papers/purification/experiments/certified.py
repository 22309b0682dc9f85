"""Robust accuracy as [certificate, strongest attack], at the radius of the attacks and around it."""

from typing import Any

import torch

from karat.attacks import PGD, Steepest, Strongest
from karat.certificates import certify
from karat.core.ball import Ball
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.regime import Regime, universal
from karat.papers.purification.experiments.ties import Wake

FACTORS = (0.5, 1.0, 1.5, 2.0)
"""Radii of the certified curve, in units of tau."""

CURVE_FROM = 40
"""Points from which on a whole curve is certified; with fewer only the radius tau itself."""


def certified(
    config: Regime, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> dict[str, Any]:
    """Shares proven robust and not broken of the first `n_certify` test points; nothing if that is zero.

    Reading: the certificate speaks of E_rho f, the net that is trained and attacked here.
    """
    if config.n_certify == 0:
        return {}
    factors = FACTORS if config.n_certify >= CURVE_FROM else (1.0,)
    rows = [
        proven_and_unbroken(config, model, net, test, config.ball(model, factor), generator)
        for factor in factors
    ]
    proven, unbroken = rows[factors.index(1.0)]
    values: dict[str, Any] = {"certified": proven, "pgd_few": unbroken, "undecided": unbroken - proven}
    if len(factors) > 1:
        values |= {
            "certified_factors": list(factors),
            "certified_curve": [row[0] for row in rows],
            "unbroken_curve": [row[1] for row in rows],
        }
    return values


def proven_and_unbroken(
    config: Regime,
    model: SparseCoding,
    net: OddTwoLayer,
    test: Samples,
    ball: Ball,
    generator: torch.Generator,
) -> tuple[float, float]:
    """Shares of the first `n_certify` test points that are proven robust, and that no attack breaks.

    Reading: where the worst margin is zero up to rounding the net predicts +1, the paper's sign of zero.
    """
    few = test.take(slice(0, config.n_certify)).to(torch.float64)
    exact = net.replace(W=net.W.double(), b=net.b.double())
    fixed, fast = universal(model, config.p), Steepest()
    attack = Strongest((fixed, fast, PGD(steps=30, start=fast), PGD(steps=30, start=fixed), Wake(exact)))
    domains = config.certify_domains or None
    found = certify(
        exact, few.x, few.y, ball, 0.0, domains_per_sample=domains, attack=attack, generator=generator
    )
    tie, plus = found.mask("tie"), few.y > 0
    proven, broken = found.mask("robust") | tie & plus, found.mask("broken") | tie & ~plus
    return float(proven.double().mean()), float((~broken).double().mean())
