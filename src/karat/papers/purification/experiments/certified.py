"""Robust accuracy as [certificate, strongest attack], at the radius of the attacks and around it."""

from dataclasses import dataclass

import torch

from karat.attacks import PGD, Steepest, Strongest
from karat.certificates import certify
from karat.core.ball import Ball
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import Wake

FACTORS = (0.5, 1.0, 1.5, 2.0)
"""Radii of the certified curve, in units of tau."""

CURVE_FROM = 40
"""Points from which on a whole curve is certified; with fewer only the radius tau itself."""


@dataclass(frozen=True, kw_only=True)
class CertifiedShares:
    """Shares of the certified test points; None where nothing was certified.

    Args:
        certified: proven robust at the radius tau.
        pgd_few: that no attack breaks there.
        undecided: neither proven nor broken.
        certified_factors: radii of the curves in units of tau.
        certified_curve: proven robust at each of them.
        unbroken_curve: that no attack breaks at each of them.
    """

    certified: float | None = None
    pgd_few: float | None = None
    undecided: float | None = None
    certified_factors: list[float] | None = None
    certified_curve: list[float] | None = None
    unbroken_curve: list[float] | None = None


def certified(
    config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> CertifiedShares:
    r"""Certify and attack the first `n_certify` test points; nothing if that is zero.

    Args:
        config: how many points, and how far each is branched.
        model: gives the radius.
        net: to be certified.
        test: points.
        generator: of the attacks.

    Reading: the certificate speaks of :math:`E_\rho f`, the net that is trained and attacked here.
    """
    if config.n_certify == 0:
        return CertifiedShares()
    # Certificates at several radii are worth their time only where enough points make a curve.
    factors = FACTORS if config.n_certify >= CURVE_FROM else (1.0,)
    shares = [
        proven_and_unbroken(config, model, net, test, config.ball(model, factor), generator)
        for factor in factors
    ]
    proven, unbroken = shares[factors.index(1.0)]
    whole = len(factors) > 1
    return CertifiedShares(
        certified=proven,
        pgd_few=unbroken,
        undecided=unbroken - proven,
        certified_factors=list(factors) if whole else None,
        certified_curve=[low for low, _ in shares] if whole else None,
        unbroken_curve=[high for _, high in shares] if whole else None,
    )


def proven_and_unbroken(
    config: OddNetConfig,
    model: SparseCoding,
    net: OddTwoLayer,
    test: Samples,
    ball: Ball,
    generator: torch.Generator,
) -> tuple[float, float]:
    """Shares of the first `n_certify` test points that are proven robust, and that no attack breaks.

    Args:
        config: how many points, and how far each is branched.
        model: gives the universal direction.
        net: to be certified.
        test: points.
        ball: of the perturbations.
        generator: of the attacks.

    Reading: where the worst margin is zero up to rounding the net predicts +1, the paper's sign of zero.
    """
    few = test.take(slice(0, config.n_certify)).to(torch.float64)
    exact = net.replace(W=net.W.double(), b=net.b.double())
    fixed, fast = universal(model, config.p), Steepest()
    attack = Strongest((fixed, fast, PGD(steps=30, start=fast), PGD(steps=30, start=fixed), Wake(exact)))
    domains = config.certify_domains or None
    verdicts = certify(
        exact, few.x, few.y, ball, 0.0, domains_per_sample=domains, attack=attack, generator=generator
    )
    tie, plus = verdicts.mask("tie"), few.y > 0
    proven, broken = verdicts.mask("robust") | tie & plus, verdicts.mask("broken") | tie & ~plus
    return float(proven.double().mean()), float((~broken).double().mean())
