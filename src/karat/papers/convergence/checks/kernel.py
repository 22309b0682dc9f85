"""Checks of the tangent kernel: closed forms, robust interpolants, parity."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.activations import SLOPE_LIPSCHITZ, ActivationName
from karat.papers.convergence.experiments.kernel import (
    KERNEL,
    PARITY,
    ROBUST,
    KernelConfig,
    KernelResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding, Margin, Unit
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, certified, equal, exact_bound, noted
from karat.study.run import Run, examples, grouped

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

CHANCE = 1e-4
"""Probability with which Monte-Carlo noise may exceed its allowance in some entry of some run."""

APART = Margin(0.05, "a quarter of what tells the nearest two kernels, ReLU and smoothed ReLU, apart")

TOL = 0.2
"""Target of the robust function, that of the net built from one."""

SOME_WEIGHT = 1e-6
"""Share of the eigenvalues below which quadrature cannot tell a degree from a missing one."""

DISTANCE = Unit("distance from the label", 0.0)


def _closed_form(runs: Sequence[KernelRun]) -> Finding:
    """Deviation from the Monte-Carlo kernel beyond noise, relative to the kernel's size."""
    by_activation = sorted(grouped(runs, lambda run: run.config.activation).items())
    if not by_activation:
        raise Undecided("no run was found")
    entries = sum(run.config.n**2 for run in runs)
    # All Gaussian deviations together stay below this many standard errors but for the chance above.
    allowance = math.sqrt(2 * math.log(entries / CHANCE))
    findings = []
    for name, cells in by_activation:
        beyond = []
        for same in grouped(cells, lambda run: run.seed).values():
            noise = max(allowance * SPREAD[name] / _entry(run) for run in same)
            if noise > APART.size:
                raise Undecided(f"noise of {noise:.3f} of the kernel's size hides the deviation")
            deviations = [(run.result.kernel_error - allowance * SPREAD[name]) / _entry(run) for run in same]
            beyond.append(max(0.0, *deviations))
        findings.append(equal(beyond, 0.0, APART, RATIO))
    return noted(
        all_of(*findings), "Deviation of the closed form from Monte-Carlo beyond noise, over its size."
    )


def _entry(run: KernelRun) -> float:
    """The largest entry of the kernel, times the root of the draws as the error is."""
    return run.result.kernel_size * math.sqrt(run.config.draws)


def _admissible(config: KernelConfig) -> list[Condition]:
    """What the theorems demand of kernels that satisfy the assumption."""
    smooth = config.activation in SLOPE_LIPSCHITZ and config.activation != "quadratic_relu"
    return [
        is_so("Asm 5.1, 5.3: phi' is bounded and Lipschitz", smooth),
        is_so("compatible caps on the unit sphere", True),
    ]


def _robust_function(runs: Sequence[KernelRun]) -> Finding:
    """Supremum over the caps, seen on fresh points and certified by a lattice, for every kernel and tau."""
    cells = [run for run in runs if run.config.rings]
    by_problem = grouped(cells, lambda run: (run.config.activation, run.config.tau)).values()
    findings = []
    for same in by_problem:
        seen = [run.result.supremum for run in same]
        bounds = [run.result.certified_supremum for run in same]
        findings.append(certified(seen, [b for b in bounds if b is not None], TOL, DISTANCE))
    if not findings:
        raise Undecided("no run has a lattice on its caps")
    norms = [run.result.norm for run in cells]
    return noted(all_of(*findings), f"Norms of the functions {min(norms):.1f} to {max(norms):.1f}.")


def _parity(runs: Sequence[KernelRun]) -> Finding:
    """Share of odd degrees among the quadratic ReLU's degrees above 3; the text says there are none."""
    odd, even = _weights(runs)
    finding = exact_bound([odd / (odd + even)], "at most", 0.0, SHARE, "quadrature of the kernel's profile")
    cells = grouped(runs, lambda run: (run.config.activation, run.config.antipodes, run.config.lift))
    suprema = [
        f"{name.replace('_', ' ')}, {labels} labels{', lifted' if lift else ''}: "
        f"{max(run.result.supremum for run in same):.2f}"
        for (name, labels, lift), same in cells.items()
    ]
    return noted(
        finding,
        f"Odd share of the weight of degrees >= 4. sup |f - y| on antipodal caps: {'; '.join(suprema)}.",
    )


