"""Small cells in which every hypothesis of Theorem 3.1 is met."""

from dataclasses import replace

from karat.papers.benign.experiments.curves import run
from karat.papers.benign.experiments.mixture import MixtureConfig
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

REGIME = Experiment(
    name="benign.regime",
    title="Does Theorem 3.1 hold where all of its hypotheses are met?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=replace(INSIDE, steps=300, n_test=200, evaluations=4), seeds=2, cell_seconds=0.5
        ),
        "quick": Preset(config=INSIDE, seeds=3, cell_seconds=2.5),
        "full": Preset(
            config=replace(INSIDE, steps=100_000, n_test=2000),
            points=({}, {"d": 40_000, "mu": 20.3, "lr": 1 / (2.5 * 40_000**2)}),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
