"""Checks of the tangent kernel: closed forms, and the degrees that it holds."""

import math
from collections.abc import Sequence
from dataclasses import replace

from karat.papers.convergence.experiments.activations import ActivationName
from karat.papers.convergence.experiments.kernel import KERNEL, KernelConfig, KernelResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import RATIO, SHARE, Finding, Margin
from karat.study.judging import Undecided, all_of, equal, exact_bound, identity, noted
from karat.study.run import Run, examples, grouped

KernelRun = Run[KernelConfig, KernelResult]

SPREAD: dict[ActivationName, float] = {
    "relu": 0.5,
    "smoothed_relu": 0.5,
    "softplus": 0.5,
    "shifted_softplus": 0.5,
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

SOME_WEIGHT = 1e-6
"""Share of the eigenvalues below which quadrature cannot tell a degree from a missing one."""

QUADRATURE = "quadrature of the kernel's profile"


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


def _only_even(runs: Sequence[KernelRun]) -> Finding:
    """Share of odd degrees among the quadratic ReLU's degrees above 3; the text says there are none."""
    result = _quadratic(runs)
    odd, even = result.odd_weight, result.even_weight
    listed = ", ".join(f"{k}: {weight:.0e}" for k, weight in enumerate(result.degrees))
    return noted(
        exact_bound([odd / (odd + even)], "at most", 0.0, SHARE, QUADRATURE),
        f"Odd share of the weight of degrees >= 4. Eigenvalue by degree: {listed}.",
    )


def _even_functions(runs: Sequence[KernelRun]) -> Finding:
    """Share of even degrees among the quadratic ReLU's degrees above 3; the lemma needs all of them."""
    result = _quadratic(runs)
    shares = [result.even_weight / (result.odd_weight + result.even_weight)]
    return noted(
        exact_bound(shares, "at least", SOME_WEIGHT, SHARE, QUADRATURE),
        "A degree with eigenvalue 0 is missing from the space, with all its smooth even functions.",
    )


def _odd_functions(runs: Sequence[KernelRun]) -> Finding:
    """No weight on even degrees above 2, and some on 0, 2 and every odd degree."""
    result = _quadratic(runs)
    total = sum(abs(weight) for weight in result.degrees)
    held = [weight / total for k, weight in enumerate(result.degrees) if k in (0, 2) or k % 2]
    return noted(
        all_of(
            exact_bound(held, "at least", SOME_WEIGHT, SHARE, QUADRATURE),
            identity([result.even_weight / total], 0.0, SHARE),
        ),
        f"Smallest share of the weight on a degree 0, 2 or odd up to {len(result.degrees) - 1}, and the "
        "share of even degrees from 4 on.",
    )


def _quadratic(runs: Sequence[KernelRun]) -> KernelResult:
    """The quadratic ReLU's kernel, or the only kernel there is; its degrees are the same in all runs."""
    own = [run for run in runs if run.config.activation == "quadratic_relu"] or list(runs)
    if not own:
        raise Undecided("no run was found")
    return own[0].result


_KERNEL = KernelResult(
    kernel_error=0.5,
    kernel_size=1.0,
    degrees=[1.0, 1.0, 1.0, 1.0, 0.0, 1.0],
    even_weight=0.0,
    odd_weight=1.0,
)
_EVEN = replace(_KERNEL, degrees=[1.0, 1.0, 1.0, 0.0, 1.0, 0.0], even_weight=1.0, odd_weight=0.0)
_SMOOTH = KernelConfig(activation="smoothed_relu")
_QUADRATIC = KernelConfig(activation="quadratic_relu")


_ODD_KERNEL = Control(
    name="a kernel of odd degrees",
    removes="structure",
    settings={"activation": "quadratic_relu"},
    # Of the ReLU's kernel both sentences are true: it is linear plus even.
    cheap={"activation": "relu"},
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
                cheap={"activation": "relu"},
                why="the closed form of the smoothed ReLU is not that of the ReLU",
            ),
        ),
        reading="Closed forms for ReLU, smoothed and quadratic ReLU, Gauss-Hermite quadrature otherwise.",
    ),
    Check(
        claim_id="convergence.fn14",
        experiment=KERNEL,
        evaluate=_only_even,
        satisfied=examples((_QUADRATIC, _EVEN)),
        violated=examples((_QUADRATIC, _KERNEL)),
        controls=(_ODD_KERNEL,),
        reading="Eigenvalues of the kernel by degree.",
        headline=True,
    ),
    Check(
        claim_id="convergence.lemC.3",
        experiment=KERNEL,
        evaluate=_even_functions,
        satisfied=examples((_QUADRATIC, _EVEN)),
        violated=examples((_QUADRATIC, _KERNEL)),
        controls=(_ODD_KERNEL,),
        reading="Eigenvalues of the kernel by degree: one that vanishes excludes smooth functions.",
    ),
    Check(
        claim_id="convergence.fn14.repaired",
        experiment=KERNEL,
        evaluate=_odd_functions,
        satisfied=examples((_QUADRATIC, _KERNEL)),
        violated=examples((_QUADRATIC, _EVEN)),
        controls=(
            Control(
                name="the ReLU's kernel",
                removes="structure",
                settings={"activation": "relu"},
                why="its degrees are 1 and the even ones",
            ),
        ),
        reading="Eigenvalues of the kernel by degree.",
    ),
)
