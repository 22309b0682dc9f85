"""Models of growing complexity, all trained against the same radius: who can be robust?"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch

from karat.attacks import PGD, Method, Steepest
from karat.attacks.cascade import surviving
from karat.core.ball import Ball
from karat.core.checks import require_number
from karat.core.classifier import Classifier
from karat.core.ranges import Count
from karat.data import Samples, SparseCoding
from karat.nets import Linear, OddTwoLayer, as_classifier
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import share
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.predictors import (
    Predictor,
    free_polynomial,
    informed_polynomial,
    tangent_kernel,
    train,
    train_linear,
)
from karat.papers.purification.experiments.ties import TiesToPlus, Wake, ties_to_plus
from karat.probes.oracle import HardThreshold, soft_threshold
from karat.study.experiment import Experiment, Preset
from karat.study.result import Spread
from karat.training.odd import OddClassifier

HALVING = (1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""Radii between which the error of one half is looked for, in units of tau."""


@dataclass(frozen=True, kw_only=True)
class ModelClassesConfig(OddNetConfig):
    """Data, start and training; the theorem has l_inf, M = I, no noise and several scales of |z|.

    Args:
        kernel_width: neurons of the tangent kernel over d.
        model_steps: of the training of the models below the net.
        model_batch: points per step of it.
        gates: of the tangent kernels, "random", or "features" for those of a net that holds its dictionary.
        inner: PGD steps inside the training of polynomials that know the dictionary, for which one step is
            too coarse.
    """

    kernel_width: float = 3.0
    model_steps: Count = 200
    model_batch: Count = 512
    gates: Literal["random", "features"] = "random"
    inner: Count = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        require_number(self.kernel_width, "kernel_width", owner, minimum=1 / self.d, maximum=1e6)
        if self.p != 2 and self.dictionary != "identity":
            reason = "the hard oracle in l_inf needs features along the axes"
            raise ValueError(f"`dictionary` of `{owner}` must be 'identity', for {reason}.")


@dataclass(frozen=True, kw_only=True)
class ModelMeasures:
    """Accuracy of one trained model.

    Args:
        accuracy: without attack.
        robust: exact for linear and hard-threshold models, otherwise what the attacks leave.
        half_radius: radius at which attacks bring the error to one half; None if it is so already without
            attack, or not yet at the largest radius.
    """

    accuracy: float
    robust: float
    half_radius: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelClassesResult:
    """All models, from the least complex to the oracles.

    Args:
        tau: the radius of training and attacks.
        models: name -> its accuracies.
    """

    tau: float
    models: Annotated[dict[str, ModelMeasures], Spread("names")]


def run(config: ModelClassesConfig, generator: torch.Generator) -> ModelClassesResult:
    """Clean and robust accuracy of every model."""
    draws = split(generator, 12)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    # The generator 5 serves the polynomials and then the start of the net.
    classifiers = _low_complexity(config, model, draws[2:6]) | _nets(config, model, draws[5:11])
    return ModelClassesResult(
        tau=config.tau(model),
        models={
            name: ModelMeasures(
                accuracy=share(TiesToPlus(classifier).margin(test.x, test.y) > 0),
                robust=_robust_accuracy(config, model, classifier, test, draws[11]),
                half_radius=_half_radius(config, model, classifier, test, draws[11]),
            )
            for name, classifier in classifiers.items()
        },
    )


def _robust_accuracy(
    config: ModelClassesConfig,
    model: SparseCoding,
    classifier: Classifier,
    test: Samples,
    generator: torch.Generator,
) -> float:
    """Exact for linear and hard-threshold models, otherwise what the attacks leave (an upper bound)."""
    few, ball = test.take(slice(0, config.n_attack)), config.ball(model)
    if isinstance(classifier, HardThreshold):
        return share(ties_to_plus(classifier.worst_margin(few.x, few.y, ball)[0], few.y) > 0)
    # On a linear model the fast gradient method is already the worst perturbation.
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


def _half_radius(
    config: ModelClassesConfig,
    model: SparseCoding,
    classifier: Classifier,
    test: Samples,
    generator: torch.Generator,
) -> float | None:
    """Where the accuracy under attack falls through one half, interpolated in the logarithm of the radius."""
    few, judge = test.take(slice(0, min(200, config.n_attack))), TiesToPlus(classifier)
    fast = Steepest()
    attacks: tuple[Method, ...] = (universal(model, config.p), fast, PGD(steps=10, start=fast))
    if isinstance(classifier, OddClassifier):
        attacks = (*attacks, Wake(classifier.net))
    # Every radius starts from tau, or from that of a model trained without one.
    unit = config.tau(model) or config.small_code_size
    before = share(judge.margin(few.x, few.y) > 0)
    if before <= 0.5:
        return None
    previous = 0.0
    for factor in HALVING:
        now = share(
            surviving(judge, few.x, few.y, Ball(config.p, factor * unit), attacks, generator=generator)
        )
        if now <= 0.5:
            if previous == 0:
                return factor * unit
            along = (before - 0.5) / (before - now)
            return unit * previous * (factor / previous) ** along
        before, previous = now, factor
    return None


