"""Models of growing complexity, all trained against the same radius: who can be robust?"""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from karat.attacks import PGD, Method, Steepest
from karat.attacks.cascade import surviving
from karat.core.checks import require_integer, require_number
from karat.core.classifier import Classifier
from karat.data import Samples, SparseCoding
from karat.nets import Linear, OddTwoLayer, as_classifier
from karat.papers.purification.experiments.evaluate import share
from karat.papers.purification.experiments.models import (
    Model,
    free_polynomial,
    tangent_kernel,
    told_polynomial,
    train,
    train_linear,
)
from karat.papers.purification.experiments.regime import Regime, split, universal
from karat.papers.purification.experiments.ties import TiesToPlus, Wake, ties_to_plus
from karat.probes.oracle import HardThreshold, soft_threshold
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class Config(Regime):
    """A regime, in l_inf with M = I, no noise and several scales of |z| for the theorem's own setting.

    Args:
        kernel_width: neurons of the tangent kernel over d.
        model_steps, model_batch: training of the models below the net.
        inner: PGD steps inside the training of polynomials that know the dictionary, for which one step is
            too coarse.
    """

    kernel_width: float = 3.0
    model_steps: int = 200
    model_batch: int = 512
    inner: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("model_steps", "model_batch", "inner"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_number(self.kernel_width, "kernel_width", "Config", minimum=1 / self.d, maximum=1e6)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Clean and robust accuracy of every rung."""
    draws = split(generator, 12)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    rungs = _models(config, model, draws) | _nets(config, model, draws)
    values: dict[str, Any] = {"tau": config.tau(model), "names": list(rungs)}
    for name, classifier in rungs.items():
        values[f"{name}_accuracy"] = share(TiesToPlus(classifier).margin(test.x, test.y) > 0)
        values[f"{name}_robust"] = _robust(config, model, classifier, test, draws[11])
    return values


def _robust(
    config: Config, model: SparseCoding, classifier: Classifier, test: Samples, generator: torch.Generator
) -> float:
    """Exact for linear and hard-threshold rungs, otherwise what the attacks leave (an upper bound)."""
    few, ball = test.take(slice(0, config.n_attack)), config.ball(model)
    if isinstance(classifier, HardThreshold):
        return share(ties_to_plus(classifier.worst_margin(few.x, few.y, ball)[0], few.y) > 0)
    fast, steps = Steepest(), config.pgd_steps
    attacks: tuple[Method, ...] = (
        universal(model, config.p),
        fast,
        PGD(steps=steps, start=fast),
        PGD(steps=steps, random_start=True),
    )
    if isinstance(classifier, OddClassifier):
        attacks = (*attacks, Wake(classifier.net))
    return share(surviving(TiesToPlus(classifier), few.x, few.y, ball, attacks, generator=generator))


def _models(config: Config, model: SparseCoding, draws: list[torch.Generator]) -> dict[str, Classifier]:
    ball, spread = config.ball(model), math.sqrt(model.score_variance)
    batches = replace(config.batches(model, draws[2]), n=config.model_batch)
    steps = config.model_steps

    def trained(rung: Model, steps: int = steps, inner: int = 1) -> Classifier:
        return as_classifier(train(rung, batches, ball, steps=steps, inner=inner, generator=draws[3]))

    rungs: dict[str, Classifier] = {
        "linear exact": as_classifier(Linear(model.dense_direction.float())),
        "linear trained": as_classifier(train_linear(config.d, batches, ball, steps=steps)),
    }
    width = round(config.kernel_width * config.d)
    minus = tangent_kernel(config.d, width, spread, 0.25 * spread, -1.0, draws[4])
    plus = tangent_kernel(config.d, width, spread, 0.25 * spread, 1.0, draws[4])
    # An even predictor of an odd label learns nothing, however long it trains.
    rungs |= {"kernel minus": trained(minus, steps=max(1, steps // 5)), "kernel plus": trained(plus)}
    for degree in (3, 5):
        rungs[f"degree {degree}"] = trained(free_polynomial(config.d, config.d, degree, draws[5]))
        told = told_polynomial(model, degree, draws[5])
        rungs[f"degree {degree} told"] = trained(told, inner=config.inner)
    return rungs


def _nets(config: Config, model: SparseCoding, draws: list[torch.Generator]) -> dict[str, Classifier]:
    """The odd net from a random start and from w_i = M_i, and the two oracles."""

    def trained(own: Config, index: int) -> OddTwoLayer:
        net, _ = own.clean_trainer().run(
            own.draw_net(model, draws[index]),
            own.batches(model, draws[index + 1]),
            steps=own.clean_steps,
            generator=draws[index + 1],
        )
        robust, _ = own.robust_trainer(model).run(
            net,
            own.batches(model, draws[index + 2]),
            steps=own.robust_steps,
            generator=draws[index + 2],
        )
        return robust

    told = replace(config, start="pure", decay=0.05, clean_steps=200)
    threshold = told.first_threshold
    soft = soft_threshold(model.M.float(), model.w_star.float(), 1.0, threshold)
    return {
        "net": OddClassifier(trained(config, 5)),
        "net from M": OddClassifier(trained(told, 8)),
        "soft oracle": OddClassifier(soft),
        "hard oracle": HardThreshold(model.M, model.w_star, 0.5 * config.scale),
    }


BASE = Config(
    d=100,
    k=20,
    multi_scale=True,
    scale_rate=0.15,
    small_rate=0.1,
    sigma_x=0.0,
    batch=1024,
    p=math.inf,
    tau_factor=0.12,
    robust_steps=120,
    robust_step=0.03,
    ramp=0.7,
    n_attack=400,
    pgd_steps=20,
)

LADDER = Experiment(
    name="purification.ladder",
    title="Which models can be trained to be robust: linear, kernel, polynomial, net?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                BASE,
                d=30,
                k=8,
                batch=256,
                clean_steps=100,
                robust_steps=20,
                model_steps=30,
                model_batch=128,
                n_test=200,
                n_attack=100,
                pgd_steps=5,
            ),
            seeds=2,
            cell_seconds=2,
        ),
        "quick": Preset(config=BASE, seeds=2, cell_seconds=16),
        "full": Preset(
            config=replace(BASE, model_steps=1000, inner=5, n_attack=1000),
            points=(
                {"d": 100, "k": 20},
                {"d": 200, "k": 30, "batch": 2048},
                {"d": 400, "k": 44, "batch": 4096},
                {
                    "d": 200,
                    "k": 30,
                    "batch": 2048,
                    "p": 2.0,
                    "tau_factor": 0.4,
                    "robust_steps": 40,
                    "robust_step": 0.06,
                    "ramp": 0.0,
                },
            ),
            seeds=5,
            cell_seconds=300,
        ),
    },
    run=run,
)
