"""The phase boundary: which signal each dimension needs, from both starts."""

from dataclasses import replace

from karat.papers.benign.experiments.curves import run_final
from karat.papers.benign.experiments.maps import PAPER_SIZE, TINY_SIZE
from karat.papers.benign.experiments.mixture import work
from karat.study.experiment import Experiment, Preset

_LARGEST_PRINTED = 18_000


def _points(dimensions: tuple[int, ...]) -> tuple[dict[str, float], ...]:
    r"""Dimensions with their step sizes.

    A step moves a margin by lr :math:`\|x\|^2`, which grows with d: beyond the largest printed d, where
    steps would overshoot, the product of lr and d is held.
    """
    return tuple({"d": d, "lr": 0.1 * min(1.0, _LARGEST_PRINTED / d)} for d in dimensions)


_BASE = replace(PAPER_SIZE, m=250, steps=250, n_test=1000)


def _around(dimensions: tuple[int, ...], signals: tuple[float, ...]) -> tuple[dict[str, float], ...]:
    """Signals that grow with the dimension, so that a few of them bracket every crossing."""
    return tuple(
        {**point, "mu": round(mu * (point["d"] / 1000) ** 0.28, 2)}
        for point in _points(dimensions)
        for mu in signals
    )


BOUNDARY = Experiment(
    name="benign.boundary",
    title="With which exponent does the dimension that training tolerates grow with the signal?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=replace(TINY_SIZE, start="symmetric", attack_first=False),
            points=({"d": 40}, {"d": 160}, {"d": 640}),
            grid={"mu": (0.5, 1.0, 2.0, 4.0, 8.0)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=replace(_BASE, start="symmetric", attack_first=False),
            points=_around((1000, 2600, 6800, 18000), (1.2, 1.6, 2.1, 2.8, 3.6)),
            seeds=4,
            cell_seconds=0.2,
        ),
        "full": Preset(
            config=replace(_BASE, m=1000, steps=500, n_test=2000),
            points=_around(
                (1000, 2000, 4000, 8000, 18000, 60000, 200000, 1000000),
                (0.8, 1.2, 1.6, 2.1, 2.8, 3.6, 5.0, 7.0, 10.0),
            ),
            grid={"start": ("pytorch", "symmetric")},
            seeds=10,
            cell_seconds=8,
        ),
    },
    run=run_final,
    work=work,
)
