"""The l_inf version, from the clean net of random starts and from the pure features w_i = M_i."""

import math
from dataclasses import replace

from karat.papers.purification.experiments.l2 import run
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.study.experiment import Experiment, Preset

L_INF_RANDOM = OddNetConfig(
    d=100,
    k=9,
    batch=1024,
    p=math.inf,
    tau_factor=0.12,
    robust_steps=120,
    robust_step=0.03,
    ramp=0.7,
    pgd_steps=30,
)
"""From a random start; without the ramp the perturbation wakes all sleeping neurons and training diverges."""

L_INF_PURE = replace(L_INF_RANDOM, d=200, k=14, start="pure", decay=0.05, clean_steps=200, tau_factor=0.2)
"""From w_i = M_i: the setting in which the gap and a small movement are seen together."""

_pure = {"start": "pure", "decay": 0.05, "clean_steps": 200, "tau_factor": 0.2, "n_certify": 60}

LINF = Experiment(
    name="purification.linf",
    title="Does the l_inf theorem's gap appear, and how little do the weights move?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                L_INF_PURE,
                d=40,
                k=8,
                batch=256,
                clean_steps=60,
                robust_steps=30,
                n_test=300,
                n_attack=60,
                pgd_steps=5,
                n_certify=40,
            ),
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(
            config=L_INF_RANDOM,
            points=({"d": 200, "k": 14, **_pure}, {"d": 100, "k": 9}),
            seeds=3,
            cell_seconds=4.7,
        ),
        "full": Preset(
            config=L_INF_RANDOM,
            points=(
                {"d": 200, "k": 14, **_pure},
                {"d": 400, "k": 19, **_pure, "tau_factor": 0.18},
                {"d": 256, "k": 15, **_pure, "dictionary": "hadamard"},
                {"d": 200, "k": 14, "batch": 2048},
                {"d": 400, "k": 19, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
