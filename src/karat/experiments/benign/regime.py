"""Small cells in which every hypothesis of Theorem 3.1 is met."""

from dataclasses import replace

from karat.experiments.benign.curves import run
from karat.experiments.benign.mixture import Config
from karat.experiments.experiment import Experiment, Preset

# n^2 (log(n/p) + tau^2) <= d, |mu|^2 >= sqrt(d/n log(md/(np))), lr <= 1/d^2, at C = 1 and p = 1/2.
_INSIDE = Config(
    d=400,
    n=10,
    m=16,
    mu=4.2,
    ratio=0.1,
    flip_rate=0.1,
    start="symmetric",
    attack_first=False,
    cluster="admissible_gaussian",
    steps=40_000,
    lr=1 / 400**2,
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
            config=replace(_INSIDE, steps=400_000),
            points=({}, {"d": 1600, "n": 20, "mu": 6.0, "lr": 1 / 1600**2, "steps": 2_000_000}),
            seeds=10,
            cell_seconds=120,
        ),
    },
    run=run,
)