def _low_complexity(
    config: ModelClassesConfig, model: SparseCoding, draws: list[torch.Generator]
) -> dict[str, Classifier]:
    """Linear models, tangent kernels and polynomials."""
    for_batches, for_attacks, for_kernels, for_polynomials = draws
    ball, spread = config.ball(model), math.sqrt(model.score_variance)
    batches = replace(config.batches(model, for_batches), n=config.model_batch)
    steps = config.model_steps

    def trained(predictor: Predictor, steps: int = steps, inner: int = 1) -> Classifier:
        return as_classifier(train(predictor, batches, ball, steps=steps, inner=inner, generator=for_attacks))

    classifiers: dict[str, Classifier] = {
        "linear exact": as_classifier(Linear(model.dense_direction.float())),
        "linear trained": as_classifier(train_linear(config.d, batches, ball, steps=steps)),
    }
    minus, plus, again = _kernels(config, model, spread, for_kernels)
    # An even predictor of an odd label learns nothing, however long it trains.
    classifiers |= {
        "kernel minus": trained(minus, steps=max(1, steps // 5)),
        "kernel plus": trained(plus),
        "kernel plus again": trained(again),
    }
    for degree in (3, 5):
        free = free_polynomial(config.d, config.d, degree, for_polynomials)
        classifiers[f"degree {degree}"] = trained(free)
        informed = informed_polynomial(model, degree, for_polynomials)
        classifiers[f"degree {degree} told"] = trained(informed, inner=config.inner)
    return classifiers


def _kernels(
    config: ModelClassesConfig, model: SparseCoding, spread: float, generator: torch.Generator
) -> list[Predictor]:
    """The tangent kernel as printed, with the gradient's own sign, and the latter from another start."""
    rows, bias = None, spread
    width = max(1, round(config.kernel_width * config.d))
    if config.gates == "features":
        rows, width, bias = model.M.float().T, config.d, 0.5 * config.small_code_size
    return [
        tangent_kernel(config.d, width, bias, 0.25 * bias, sign, generator, start_scale=scale, gates=rows)
        for sign, scale in ((-1.0, 0.0), (1.0, 0.0), (1.0, 0.02))
    ]


def _nets(
    config: ModelClassesConfig, model: SparseCoding, draws: list[torch.Generator]
) -> dict[str, Classifier]:
    """The odd net from a random start and from w_i = M_i, and the two oracles."""

    def trained(config: ModelClassesConfig, draws: list[torch.Generator]) -> OddTwoLayer:
        for_start, for_clean, for_robust = draws
        clean, _ = config.train_clean(config.draw_net(model, for_start), model, for_clean)
        return config.train_robust(clean, model, for_robust)[0]

    pure = replace(config, start="pure", decay=0.05, clean_steps=200)
    soft = soft_threshold(model.M.float(), model.w_star.float(), 1.0, pure.first_threshold)
    return {
        "net": OddClassifier(trained(config, draws[:3])),
        "net from M": OddClassifier(trained(pure, draws[3:])),
        "soft oracle": OddClassifier(soft),
        "hard oracle": HardThreshold(model.M, model.w_star, 0.5 * config.small_code_size),
    }


BASE = ModelClassesConfig(
    d=100,
    k=9,
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

MODEL_CLASSES = Experiment(
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
        "quick": Preset(
            config=replace(BASE, model_steps=90, model_batch=256, n_attack=120),
            points=(
                {"d": 25, "k": 4, "batch": 256},
                {"d": 50, "k": 7, "batch": 256},
                {"d": 100, "k": 9, "batch": 512},
            ),
            seeds=3,
            cell_seconds=1.9,
        ),
        "full": Preset(
            config=replace(BASE, model_steps=1000, inner=5, n_attack=1000),
            points=(
                {"d": 100, "k": 9},
                {"d": 200, "k": 14, "batch": 2048},
                {"d": 400, "k": 19, "batch": 4096},
                {
                    "d": 200,
                    "k": 14,
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
