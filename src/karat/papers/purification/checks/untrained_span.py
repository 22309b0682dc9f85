"""Check beside Remark 8.2: its span needs no training."""

from collections.abc import Sequence

from karat.papers.purification.checks.codes import PRINTED_SPAN, PRINTED_SPAN_RESNET, SQUARED_ERROR
from karat.papers.purification.checks.paper_nets import ALEXNET_WHOLE, RESNET34
from karat.papers.purification.experiments.untrained_span import (
    UNTRAINED_SPAN,
    UntrainedSpanConfig,
    UntrainedSpanResult,
)
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import Undecided, all_of, bound, noted
from karat.study.run import Run, examples

SpanRun = Run[UntrainedSpanConfig, UntrainedSpanResult]

PRINTED = {ALEXNET_WHOLE.name: PRINTED_SPAN, RESNET34.name: PRINTED_SPAN_RESNET}
"""Network -> regression error that the remark reports after training."""


def spans_everything(runs: Sequence[SpanRun]) -> Finding:
    """Judge the error of the worst image at the most filters of each net, against the printed error."""
    if not runs:
        raise Undecided("there is no finished run.")
    findings, notes = [], []
    for network, printed in PRINTED.items():
        drawn = [run for run in runs if run.config.network == network]
        most = max((run.config.filters for run in drawn), default=0)
        whole = [run for run in drawn if run.config.filters == most]
        findings.append(bound([run.result.worst for run in whole], "at most", printed, SQUARED_ERROR))
        notes += [_told(run) for run in whole[:1]]
    return noted(all_of(*findings), *notes)


def _told(run: SpanRun) -> str:
    result, pixels = run.result, run.config.pixels
    return (
        f"{run.config.network}, {result.used} filters: {result.atoms} atoms for {pixels} pixel values, error "
        f"{result.worst:.1g} at seed {run.seed}."
    )


def _colour(config: UntrainedSpanConfig) -> list[Condition]:
    nets = config.network in PRINTED
    return [
        is_so("Sec 8: AlexNet or ResNet-34", nets, f"here {config.network}"),
        is_so("Sec 8: colour images", config.channels == 3, f"here {config.channels} channels"),
    ]


def _example(worst: float) -> list[SpanRun]:
    return examples(
        (
            UntrainedSpanConfig(network="alexnet:1", filters=64),
            UntrainedSpanResult(worst=1e-13, atoms=4096, used=64),
        ),
        (
            UntrainedSpanConfig(network="wrn:34:1", filters=4),
            UntrainedSpanResult(worst=worst, atoms=4096, used=4),
        ),
    )


CHECKS = (
    Check(
        claim_id="purification.rem8.2.untrained",
        experiment=UNTRAINED_SPAN,
        evaluate=spans_everything,
        conditions=_colour,
        satisfied=_example(1e-12),
        violated=_example(1e-3),
        controls=(
            Control(
                name="few atoms",
                removes="scale",
                settings={"filters": 2},
                why="Fewer atoms than pixel values leave some image out.",
            ),
        ),
        reading="The supremum over all images, computed with a ridge of 1e-9, which can only raise it. A "
        "part of the filters is enough: more of them span no less.",
    ),
)
