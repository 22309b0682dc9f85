"""The size of the dense mixture from pure features: beta/alpha against E|z|_0 / d, over d and k."""

from dataclasses import replace
from typing import Any

import torch

from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.evaluate import features, require_awake
from karat.papers.purification.experiments.regime import Regime, split
from karat.probes.activity import activation_rate
from karat.study.experiment import Experiment, Preset


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Clean training from w_i = M_i towards equilibrium; mixture, activation and their prediction."""
    draws = split(generator, 4)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    start = config.draw_net(model, draws[2])
    grid = sorted({round(config.clean_steps * share) for share in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)})

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        return {"ratio": features(model, net, test.x)["ratio"]}

    net, measured = config.clean_trainer().run(
        start,
        config.batches(model, draws[3]),
        steps=config.clean_steps,
        generator=draws[3],
        observe=observe,
        observe_at=grid,
    )
    require_awake(net, test.x, config.clean_steps)
    own = features(model, net, test.x)
    rate = activation_rate(net, test.x)
    return {
        "predicted": model.code.expected_support / config.d,
        "ratio": own["ratio"],
        "aligned": own["aligned"],
        "single": own["single"],
        "paper_beta": own["paper_beta"],
        "alpha": own["alpha"],
        "largest_beta": own["largest_beta"],
        "rate": float(rate.median()),
        "start_rate": float(activation_rate(start, test.x).median()),
        "steps": grid,
        "ratio_curve": [values["ratio"] for _, values in measured],
    }


BASE = Regime(d=200, k=25, start="pure", decay=0.05, step=0.12, clean_steps=300, batch=1024, n_test=4000)

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
                {"d": 50, "k": 15},
                {"d": 100, "k": 15},
                {"d": 200, "k": 15},
                {"d": 200, "k": 25},
                {"d": 400, "k": 30},
            ),
            seeds=3,
            cell_seconds=3,
        ),
        "full": Preset(
            config=replace(BASE, step=0.06, clean_steps=1400, batch=2048),
            points=tuple(
                {"d": d, "k": k}
                for d, k in (
                    (100, 10),
                    (100, 15),
                    (100, 20),
                    (200, 15),
                    (200, 25),
                    (200, 60),
                    (400, 25),
                    (400, 40),
                    (800, 25),
                    (800, 40),
                    (800, 60),
                )
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
