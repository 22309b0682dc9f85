"""Checks on models of low complexity: linear classifiers, tangent kernels and polynomials."""

import math
from collections.abc import Callable, Sequence

from karat.papers.purification.checks.readings import (
    at_least,
    at_most,
    average,
    both_must_hold,
    each,
    largest_standard,
    mean,
)
from karat.papers.purification.experiments.model_classes import (
    MODEL_CLASSES,
    ModelClassesConfig,
    ModelClassesResult,
)
from karat.papers.purification.experiments.noise import NOISE, NoiseResult
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.claim import Check, Finding
from karat.study.run import Run

ModelRun = Run[ModelClassesConfig, ModelClassesResult]


def _linear(every: Sequence[Run[OddNetConfig, NoiseResult]]) -> Finding:
    """At sigma_x ~ 1 the linear classifier is worse than the net, and without noise it is not robust."""
    loud = max(run.config.sigma_x for run in every)
    runs = largest_standard(every)
    quiet, middle, noisy = ([run for run in runs if run.config.sigma_x == size] for size in (0, 0.5, loud))
    at_middle = (
        f", {mean(middle, lambda r: r.net_accuracy):.3f} against "
        f"{mean(middle, lambda r: r.linear_accuracy):.3f} at 0.5"
        if middle
        else ""
    )
    note = (
        f"Exact robust accuracy at radius 1/sqrt(d) without noise. At sigma_x = {loud:g} its clean "
        f"accuracy is {mean(noisy, lambda r: r.linear_accuracy):.3f}; net "
        f"{mean(noisy, lambda r: r.net_accuracy):.3f}{at_middle}, hard threshold "
        f"{mean(noisy, lambda r: r.hard_accuracy):.3f}. Judged against 1/2 and 3/4."
    )
    first = at_most(each(quiet, lambda r: r.linear_robust_tiny), 0.5)
    return both_must_hold(first, at_most(each(noisy, lambda r: r.linear_accuracy), 0.75), note)


def _best_of(*names: str) -> Callable[[Sequence[ModelRun]], Finding]:
    """Robust error of the best model of a class against (1 - o(1))/2."""

    def evaluate(every: Sequence[ModelRun]) -> Finding:
        # The theorems speak of l_inf; runs in l2 are looked at only if there are no others.
        runs = largest_standard([run for run in every if run.config.p == math.inf] or every)
        errors = each(runs, lambda r: 1 - max(r.models[name].robust for name in names))
        listed = ", ".join(
            f"{name} {average([run.result.models[name].robust for run in runs]):.2f}"
            for name in runs[0].result.models
        )
        note = (
            f"Smallest robust error among {', '.join(names)}, attacks only, at tau = "
            f"{mean(runs, lambda r: r.tau):.3f}. Robust accuracies: {listed}."
        )
        return at_least(errors, 0.5, note)

    return evaluate


def _asymptotic(run: ModelRun) -> list[str]:
    """What the lower bounds ask: an l_inf radius far below one at a dimension nobody can run."""
    config = run.config
    hypotheses = [
        (config.p == math.inf, "Thm 5.6: l_inf perturbations, here l2, where nothing is claimed"),
        (config.sigma_x == 0 and config.dictionary == "identity", "Thm 5.6: M = I and sigma_x = 0"),
        (
            False,
            f"Thm G.1: d so large that 1/k^100 is the radius, k = d^c; here d = {config.d}, k = {config.k} "
            f"and {config.tau_factor:g} sqrt(V)/E|z|_0",
        ),
    ]
    return [sentence for met, sentence in hypotheses if not met]


CHECKS = (
    Check(claim_id="purification.sec3.linear", experiment=NOISE, evaluate=_linear),
    Check(
        claim_id="purification.thm5.6",
        experiment=MODEL_CLASSES,
        evaluate=_best_of("kernel plus", "kernel minus"),
        hypotheses=_asymptotic,
        reading="Plus between the indicators, the gradient's own features; the printed minus makes the "
        "predictor even, with error 1/2 trivially. Radius 1/k^100, where the text prints 1/k^1.00.",
    ),
    Check(
        claim_id="purification.cor5.7",
        experiment=MODEL_CLASSES,
        evaluate=_best_of("degree 3", "degree 5", "degree 3 told", "degree 5 told"),
        hypotheses=_asymptotic,
        reading="Degrees 3 and 5, told the dictionary or not. Not demonstrated at any size we can run.",
    ),
)
