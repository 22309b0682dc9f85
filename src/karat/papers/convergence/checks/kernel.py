"""Checks of the tangent kernel: closed forms, robust interpolants, parity."""

import math
from collections.abc import Sequence

from karat.papers.convergence.checks.averages import mean
from karat.papers.convergence.experiments.activations import ActivationName
from karat.papers.convergence.experiments.kernel import KERNEL, PARITY, KernelConfig, KernelResult
from karat.study.claim import Check, Finding
from karat.study.curves import with_caveat
from karat.study.evaluate import upper_bound_finding
from karat.study.run import Run, grouped

KernelRun = Run[KernelConfig, KernelResult]

SPREAD: dict[ActivationName, float] = {
    "relu": 0.5,
    "smoothed_relu": 0.5,
    "softplus": 0.5,
    "smooth_leaky_relu": 0.5,
    "quadratic_relu": 4.5,
}
r"""Largest standard deviation over w of :math:`\langle x, x' \rangle \varphi' \varphi'`.

It is that of a number in [0, 1], for :math:`\varphi'` is one, or for the quadratic ReLU that of a product of
two doubled ReLUs.
"""

TOL = 0.2
"""Target of the robust function, that of the net built from one."""


def _closed_form(runs: Sequence[KernelRun]) -> Finding:
    """Largest deviation from the Monte-Carlo kernel, in standard errors of a single entry."""
    scores = {
        name: max(run.result.kernel_error / SPREAD[name] for run in same)
        for name, same in sorted(grouped(runs, lambda run: run.config.activation).items())
    }
    entries = max(run.config.n for run in runs) ** 2
    # Largest of `entries` Gaussian deviations stays below this with probability 1 - 1e-4 in every run.
    limit = math.sqrt(2 * math.log(entries * len(runs) / 1e-4))
    finding = upper_bound_finding([max(scores.values())], limit, deterministic=True)
    return with_caveat(
        finding,
        "Largest deviation of the closed form from Monte-Carlo, in standard errors: "
        + ", ".join(f"{name} {score:.1f}" for name, score in scores.items())
        + ".",
    )


def _robust_function(runs: Sequence[KernelRun]) -> Finding:
    """Supremum on fresh points of covered caps: falls below tol with the cover while the norm settles."""
    relu = [run for run in runs if run.config.activation == "relu"] or list(runs)
    by_cover = sorted(grouped(relu, lambda run: run.config.cover).items())
    cover, covered = by_cover[-1]
    finding = upper_bound_finding([run.result.supremum for run in covered], TOL)
    robust_error = max(run.result.robust_error for run in covered)
    listed = ", ".join(
        f"{count}: {mean([run.result.supremum for run in same]):.2f} "
        f"(norm {mean([run.result.norm for run in same]):.1f})"
        for count, same in by_cover
    )
    others = grouped(
        [run for run in runs if run.config.activation != "relu" and run.config.cover == cover],
        lambda run: run.config.activation,
    )
    suprema = [
        f"{name.replace('_', ' ')} {max(run.result.supremum for run in same):.2f}"
        for name, same in sorted(others.items())
    ]
    return with_caveat(
        finding,
        f"sup |f - y| over the caps by points covered per cap, ReLU kernel: {listed}; robust error at the "
        f"largest cover {robust_error:g}.",
        f"Largest of the other kernels there: {', '.join(suprema)}." if suprema else "",
        "For any tol is a limit: the supremum keeps falling, with a norm that grows ever more slowly.",
    )


def _parity(runs: Sequence[KernelRun]) -> Finding:
    """Share of odd degrees among the quadratic ReLU's degrees above 3."""
    quadratic = [run for run in runs if run.config.activation == "quadratic_relu" and not run.config.lift]
    odd = mean([run.result.odd_weight for run in quadratic])
    even = mean([run.result.even_weight for run in quadratic])
    # "Only even functions": any odd degree at all contradicts the text.
    finding = upper_bound_finding([odd / (odd + even)], 0.0, deterministic=True)
    by_labels = grouped(runs, lambda run: (run.config.activation, run.config.antipodes))
    suprema = []
    for name in ("relu", "quadratic_relu"):
        for labels in ("same", "opposite"):
            cells = by_labels.get((name, labels), [])
            plain, lifted = (
                [run.result.supremum for run in cells if run.config.lift == lift] for lift in (False, True)
            )
            text = f"{name}, {labels}: {max(plain):.2f}"
            suprema.append(text + (f" (lifted {max(lifted):.2f})" if lifted else ""))
    return with_caveat(
        finding,
        f"Odd share of the weight of degrees >= 4. sup |f - y| on antipodal caps: {'; '.join(suprema)}.",
        "The quadratic ReLU's kernel keeps degrees 0, 1, 2, 3, 5, 7, ...: odd functions, where the "
        "text says even.",
    )


CHECKS = (
    Check(
        claim_id="convergence.def5.1",
        experiment=KERNEL,
        evaluate=_closed_form,
        reading="Closed forms for ReLU, smoothed and quadratic ReLU, Gauss-Hermite quadrature otherwise.",
    ),
    Check(
        claim_id="convergence.asm5.2",
        experiment=KERNEL,
        evaluate=_robust_function,
        reading="Kernel interpolation of covered caps, measured on fresh points of the caps; tol = 0.2.",
    ),
    Check(
        claim_id="convergence.fn14",
        experiment=PARITY,
        evaluate=_parity,
        reading="Eigenvalues of the kernel by degree, and interpolation on antipodal caps.",
        headline=True,
    ),
)
