"""On a well-conditioned mixture, is clean training already as robust as adversarial training?"""

from dataclasses import replace
from typing import Any

import torch
from scipy.special import ndtr

from karat.papers.benign.experiments.maps import PAPER, TINY, run_final
from karat.papers.benign.experiments.mixture import Config
from karat.study.experiment import Experiment, Preset


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Robust error at `test_ratio` after training at `ratio`, with that of the best classifier beside it.

    Without label noise the best robust classifier of two spherical Gaussian clusters is sign <mu, x>, whose
    robust error is Phi(-(|mu| - tau)).

    Ref: purification, Sec 7
    """
    values = run_final(config, generator)
    return {**values, "best_robust_error": float(ndtr(-(config.mu - config.test_tau)))}


_BASE = replace(PAPER, n=400, d=400, m=250, mu=2.0, flip_rate=0.0, test_ratio=0.25, steps=200)
_GRID: dict[str, tuple[float, ...]] = {"ratio": (0.0, 0.25)}

CLEAN_TRAINING = Experiment(
    name="benign.clean_training",
    title="Is clean training on a Gaussian mixture already as robust as adversarial training?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(TINY, flip_rate=0.0, test_ratio=0.25), grid=_GRID, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(config=_BASE, grid=_GRID, seeds=3, cell_seconds=2),
        "full": Preset(
            config=replace(_BASE, m=1000, steps=1000),
            grid={**_GRID, "n": (100, 400, 1600), "d": (100, 400, 1600)},
            seeds=10,
            cell_seconds=30,
        ),
    },
    run=run,
)
