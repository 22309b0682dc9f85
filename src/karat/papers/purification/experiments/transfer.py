"""Perturbations of one clean net on others that share nothing with it but the data's law."""

from dataclasses import dataclass
from typing import Any

import torch

from karat.attacks import Steepest, run_attack, transfer_matrix
from karat.core.ball import Ball
from karat.core.checks import require_integer
from karat.core.classifier import Classifier
from karat.papers.purification.experiments.evaluate import require_awake, share
from karat.papers.purification.experiments.regime import Regime, split
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.cosines import cosine_with
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class Config(Regime):
    """A regime and the number of independently trained nets.

    Args:
        nets: at least two; the first one is also trained adversarially, as another target.
    """

    nets: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        require_integer(self.nets, "nets", "Config", minimum=2)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train the nets from their own starts and batches; attack each, judge on all."""
    draws = split(generator, 4 + config.nets)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    nets = []
    for own in draws[4:]:
        net, _ = config.clean_trainer().run(
            config.draw_net(model, own), config.batches(model, own), steps=config.clean_steps, generator=own
        )
        require_awake(net, test.x, config.clean_steps)
        nets.append(net)
    robust, _ = config.robust_trainer(model).run(
        nets[0], config.batches(model, draws[2]), steps=config.robust_steps, generator=draws[2]
    )
    require_awake(robust, test.x, config.clean_steps + config.robust_steps)
    ball, fast = config.ball(model), Steepest()
    classifiers = [TiesToPlus(OddClassifier(net)) for net in (*nets, robust)]
    table = transfer_matrix(classifiers, test.x, test.y, ball, method=fast)
    deltas = [fast(classifier, test.x, test.y, ball) for classifier in classifiers]
    pairs = [(i, j) for i in range(config.nets) for j in range(config.nets) if i != j]
    return {
        "rate": [float(table.rate[i, j]) for i, j in pairs],
        "mean_rate": float(torch.stack([table.rate[i, j] for i, j in pairs]).mean()),
        "cosine": float(torch.stack([cosine_with(deltas[i], deltas[j]).mean() for i, j in pairs]).mean()),
        "to_robust": [float(table.rate[i, -1]) for i in range(1, config.nets)],
        "random": [_random(classifier, ball, test.x, test.y, draws[3]) for classifier in classifiers[:-1]],
        "table": [[float(v) for v in row] for row in table.rate],
        "error": [[float(v) for v in row] for row in table.error],
        "accuracy": [share(classifier.margin(test.x, test.y) > 0) for classifier in classifiers],
    }


def _random(
    classifier: Classifier, ball: Ball, x: torch.Tensor, y: torch.Tensor, generator: torch.Generator
) -> float:
    """Share of correct points that a random perturbation of full length flips."""

    def noise(*args: Any, **knobs: Any) -> torch.Tensor:
        return ball.extreme_point(torch.randn(x.shape, generator=generator, dtype=x.dtype))

    correct = classifier.margin(x, y) > 0
    return share(run_attack(noise, classifier, x, y, ball).success[correct])


TRANSFER = Experiment(
    name="purification.transfer",
    title="Do perturbations transfer between independently trained nets?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=Config(d=40, k=10, batch=512, clean_steps=150, robust_steps=15, n_test=300),
            seeds=2,
            cell_seconds=1,
        ),
        "quick": Preset(config=Config(d=200, k=30), seeds=3, cell_seconds=22),
        "full": Preset(
            config=Config(d=200, k=30, nets=3),
            points=(
                {"d": 100, "k": 20, "batch": 1024},
                {"d": 200, "k": 30},
                {"d": 400, "k": 44, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=150,
        ),
    },
    run=run,
)