def _even_functions(runs: Sequence[KernelRun]) -> Finding:
    """Share of even degrees among the quadratic ReLU's degrees above 3; the lemma needs all of them."""
    odd, even = _weights(runs)
    shares = [even / (odd + even)]
    return noted(
        exact_bound(shares, "at least", SOME_WEIGHT, SHARE, "quadrature of the kernel's profile"),
        "A degree with eigenvalue 0 is missing from the space, with all its smooth even functions.",
    )


def _weights(runs: Sequence[KernelRun]) -> tuple[float, float]:
    """Odd and even weights of the quadratic ReLU's kernel, or of the only kernel there is."""
    own = [run for run in runs if run.config.activation == "quadratic_relu"] or list(runs)
    if not own:
        raise Undecided("no run was found")
    return own[0].result.odd_weight, own[0].result.even_weight


_KERNEL = KernelResult(
    supremum=0.1,
    robust_error=0.0,
    norm=5.0,
    kernel_error=0.5,
    kernel_size=1.0,
    degrees=[1.0],
    even_weight=1.0,
    odd_weight=0.0,
    certified_supremum=0.15,
)
_SMOOTH = KernelConfig(activation="smoothed_relu", rings=24)
_QUADRATIC = KernelConfig(activation="quadratic_relu", antipodes="same")
_ODD_KERNEL = Control(
    name="a kernel of odd degrees",
    removes="structure",
    settings={"activation": "quadratic_relu"},
    # Of the ReLU's kernel both sentences are true: it is linear plus even.
    cheap={"activation": "relu", "antipodes": "same", "lift": False},
    why="<x, x'> times a linear and an even part is even and odd: beyond low degrees only odd ones are left, "
    "which is why both sentences fail for the very kernel that they are about",
)

CHECKS = (
    Check(
        claim_id="convergence.def5.1.closed",
        experiment=KERNEL,
        evaluate=_closed_form,
        satisfied=examples((_SMOOTH, _KERNEL)),
        violated=examples((_SMOOTH, replace(_KERNEL, kernel_error=50.0))),
        controls=(
            Control(
                name="another kernel",
                removes="formula",
                settings={"closed_form": "smoothed_relu"},
                cheap={"activation": "relu", "cover": 0},
                why="the closed form of the smoothed ReLU is not that of the ReLU",
            ),
        ),
        reading="Closed forms for ReLU, smoothed and quadratic ReLU, Gauss-Hermite quadrature otherwise.",
    ),
    Check(
        claim_id="convergence.asm5.2",
        experiment=ROBUST,
        evaluate=_robust_function,
        conditions=_admissible,
        satisfied=examples((_SMOOTH, _KERNEL)),
        violated=examples((_SMOOTH, replace(_KERNEL, supremum=1.0, certified_supremum=1.1))),
        controls=(
            Control(
                name="opposite antipodes",
                removes="labels",
                settings={"antipodes": "opposite"},
                # Five pairs, which no linear function fits; small caps, so that any other labels can be.
                cheap={"n": 10, "tau": 0.005, "ridge": 1e-6, "rings": 24, "cover": 10},
                why="these kernels hold linear and even functions only; opposite labels at x and -x are odd",
            ),
        ),
        reading="Kernel interpolation of covered caps with a ridge, certified by a lattice and the norm; tol "
        "= 0.2, random caps; Remark 5.1 excludes no labels, also not those of the control.",
    ),
    Check(
        claim_id="convergence.fn14",
        experiment=PARITY,
        evaluate=_parity,
        satisfied=examples((_QUADRATIC, _KERNEL)),
        violated=examples((_QUADRATIC, replace(_KERNEL, odd_weight=1.0))),
        controls=(_ODD_KERNEL,),
        reading="Eigenvalues of the kernel by degree, and interpolation on antipodal caps.",
        headline=True,
    ),
    Check(
        claim_id="convergence.lemC.3",
        experiment=PARITY,
        evaluate=_even_functions,
        satisfied=examples((_QUADRATIC, _KERNEL)),
        violated=examples((_QUADRATIC, replace(_KERNEL, even_weight=0.0, odd_weight=1.0))),
        controls=(_ODD_KERNEL,),
        reading="Eigenvalues of the kernel by degree: one that vanishes excludes smooth functions.",
    ),
)
