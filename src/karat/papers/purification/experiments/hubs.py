"""Rows along the dense direction, planted at the start: which of them become hubs?

Planted rows show what random rows cannot: their size is chosen, so the prediction is made before training.
"""

import math
from dataclasses import dataclass

import torch

from karat.core.ranges import Count, Positive, settings
from karat.data import SparseCoding
from karat.papers.purification.bounds_hubs import self_waking_ratio
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import require_awake
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.probes.activity import activation_rate
from karat.probes.dense_mixture import split_mixture
from karat.probes.live_rows import grown_neurons
from karat.study.experiment import Experiment, Preset

PLANTED = (0.4, 0.55, 0.7, 0.85, 1.15, 1.4, 1.7, 2.0)
"""Sizes of the planted rows, in units of the predicted ratio."""


@dataclass(frozen=True, kw_only=True)
@settings
class HubsConfig(OddNetConfig):
    """Data, start and clean training, and what is planted.

    Args:
        misjudged: factor on the predicted ratio; 1 is the prediction.
        n_scores: inputs from which the prediction is computed.
    """

    misjudged: Positive = 1.0
    n_scores: Count = 40_000


@dataclass(frozen=True, kw_only=True)
class HubsResult:
    r"""What became of the planted rows.

    Args:
        predicted_ratio: from which :math:`\gamma \sqrt V / b` on a row along the dense direction grows ahead.
        planted: ratios of the planted rows at the start.
        grown: their ratios after clean training.
        rates: shares of inputs on which they then wake.
        own: numbers of their own features.
        ordinary_rate: median share of inputs on which a live random row then wakes.
    """

    predicted_ratio: float
    planted: list[float]
    grown: list[float]
    rates: list[float]
    own: list[int]
    ordinary_rate: float


def run(config: HubsConfig, generator: torch.Generator) -> HubsResult:
    """Plant rows below and above the predicted ratio, train clean, and look at all of them."""
    for_model, for_test, for_start, for_clean, for_scores = split(generator, 5)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    direction = model.dense_direction.float()
    predicted = config.misjudged * _prediction(config, model, for_scores)
    root = math.sqrt(model.score_variance)
    start = config.draw_net(model, for_start)
    sizes = predicted * torch.tensor(PLANTED) * config.first_threshold / root
    rows = sizes.unsqueeze(1) * direction
    net, _ = config.train_clean(start.replace(W=torch.cat([start.W, rows])), model, for_clean)
    require_awake(net, test.x, config.clean_steps)

    random, planted = (net.replace(W=rows) for rows in (net.W[: config.m], net.W[config.m :]))
    live = grown_neurons(random.W, -float(net.b))
    ratios = planted.W @ direction / direction.square().sum() * root / -float(net.b)
    return HubsResult(
        predicted_ratio=predicted,
        planted=[float(predicted * factor) for factor in PLANTED],
        grown=[float(v) for v in ratios],
        rates=[float(v) for v in activation_rate(planted, test.x)],
        own=split_mixture(planted.W, model.M, model.w_star).own_count.tolist(),
        ordinary_rate=float(activation_rate(random, test.x)[live].median()) if bool(live.any()) else 0.0,
    )


def _prediction(config: HubsConfig, model: SparseCoding, generator: torch.Generator) -> float:
    """The predicted ratio under the first speed of the threshold."""
    inputs = model.sample(config.n_scores, generator=generator, dtype=torch.float32)
    scores = (inputs.x @ model.dense_direction.float()).double()
    gains = scores * inputs.y
    return self_waking_ratio(
        scores.numpy(), gains.numpy(), config.fast, root_variance=math.sqrt(model.score_variance)
    )


BASE = HubsConfig(d=100, k=9, batch=1024, n_test=1000)

HUBS = Experiment(
    name="purification.hubs",
    title="Which neurons become hubs that lean on very many features?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=HubsConfig(d=40, k=6, batch=256, n_test=200, n_scores=4000, clean_steps=200),
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(
            config=BASE,
            points=(
                {"d": 50, "k": 7, "batch": 512},
                {"d": 50, "k": 15, "batch": 512},
                {"d": 100, "k": 9},
            ),
            seeds=3,
            cell_seconds=0.46,
        ),
        "full": Preset(
            config=BASE,
            points=tuple(
                {"d": d, "k": k, "batch": batch}
                for d, batch in ((100, 1024), (200, 2048), (400, 4096))
                for k in (round(d**0.4), round(d**0.499), round(2 * d**0.499))
            ),
            seeds=10,
            cell_seconds=40,
        ),
    },
    run=run,
)
