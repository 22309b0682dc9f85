"""Check of Remark 8.2 for the residual net: what the filters of its first layer span."""

from collections.abc import Sequence
from dataclasses import replace

from karat.papers.purification.checks.codes import PRINTED_SPAN_RESNET, SQUARED_ERROR
from karat.papers.purification.checks.image_examples import RESNET_CONFIG, RESNET_RESULT
from karat.papers.purification.checks.image_records import all_images
from karat.papers.purification.checks.pictures import grey_runs, smoothed_resnet34
from karat.papers.purification.experiments.resnet_pictures import (
    RESNET_PICTURES,
    ResnetPicturesConfig,
    ResnetPicturesResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.judging import bound, every_setting, noted, vacuous_if
from karat.study.run import Run, examples

ResnetRuns = Sequence[Run[ResnetPicturesConfig, ResnetPicturesResult]]


def span(runs: ResnetRuns) -> Finding:
    """Judge the squared error of the clean net's perturbations regressed on robust first-layer filters.

    Small filters at every place are several times as many as pixel values: where those of the untrained start
    span the perturbations as well, the span says nothing.
    """
    return every_setting(grey_runs(runs), _spanned)


def _spanned(runs: ResnetRuns) -> Finding:
    errors = [run.result.span["clean_delta|robust"] for run in runs]
    untrained = max(run.result.span["clean_delta|start"] for run in runs)
    note = f"{runs[0].result.span_atoms} atoms; the untrained start leaves {untrained:.1g}."
    trivial = "the filters as they were drawn span the perturbations as well; fewer atoms would not."
    finding = bound(errors, "at most", PRINTED_SPAN_RESNET, SQUARED_ERROR)
    return noted(vacuous_if(untrained <= PRINTED_SPAN_RESNET, trivial, finding), note)


_UNSPANNED = replace(RESNET_RESULT, span=RESNET_RESULT.span | {"clean_delta|robust": 1e-3})

CHECKS = (
    Check(
        claim_id="purification.rem8.2.resnet",
        experiment=RESNET_PICTURES,
        evaluate=span,
        conditions=smoothed_resnet34,
        observed=all_images,
        satisfied=examples((RESNET_CONFIG, RESNET_RESULT)),
        violated=examples((RESNET_CONFIG, _UNSPANNED)),
        controls=(
            Control(
                name="few atoms",
                removes="scale",
                settings={"span_stride": 8},
                cheap=vars(RESNET_PICTURES.preset("tiny").config),
                why="A sixty-fourth of the places leaves much of a perturbation outside the span.",
            ),
        ),
        reported="< 1e-9",
        reading="Features are the filters of the first convolution at all their places. Relative squared "
        "error; the paper does not say of what its regression error is a share. Vacuous where the untrained "
        "filters span as well.",
    ),
)
