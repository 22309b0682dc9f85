"""Small cells in which every hypothesis of Theorem 3.1 is met, and how far they must be trained."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from karat.papers.benign.experiments.curves import run
from karat.papers.benign.experiments.mixture import MixtureConfig, work
from karat.study.experiment import Experiment, Preset

# Every hypothesis is met up to C = 2.5 at p_fail = 0.05. The step size 1/(C d^2) leaves the loss near log 2
# for as long as anyone can wait; margins, errors and their ratios do not depend on its scale.
INSIDE = MixtureConfig(
    d=20_000,
    n=20,
    m=16,
    mu=16.8,
    ratio=0.1,
    flip_rate=0.1,
    start="symmetric",
    attack_first=False,
    cluster="admissible_gaussian",
    steps=4_000,
    lr=1 / (2.5 * 20_000**2),
    decay_every=10**9,
    n_test=1000,
    evaluations=10,
    precision="float64",
)

DEEPER: tuple[dict[str, Any], ...] = (
    {"d": 107_000, "n": 28, "m": 32, "mu": 30.8, "lr": 1 / (4 * 107_000**2), "draw": "span"},
    {"d": 4_710_000, "n": 60, "m": 64, "mu": 99.0, "lr": 1 / (8 * 4_710_000**2), "draw": "span"},
)
"""The same up to C = 4 and up to C = 8."""


def _trained(cell: Mapping[str, Any]) -> dict[str, Any]:
    """The cell with steps long enough to interpolate: a step moves a margin by about lr |x|^2 / n."""
    return {**cell, "lr": 10 * cell["n"] / cell["d"]}


_CELLS = tuple(map(_trained, ({"n": INSIDE.n, "d": INSIDE.d}, *DEEPER)))
_BASE = replace(INSIDE, steps=2000, evaluations=12, draw="span")

REGIME = Experiment(
    name="benign.regime",
    title="Does Theorem 3.1 hold where all of its hypotheses but the step size are met?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=replace(_BASE, steps=1000, n_test=200, evaluations=6),
            points=_CELLS[:1],
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(config=_BASE, points=_CELLS, seeds=8, cell_seconds=0.51),
        "full": Preset(
            config=replace(_BASE, steps=20_000, n_test=2000), points=_CELLS, seeds=10, cell_seconds=60
        ),
    },
    run=run,
    work=work,
)
