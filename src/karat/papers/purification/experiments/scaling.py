r"""The size of the dense mixture from pure features: :math:`\beta/\alpha` against :math:`E\|z\|_0 / d`."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import mixture_ratio
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import features, require_awake
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.probes.activity import activation_rate
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class ScalingResult:
    r"""The mixture after clean training from pure features.

    Args:
        predicted: mixture in equilibrium, :math:`E \|z\|_0 / d`.
        ratio: measured mixture over pure part, :math:`\beta/\alpha`.
        aligned: share of mixture coefficients with the sign of w*.
        single: share of neurons with one own feature.
        paper_beta: mean of :math:`\beta_{ij}` as the paper averages.
        alpha: mean largest coefficient.
        largest_beta: largest mixture coefficient.
        rate: median share of inputs on which a neuron wakes.
        start_rate: the same before training.
        steps: of the curve.
        ratio_curve: mixture over pure part on the way.
    """

    predicted: float
    ratio: float
    aligned: float
    single: float
    paper_beta: float
    alpha: float
    largest_beta: float
    rate: float
    start_rate: float
    steps: list[int]
    ratio_curve: list[float]


def run(config: OddNetConfig, generator: torch.Generator) -> ScalingResult:
    """Clean training from w_i = M_i towards equilibrium; mixture, activation and their prediction."""
    for_model, for_test, for_start, for_clean = split(generator, 4)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    stops = sorted({round(config.clean_steps * share) for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)})

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        return {"ratio": features(model, net, test.x).ratio}

    net, measured = config.train_clean(start, model, for_clean, observe=observe, observe_at=stops)
    require_awake(net, test.x, config.clean_steps)
    last = features(model, net, test.x)
    return ScalingResult(
        predicted=mixture_ratio(model.code.expected_support, config.d),
        ratio=last.ratio,
        aligned=last.aligned,
        single=last.single,
        paper_beta=last.paper_beta,
        alpha=last.alpha,
        largest_beta=last.largest_beta,
        rate=float(activation_rate(net, test.x).median()),
        start_rate=float(activation_rate(start, test.x).median()),
        steps=stops,
        ratio_curve=[values["ratio"] for _, values in measured],
    )


BASE = OddNetConfig(
    d=200, k=14, start="pure", decay=0.05, step=0.12, clean_steps=300, batch=1024, n_test=4000
)

SCALING = Experiment(
    name="purification.scaling",
    title="Is the mixture of every neuron k/d of its pure part, with which constant?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(BASE, batch=256, clean_steps=60, n_test=500),
            points=({"d": 30, "k": 6}, {"d": 40, "k": 6}, {"d": 60, "k": 6}),
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=BASE,
            points=(
                {"d": 50, "k": 7},
                {"d": 100, "k": 9},
                {"d": 200, "k": 7},
                {"d": 200, "k": 14},
                {"d": 400, "k": 19},
            ),
            seeds=3,
            cell_seconds=1.1,
        ),
        "full": Preset(
            config=replace(BASE, step=0.06, clean_steps=1400, batch=2048),
            points=tuple(
                {"d": d, "k": k}
                for d, k in (
                    (50, 7),
                    (100, 7),
                    (100, 9),
                    (200, 7),
                    (200, 14),
                    (400, 10),
                    (400, 19),
                    (800, 14),
                    (800, 28),
                )
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
