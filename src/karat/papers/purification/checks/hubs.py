"""Check on hubs: from which size on a row along the dense direction outgrows the threshold."""

from collections.abc import Sequence

from karat.papers.purification.checks.made_up import made_up
from karat.papers.purification.checks.readings import average
from karat.papers.purification.experiments.hubs import HUBS, PLANTED, HubsConfig, HubsResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.judging import Undecided, every_setting, noted, share_of_points
from karat.study.run import Run, examples

AWAKE = 0.25
"""Share of inputs from which on a row is called a hub: a row of one feature wakes on E|z|_0/d of them."""

HubRuns = Sequence[Run[HubsConfig, HubsResult]]


def _right(result: HubsResult) -> float:
    """The share of planted rows of which it was said rightly whether they become hubs."""
    said = [size > result.predicted_ratio for size in result.planted]
    became = [rate >= AWAKE for rate in result.rates]
    return average([float(a == b) for a, b in zip(said, became, strict=True)])


def _outgrows(runs: HubRuns) -> Finding:
    """Planted rows that do as predicted, over all dimensions and sparsities."""
    if not runs:
        raise Undecided("no run has finished")
    ratios = [run.result.predicted_ratio for run in runs]
    small, large = (
        average([average([rate for rate, size in _pairs(run.result) if (size > 1) == above]) for run in runs])
        for above in (False, True)
    )
    return noted(
        every_setting(
            runs,
            lambda cells: share_of_points(
                [_right(run.result) for run in cells], len(cells[0].result.planted), "at least", 0.75
            ),
        ),
        f"Predicted ratios {min(ratios):.3f} to {max(ratios):.3f}. Rows planted at "
        f"{', '.join(f'{size:g}' for size in PLANTED)} of it wake in the end on {small:.2f} of the inputs if "
        f"planted below and on {large:.2f} if above, with "
        f"{average([float(max(run.result.own)) for run in runs]):.0f} own features at most; a random winner "
        f"wakes on {average([run.result.ordinary_rate for run in runs]):.3f}.",
    )


def _pairs(result: HubsResult) -> list[tuple[float, float]]:
    """Final rate and first size, in units of the prediction, of every planted row."""
    sizes = [size / result.predicted_ratio for size in result.planted]
    return list(zip(result.rates, sizes, strict=True))


def _planted(*rates: float) -> tuple[HubsConfig, HubsResult]:
    planted = [0.2, 0.3, 0.4, 0.5]
    result = made_up(HubsResult, predicted_ratio=0.35, planted=planted, rates=list(rates), own=[1, 1, 90, 90])
    return HubsConfig(d=100, k=9), result


CHECKS = (
    Check(
        claim_id="purification.thm5.2.hubs",
        experiment=HUBS,
        evaluate=_outgrows,
        satisfied=examples(_planted(0.0, 0.0, 0.7, 0.7)),
        violated=examples(_planted(0.0, 0.0, 0.0, 0.7), _planted(0.0, 0.0, 0.0, 0.0)),
        controls=(
            Control(
                name="no training",
                removes="training",
                settings={"clean_steps": 0},
                why="Before training no planted row wakes on a quarter of the inputs.",
            ),
            Control(
                name="three times the ratio",
                removes="formula",
                settings={"misjudged": 3.0},
                cheap={"d": 50, "k": 7, "batch": 512},
                why="Rows a little below three times the ratio are well above it, and grow.",
            ),
        ),
        reading="A hub wakes on at least a quarter of the inputs. Rows of eight sizes around the ratio are "
        "planted beside the random ones; the ratio is computed from the law of the inputs and the speed of "
        "the threshold alone. Three quarters lie half-way between a guess and a rule without exception.",
    ),
)
