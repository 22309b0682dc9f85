"""Final errors over grids of signal, dimension and attack: the heat maps."""

from dataclasses import replace

from karat.papers.benign.experiments.curves import run_final
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.experiment import Experiment, Preset

PAPER_SIZE = MixtureConfig(
    d=1000, n=100, m=1000, mu=5.0, ratio=0.1, flip_rate=0.1, start="pytorch", steps=1000, evaluations=1
)
TINY_SIZE = replace(PAPER_SIZE, d=60, n=20, m=16, mu=4.0, steps=60, n_test=200)
_QUICK_SIZE = replace(PAPER_SIZE, m=250, steps=300)

FIG1 = Experiment(
    name="benign.fig1",
    title="Where in (|mu|, d) do clean and robust accuracy change from chance to 1 - flip rate?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=TINY_SIZE, grid={"d": (40, 80, 160), "mu": (0.5, 2.0, 8.0)}, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(
            config=_QUICK_SIZE,
            grid={"d": (1000, 2600, 6800, 18000), "mu": (1.2, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0)},
            seeds=3,
            cell_seconds=0.31,
        ),
        "full": Preset(
            config=PAPER_SIZE,
            grid={"d": tuple(range(1000, 18001, 1000)), "mu": tuple(map(float, range(1, 11)))},
            seeds=10,
            cell_seconds=12,
        ),
    },
    run=run_final,
)

FIG3 = Experiment(
    name="benign.fig3",
    title="How does robust accuracy fall with dimension and attack ratio?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=TINY_SIZE, grid={"d": (40, 80), "ratio": (0.1, 0.5, 0.9)}, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(
            config=_QUICK_SIZE,
            grid={"d": (500, 1500, 3000, 6000), "ratio": (0.05, 0.15, 0.3, 0.45)},
            seeds=3,
            cell_seconds=0.3,
        ),
        "full": Preset(
            config=PAPER_SIZE,
            grid={
                "d": tuple(range(500, 6001, 500)),
                "ratio": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45),
            },
            seeds=10,
            cell_seconds=12,
        ),
    },
    run=run_final,
)

FLOOR = Experiment(
    name="benign.thm3.2",
    title="Does a trained net ever fall below the error that no classifier can avoid?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=replace(TINY_SIZE, mu=1.0),
            grid={"mu": (1.0, 2.0), "test_ratio": (0.1, 1.0)},
            seeds=2,
            cell_seconds=0.1,
        ),
        # Few dimensions and many samples: nets close to the best classifier, where the floor is nearest.
        "quick": Preset(
            config=replace(PAPER_SIZE, n=200, d=50, m=50, mu=1.0, steps=100),
            grid={"mu": (0.5, 2.0), "test_ratio": (0.1, 0.5, 1.0, 1.5)},
            seeds=3,
            cell_seconds=0.3,
        ),
        "full": Preset(
            config=replace(PAPER_SIZE, n=1000, d=100, m=250, mu=1.0, steps=300),
            grid={
                "mu": (0.5, 1.0, 2.0, 4.0),
                "test_ratio": (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5),
            },
            seeds=10,
            cell_seconds=5,
        ),
    },
    run=run_final,
)
