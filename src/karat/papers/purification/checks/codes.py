"""Checks of sparse codes: how many filters rebuild an image or a perturbation, and what they span."""

from collections.abc import Mapping, Sequence

import numpy as np

from karat.papers.purification.checks.image_records import LESS, paper_runs
from karat.papers.purification.checks.paper_nets import ALEXNET_WHOLE
from karat.papers.purification.experiments.alexnet import AlexnetConfig, AlexnetResult
from karat.study.finding import RATIO, Finding, Unit
from karat.study.judging import all_of, bound, every_setting, noted, vacuous_if
from karat.study.run import Run

AlexnetRuns = Sequence[Run[AlexnetConfig, AlexnetResult]]

PRINTED_SHARE = 0.0405
PRINTED_SPAN, PRINTED_SPAN_RESNET = 5e-5, 1e-9

LEVEL = "0.1"
"""Relative squared error at which codes are compared: nine tenths of a picture are there."""

NON_ZEROS = Unit("share of non-zeros", 0.0, 1.0)
SQUARED_ERROR = Unit("relative squared error", 0.0)


def sparse_inputs(runs: AlexnetRuns) -> Finding:
    """Judge the mean share of non-zeros in codes of images from robust filters, at a fixed error."""
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _sparse_inputs)


def _sparse_inputs(runs: AlexnetRuns) -> Finding:
    shares = [_count(run, "image|robust") / run.result.atoms.code for run in runs]
    share, error = np.mean([(run.result.rebuilt_share, run.result.rebuilt_error) for run in runs], axis=0)
    blurred = float(np.mean([_count(run, "image|clean blurred") / run.result.atoms.code for run in runs]))
    note = (
        f"Measured at relative squared error {LEVEL}; the paper prints no error. At {share:.1%} non-zeros it "
        f"is {error:.2f} here. Clean filters blurred 3 x 3 need {_percent(blurred)}."
    )
    return noted(bound(shares, "at most", PRINTED_SHARE, NON_ZEROS), note)


def sparse_codes(runs: AlexnetRuns) -> Finding:
    """Judge non-zeros with robust over clean and random features, and of robust over clean perturbations."""
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _sparser)


def _sparser(runs: AlexnetRuns) -> Finding:
    pairs = (
        ("image|robust", "image|clean"),
        ("image|robust", "image|start"),
        ("robust_delta|robust", "clean_delta|robust"),
    )
    findings = [
        bound([_ratio(run, name, over) for run in runs], "at most", LESS, RATIO) for name, over in pairs
    ]
    counts = {name: float(np.mean([_count(run, name) for run in runs])) for name in runs[0].result.curves}
    note = (
        f"Non-zeros at error {LEVEL}: images from start {counts['image|start']:.0f}, clean "
        f"{counts['image|clean']:.0f}, robust {counts['image|robust']:.0f}; without training: clean blurred "
        f"{counts['image|clean blurred']:.0f}, blurred noise {counts['image|noise']:.0f}: "
        f"{_blurring(counts)}. Clean and robust perturbations from robust features "
        f"{counts['clean_delta|robust']:.0f}, {counts['robust_delta|robust']:.0f}, from blurred noise "
        f"{counts['clean_delta|noise']:.0f}, {counts['robust_delta|noise']:.0f}."
    )
    circular = "Robust perturbations are sums of robust filters by construction; blurred noise is neutral."
    return noted(all_of(*findings), note, circular)


def span(runs: AlexnetRuns) -> Finding:
    """Judge the squared error of the clean net's perturbations regressed on robust features.

    Enough atoms span everything: where the untrained start does as well, the span says nothing.
    """
    return every_setting(paper_runs(runs, ALEXNET_WHOLE), _spanned)


def _spanned(runs: AlexnetRuns) -> Finding:
    errors = [run.result.span["clean_delta|robust"] for run in runs]
    untrained = max(run.result.span["clean_delta|start"] for run in runs)
    first = runs[0].result
    note = (
        f"{first.atoms.code} atoms for {first.atoms.pixels} pixel values; the untrained start leaves "
        f"{untrained:.1g}. At the layer's own stride, {first.atoms.own} atoms, robust features leave "
        f"{first.span_own['clean_delta|robust']:.2f} of clean perturbations and "
        f"{first.span_own['image|robust']:.2f} of images, the start "
        f"{first.span_own['clean_delta|start']:.2f}."
    )
    trivial = "the filters as they were drawn span the perturbations as well; fewer atoms would not."
    finding = bound(errors, "at most", PRINTED_SPAN, SQUARED_ERROR)
    return noted(vacuous_if(untrained <= PRINTED_SPAN, trivial, finding), note)


def _count(run: Run[AlexnetConfig, AlexnetResult], name: str) -> float:
    """Mean number of non-zeros over the targets; infinite if one of them does not reach the error."""
    return float(np.mean(run.result.curves[name].at[LEVEL]))


def _ratio(run: Run[AlexnetConfig, AlexnetResult], name: str, over: str) -> float:
    """Non-zeros of one code over those of another; undefined where both do not reach the error."""
    first, second = _count(run, name), _count(run, over)
    return first / second if np.isfinite(first) else np.nan


def _percent(share: float) -> str:
    return f"{share:.1%}" if np.isfinite(share) else "more than the codes have"


def _blurring(counts: Mapping[str, float]) -> str:
    """What the smoothness of robust filters alone is worth."""
    gain = counts["image|clean"] - counts["image|robust"]
    blurred = counts["image|clean"] - counts["image|clean blurred"]
    if not (0 < gain < np.inf and 0 < blurred < np.inf):
        return "no gain to be compared with that of blurring"
    return f"blurring alone gives {blurred / gain:.0%} of the gain"
