"""On a well-conditioned mixture, is clean training already as robust as adversarial training?"""

from dataclasses import dataclass, replace

import torch
from scipy.special import ndtr

from karat.papers.benign.experiments.curves import run_final
from karat.papers.benign.experiments.evaluation import Evaluation
from karat.papers.benign.experiments.maps import PAPER_SIZE, TINY_SIZE
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class CleanTrainingResult(Evaluation):
    """The last evaluation of a run, beside the best robust error there is.

    Args:
        best_robust_error: of any classifier, at the same test radius.
    """

    best_robust_error: float


def run(config: MixtureConfig, generator: torch.Generator) -> CleanTrainingResult:
    r"""Robust error at `test_ratio` after training at `ratio`, with that of the best classifier beside it.

    Without label noise the best robust classifier of two spherical Gaussian clusters is
    :math:`\mathrm{sign} \langle \mu, x \rangle`, whose robust error is :math:`\Phi(-(\|\mu\| - \tau))`.

    Args:
        config: the run; clean training has ratio 0.
        generator: draws net and data.

    Ref: purification, Sec 7
    """
    best = float(ndtr(-(config.mu - config.test_tau)))
    return CleanTrainingResult(**vars(run_final(config, generator)), best_robust_error=best)


_BASE = replace(
    PAPER_SIZE, n=400, d=400, m=250, mu=2.0, flip_rate=0.0, test_ratio=0.25, steps=200, n_test=8000
)
_GRID: dict[str, tuple[float, ...]] = {"ratio": (0.0, 0.25)}

CLEAN_TRAINING = Experiment(
    name="benign.clean_training",
    title="Is clean training on a Gaussian mixture already as robust as adversarial training?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(TINY_SIZE, flip_rate=0.0, test_ratio=0.25), grid=_GRID, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(config=_BASE, grid=_GRID, seeds=5, cell_seconds=1.2),
        "full": Preset(
            config=replace(_BASE, m=1000, steps=1000),
            grid={**_GRID, "n": (100, 400, 1600), "d": (100, 400, 1600)},
            seeds=10,
            cell_seconds=30,
        ),
    },
    run=run,
)
