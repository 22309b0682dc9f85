"""The phase boundary: which signal each dimension needs, from both starts."""

from dataclasses import replace

from karat.experiments.benign.maps import PAPER, TINY, run_final
from karat.experiments.experiment import Experiment, Preset

_LARGEST_PRINTED = 18_000


def _points(dimensions: tuple[int, ...]) -> tuple[dict[str, float], ...]:
    """Dimensions with step sizes: beyond the largest printed d, where |x|^2 ~ d overshoots, lr d is held."""
    return tuple({"d": d, "lr": 0.1 * min(1.0, _LARGEST_PRINTED / d)} for d in dimensions)


_BASE = replace(PAPER, m=250, steps=250, n_test=1000)

BOUNDARY = Experiment(
    name="benign.boundary",
    title="With which exponent does the dimension that training tolerates grow with the signal?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=replace(TINY, flip_rate=0.1),
            points=({"d": 40}, {"d": 160}, {"d": 640}),
            grid={"start": ("pytorch", "symmetric"), "mu": (0.5, 1.0, 2.0, 4.0, 8.0)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=_BASE,
            points=_points((1000, 2600, 6800, 18000)),
            grid={"start": ("pytorch", "symmetric"), "mu": (1.0, 1.6, 2.2, 3.0, 4.2, 6.0, 8.5)},
            seeds=2,
            cell_seconds=0.7,
        ),
        "full": Preset(
            config=replace(_BASE, m=1000, steps=500, n_test=2000),
            points=_points((1000, 2000, 4000, 8000, 18000, 60000, 200000, 1000000)),
            grid={
                "start": ("pytorch", "symmetric"),
                "mu": (1.0, 1.3, 1.7, 2.2, 2.9, 3.8, 5.0, 6.5, 8.5, 11.0, 15.0, 20.0, 30.0, 45.0, 70.0),
            },
            seeds=10,
            cell_seconds=8,
        ),
    },
    run=run_final,
)
