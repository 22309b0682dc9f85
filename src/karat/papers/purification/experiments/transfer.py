"""Perturbations of one clean net on others that share nothing with it but the data's law."""

from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge

from karat.attacks import Steepest, run_attack, transfer_matrix
from karat.core.ball import Ball
from karat.core.classifier import Classifier
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import require_awake, share
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.cosines import cosine_with
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class TransferConfig(OddNetConfig):
    """Data, start and training, and the number of independently trained nets.

    Args:
        nets: at least two; the first one is also trained adversarially, as another target.
    """

    nets: Annotated[int, Ge(2)] = 2


@dataclass(frozen=True, kw_only=True)
class TransferResult:
    """Shares of flips on one net that also flip another, and what to compare them with.

    Args:
        rate: for every ordered pair of different clean nets.
        mean_rate: their mean.
        cosine: mean cosine of the perturbations of two clean nets.
        to_robust: from every clean net but the first to the robust one.
        random: share that a random direction flips, for every clean net.
        table: from every net (row) to every net (column), the robust one last.
        error: the errors on the attacked points, likewise.
        accuracy: clean accuracy of every net.
    """

    rate: list[float]
    mean_rate: float
    cosine: float
    to_robust: list[float]
    random: list[float]
    table: list[list[float]]
    error: list[list[float]]
    accuracy: list[float]


def run(config: TransferConfig, generator: torch.Generator) -> TransferResult:
    """Train the nets from their own starts and batches; attack each, judge on all."""
    for_model, for_test, for_robust, for_noise, *for_nets = split(generator, 4 + config.nets)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    nets = []
    for for_net in for_nets:
        net, _ = config.train_clean(config.draw_net(model, for_net), model, for_net)
        require_awake(net, test.x, config.clean_steps)
        nets.append(net)
    robust, _ = config.train_robust(nets[0], model, for_robust)
    require_awake(robust, test.x, config.clean_steps + config.robust_steps)
    ball, fast = config.ball(model), Steepest()
    classifiers = [TiesToPlus(OddClassifier(net)) for net in (*nets, robust)]
    table = transfer_matrix(classifiers, test.x, test.y, ball, method=fast)
    deltas = [fast(classifier, test.x, test.y, ball) for classifier in classifiers]
    pairs = [(i, j) for i in range(config.nets) for j in range(config.nets) if i != j]
    return TransferResult(
        rate=[float(table.rate[i, j]) for i, j in pairs],
        mean_rate=float(torch.stack([table.rate[i, j] for i, j in pairs]).mean()),
        cosine=float(torch.stack([cosine_with(deltas[i], deltas[j]).mean() for i, j in pairs]).mean()),
        # The robust net was trained from the first one: only the others share nothing with it.
        to_robust=[float(table.rate[i, -1]) for i in range(1, config.nets)],
        random=[_random(classifier, ball, test.x, test.y, for_noise) for classifier in classifiers[:-1]],
        table=[[float(v) for v in row] for row in table.rate],
        error=[[float(v) for v in row] for row in table.error],
        accuracy=[share(classifier.margin(test.x, test.y) > 0) for classifier in classifiers],
    )


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
            config=TransferConfig(d=40, k=10, batch=512, clean_steps=150, robust_steps=15, n_test=300),
            seeds=2,
            cell_seconds=1,
        ),
        "quick": Preset(config=TransferConfig(d=200, k=14, batch=512), seeds=3, cell_seconds=2.5),
        "full": Preset(
            config=TransferConfig(d=200, k=14, nets=3),
            points=(
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 400, "k": 19, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=150,
        ),
    },
    run=run,
)
