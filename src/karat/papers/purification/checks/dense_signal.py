"""Check of Figure 3: linear units pass a small dense signal on, thresholded units zero it."""

from karat.papers.purification.checks.readings import SMALL
from karat.papers.purification.experiments.dense_signal import DENSE_SIGNAL, DenseSignalConfig, PassedShares
from karat.study.claim import Check, Finding
from karat.study.curves import combine
from karat.study.evaluate import lower_bound_finding, upper_bound_finding
from karat.study.run import Runs, grouped


def zeroed(runs: Runs[DenseSignalConfig, PassedShares]) -> Finding:
    r"""Judge the share that passes of signals below the threshold: 1 for linear units, o(1) for ReLUs.

    A ReLU passes on only what its code :math:`z_i` or its noise :math:`g_i` has opened it for:

    .. math:: E[\text{share}] \le P(z_i \ne 0) + P(|g_i| \ge (1 - \text{level}) b), \qquad
        g_i \sim N(0, \sigma_x^2 / d), \quad b = \frac{1}{2 \sqrt k},

    which vanishes where :math:`\sigma_x^2 k \ll d`. For linear units it is 1, as features are orthonormal.

    It fails for ReLUs without bias, which are linear; for noise of the size of the threshold and for codes
    that are not sparse, which keep the ReLUs open; and for features that do not resolve the signal.

    Ref: purification, Fig 3
    """
    small = [run for run in runs if run.config.level < 1]
    worst = [max(run.result.relu for run in seed) for seed in grouped(small, lambda run: run.seed).values()]
    linear = lower_bound_finding([run.result.linear for run in small], 1.0, deterministic=True)
    return combine([upper_bound_finding(worst, SMALL), linear], "The largest share over the levels below 1.")


CHECKS = (
    Check(
        claim_id="purification.fig3",
        experiment=DENSE_SIGNAL,
        evaluate=zeroed,
        hypotheses=lambda run: [] if run.config.k <= run.config.d**0.499 else ["Asm 2.1: k <= d^0.499"],
        reading=f"Small: below 1/(2 sqrt(k)) in every feature; zeroed: at most {SMALL:g} reaches the output.",
    ),
)
