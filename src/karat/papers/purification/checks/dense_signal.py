"""Check of Figure 3: linear units pass a small dense signal on, thresholded units zero it."""

from collections.abc import Sequence

from karat.papers.purification.experiments.dense_signal import (
    DENSE_SIGNAL,
    SPARSITY,
    DenseSignalConfig,
    PassedShares,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import SHARE, Finding
from karat.study.hypothesis import Condition, at_most
from karat.study.judging import Undecided, all_of, bound, identity, limit, noted
from karat.study.run import Run, examples, grouped, pivot

SignalRun = Run[DenseSignalConfig, PassedShares]

LEAST = (1 - SPARSITY) / 2
"""How fast the share must fall in d: half-way between a share that stays and that of the open units, k/d."""


def zeroed(runs: Sequence[SignalRun]) -> Finding:
    r"""Judge signals below the threshold: all of them passes linear units, a vanishing share passes ReLUs.

    A ReLU passes on only what its code :math:`z_i` or its noise :math:`g_i` has opened it for:

    .. math:: E[\text{share}] \le P(z_i \ne 0) + P(|g_i| \ge (1 - \text{level}) b), \qquad
        g_i \sim N(0, \sigma_x^2 / d), \quad b = \frac{1}{2 \sqrt k},

    which vanishes like :math:`k/d` where :math:`\sigma_x^2 k \ll d`. For linear units it is 1, as features
    are orthonormal. Signals above the threshold must pass: a unit that is shut zeroes whatever comes.

    It fails for ReLUs without bias, which are linear; for noise of the size of the threshold, which keeps the
    ReLUs open; and for features that do not resolve the signal.

    Ref: purification, Fig 3
    """
    small = [run for run in runs if run.config.level < 1]
    if not small:
        raise Undecided("no signal below the threshold was tried.")
    linear = identity([run.result.linear for run in small], 1.0, SHARE, rounding=1e-6)
    return all_of(*_vanishing(small), linear, *_passing([run for run in runs if run.config.level > 1]))


def _vanishing(runs: Sequence[SignalRun]) -> list[Finding]:
    findings = []
    for level, group in grouped(runs, lambda run: run.config.level).items():
        sizes, shares = pivot(group, lambda run: run.config.d, lambda run: run.result.relu)
        means = ", ".join(f"{share:.3g}" for share in shares.mean(axis=0))
        dimensions = ", ".join(f"{size:g}" for size in sizes)
        note = f"Share that ReLUs pass of a signal at {level:g} of the threshold, d = {dimensions}: {means}."
        findings.append(noted(limit(sizes, shares, least=LEAST), note))
    return findings


def _passing(runs: Sequence[SignalRun]) -> list[Finding]:
    """A silent unit passes 1 - 1/level of a larger signal, a shut one nothing: at least half-way between."""
    findings = []
    for level, group in grouped(runs, lambda run: run.config.level).items():
        largest = max(run.config.d for run in group)
        passed = [run.result.relu for run in group if run.config.d == largest]
        findings.append(bound(passed, "at least", (1 - 1 / level) / 2, SHARE))
    return findings


def _conditions(config: DenseSignalConfig) -> list[Condition]:
    return [at_most("Asm 2.1: k <= d^0.499", config.k, config.d**0.499)]


def _examples(exponent: float, *, large: float = 0.75) -> list[SignalRun]:
    """Shares that fall in d with a power, at two levels; a level above the threshold passes `large`."""
    cells = [
        (DenseSignalConfig(d=d, k=int(d**SPARSITY), level=level), PassedShares(linear=1.0, relu=share))
        for d in (100, 400, 1600)
        for level, share in ((0.5, 0.1 * (d / 100) ** -exponent), (4.0, large))
    ]
    return examples(*cells)


CHECKS = (
    Check(
        claim_id="purification.fig3",
        experiment=DENSE_SIGNAL,
        evaluate=zeroed,
        conditions=_conditions,
        satisfied=_examples(0.6),
        violated=_examples(0.0),
        controls=(
            Control(
                name="no threshold",
                removes="structure",
                settings={"bias": 0.0},
                why="Without a bias the pair of ReLUs is a linear unit, which passes everything on.",
            ),
            Control(
                name="shut units",
                removes="structure",
                settings={"bias": 1e6},
                why="A unit that never opens zeroes all signals, large ones too: no sign of a threshold.",
            ),
        ),
        reading="Small: below 1/(2 sqrt(k)) in every feature; zeroed: the share that reaches the output "
        f"falls at least like d^-{LEAST:g} for k = d^{SPARSITY:g}, half of the exponent of k/d.",
    ),
)
