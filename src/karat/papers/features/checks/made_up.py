"""Results of the methods that nobody measured: examples on which checks must say `holds` or `fails`."""

from karat.papers.features.checks.reported import PRINTED_METHODS, REPORTED
from karat.papers.features.experiments.directions import Float32Cosines
from karat.papers.features.experiments.methods import Cosines, MethodScores, MethodsResult
from karat.papers.features.experiments.settings import Method


def made_up_scores(
    test: float,
    *,
    train: float | None = None,
    cos: float | None = None,
    hinge: float = 0.0,
    weight_norm: float | None = None,
    moved_over_bound: float | None = None,
    strength: float | None = None,
    curve: tuple[float, ...] = (),
) -> MethodScores:
    """Return what a method of a given test accuracy might have measured.

    Args:
        test: accuracy on the test sample.
        train: accuracy on the training sample, that of the test by default.
        cos: best cosine.
        hinge: test hinge loss.
        weight_norm: length of the output weights.
        moved_over_bound: movement over the bound of Lemma 24.
        strength: correlation with the label.
        curve: test accuracy over the steps, the last one alone by default.
    """
    accuracies = list(curve) or [test]
    return MethodScores(
        train=test if train is None else train,
        test=test,
        hinge=hinge,
        zero=0.0,
        lr=1.0,
        curve_steps=[10 * (i + 1) for i in range(len(accuracies))],
        curve=accuracies,
        cos=cos,
        weight_norm=weight_norm,
        moved=None if moved_over_bound is None else 0.1,
        moved_over_bound=moved_over_bound,
        strength=strength,
    )


def made_up_methods(
    methods: dict[Method, MethodScores],
    *,
    step1: float = 0.99,
    step2: float = 0.998,
    side: int = 1,
    majority_unstructured: float | None = None,
) -> MethodsResult:
    """Return a result of the methods whose neurons all have the same cosine after each step.

    Args:
        methods: what each of them reached.
        step1: cosine after the first step.
        step2: cosine after the second.
        side: +1 if the neurons lie on the side of their output weights, -1 for the other one.
        majority_unstructured: accuracy of the better constant answer without structure.
    """
    return MethodsResult(
        majority=0.5,
        scale=5.0,
        label_corr=0.25,
        closed_form_spread=1e-6,
        closed_form=True,
        start=Cosines(cos=0.1, cos_mean=0.05, signed=0.0),
        step1=Cosines(cos=step1, cos_mean=step1, signed=side * step1),
        step2=Cosines(cos=step2, cos_mean=step2, signed=side * step2),
        step1_float32=Float32Cosines(fitted_cos=0.5, theory_cos=0.1),
        methods=methods,
        majority_unstructured=majority_unstructured,
    )


def as_printed(table: str, part: str = "", *, off: float = 0.0) -> MethodsResult:
    """Return a result with exactly the printed numbers of a part of a table.

    Args:
        table: such as "tab1".
        part: such as "d=100".
        off: what the test accuracy of random features differs by.
    """
    printed = REPORTED[table, part]
    scores = {
        method: made_up_scores(
            printed[method].test / 100 + (off if method == "rf" else 0.0),
            train=printed[method].train / 100,
            cos=printed[method].cos,
        )
        for method in PRINTED_METHODS
    }
    one_step = printed["one_step"].cos
    assert one_step is not None
    return made_up_methods(scores, step1=one_step)
