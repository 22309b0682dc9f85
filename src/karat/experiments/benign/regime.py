"""Small cells in which every hypothesis of Theorem 3.1 is met."""

from dataclasses import replace

from karat.experiments.benign.curves import run
from karat.experiments.benign.mixture import Config
from karat.experiments.experiment import Experiment, Preset

# Deep inside: every hypothesis is met up to C = 2.5, at p = 1/2. The step size 1/(C d^2) leaves the loss near
# log 2 for as long as anyone can wait; margins, errors and their ratios do not depend on its scale.
_INSIDE = Config(
    d=4000,
    n=10,
    m=16,
    mu=12.5,
    ratio=0.1,
    flip_rate=0.1,
    start="symmetric",
    attack_first=False,
    cluster="admissible_gaussian",
    steps=6_000,
    lr=1 / (2.5 * 4000**2),
    decay_every=10**9,
    evaluations=10,
    precision="float64",
)

REGIME = Experiment(
    name="benign.regime",
    title="Does Theorem 3.1 hold where all of its hypotheses are met?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=replace(_INSIDE, steps=300, n_test=200, evaluations=4), seeds=2, cell_seconds=0.5
        ),
        "quick": Preset(config=_INSIDE, seeds=3, cell_seconds=8),
        "full": Preset(
            config=replace(_INSIDE, steps=1_000_000),
            points=({}, {"d": 400, "mu": 4.2, "lr": 1 / 400**2}),
            seeds=10,
            cell_seconds=120,
        ),
    },
    run=run,
)
