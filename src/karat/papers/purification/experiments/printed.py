"""Algorithm 1 as printed, piece by piece: bias schedule, weight decay and sampled noise."""

from dataclasses import dataclass, replace

import torch

from karat.nets import OddTwoLayer
from karat.papers.purification.bounds_decay import surviving_decay
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import share
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.dense_mixture import split_mixture
from karat.probes.live_rows import grown_neurons
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class PrintedResult:
    r"""What is left of a net of clean training.

    Args:
        live: share of neurons longer than the threshold.
        alpha: median largest coefficient of those, 0 if there are none.
        accuracy: on test points; a net that sleeps predicts +1.
        threshold: the paper's b at the end.
        decay: :math:`\lambda d`.
        survivable: the largest :math:`\lambda d` that a winner survives at the last printed threshold.
    """

    live: float
    alpha: float
    accuracy: float
    threshold: float
    decay: float
    survivable: float


def run(config: OddNetConfig, generator: torch.Generator) -> PrintedResult:
    """Train clean; a net that falls asleep is an answer here, not a failure."""
    for_model, for_test, for_start, for_clean = split(generator, 4)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    net: OddTwoLayer
    net, _ = config.train_clean(config.draw_net(model, for_start), model, for_clean)
    live = grown_neurons(net.W, -float(net.b))
    alpha = split_mixture(net.W, model.M, model.w_star).alpha[live]
    return PrintedResult(
        live=share(live),
        alpha=float(alpha.median()) if len(alpha) else 0.0,
        accuracy=share(TiesToPlus(OddClassifier(net)).margin(test.x, test.y) > 0),
        threshold=-float(net.b),
        decay=config.scaled_decay,
        survivable=surviving_decay(config.large_rate, config.k**-0.5001),
    )


PIECES = (
    {"schedule": "finite", "decay": 0.01},
    {"schedule": "paper", "decay": 0.01},
    {"schedule": "finite", "decay": None},
    {"schedule": "paper", "decay": None},
    {"schedule": "paper", "decay": 0.01, "sampled_noise": True},
    {"schedule": "paper", "decay": None, "sampled_noise": True},
)
"""Which pieces are as printed: none, each of schedule and decay, both, and the last two with drawn noise."""

PRINTED = Experiment(
    name="purification.printed",
    title="Does Algorithm 1 as printed train at these sizes?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(RANDOM_START, d=30, k=5, batch=128, clean_steps=200, n_test=200),
            points=PIECES,
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=replace(RANDOM_START, d=50, k=7, batch=256, clean_steps=400, n_test=1000),
            points=PIECES,
            seeds=3,
            cell_seconds=0.23,
        ),
        "full": Preset(
            config=replace(RANDOM_START, d=200, k=14, clean_steps=500),
            points=tuple(
                {"d": d, "k": k, "batch": batch} | piece
                for d, k, batch in ((50, 7, 512), (100, 9, 1024), (200, 14, 2048))
                for piece in PIECES
            ),
            seeds=10,
            cell_seconds=30,
        ),
    },
    run=run,
)
