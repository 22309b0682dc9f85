"""The methods of Tables 1 to 5 side by side, on the same data and start."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from karat.papers.features.experiments.directions import (
    DirectionPicture,
    Float32Cosines,
    direction_pictures,
    float32_cosines,
)
from karat.papers.features.experiments.landmarks import (
    ClosedFormNtk,
    closed_form_ntk,
    label_strength,
    parity_plateaus,
)
from karat.papers.features.experiments.learning import (
    LearningProblem,
    draw,
    learn_features,
    without_structure,
)
from karat.papers.features.experiments.scores import accuracy, hinge, outputs
from karat.papers.features.experiments.settings import LearningConfig, Method
from karat.papers.features.experiments.train_methods import Trained, train_method
from karat.reductions.span.pattern_space import PatternNet
from karat.study.result import Spread, Undefined

SUFFIX = "_unstructured"


@dataclass(frozen=True, kw_only=True)
class Cosines:
    """Cosines of the neurons to the ground truth.

    Reading: the tables' metric is the maximum of the signed cosine over all 2 m neurons.

    Args:
        cos: the largest over neurons.
        cos_mean: mean over neurons of its absolute value.
        signed: mean over neurons of the cosine times the sign of the output weight. Descent turns a neuron
            to the side of its output weight, which tells it from ascent.

    Ref: features, Sec E.1
    """

    cos: float
    cos_mean: float
    signed: float


@dataclass(frozen=True, kw_only=True)
class MethodScores:
    """What one method reached.

    Args:
        train: accuracy on the training sample.
        test: accuracy on the test sample.
        hinge: test hinge loss.
        zero: share of test points with output exactly zero.
        lr: the chosen rate.
        curve_steps: steps at which the test accuracy was looked at.
        curve: test accuracy at these steps.
        cos: as in `Cosines`; None for the NTK.
        cos_mean: as in `Cosines`; None for the NTK.
        weight_norm: length of the output weights on fixed features.
        moved: movement of the hidden weights in classifier learning over their length.
        moved_over_bound: largest over neurons of its movement over the bound of Lemma 24.
        strength: correlation of random features with the label, without structure only.
    """

    train: float
    test: float
    hinge: float
    zero: float
    lr: float
    curve_steps: list[int]
    curve: list[float]
    cos: float | None = None
    cos_mean: float | None = None
    weight_norm: float | None = None
    moved: float | None = None
    moved_over_bound: float | None = None
    strength: float | None = None

    def known(self, name: Literal["weight_norm", "moved", "moved_over_bound", "strength"]) -> float:
        """Return a number that only some methods have; a KeyError names it where it is missing."""
        value: float | None = getattr(self, name)
        if value is None:
            raise KeyError(name)
        return value


@dataclass(frozen=True, kw_only=True)
class MethodsResult:
    r"""All methods on one problem.

    Args:
        majority: test accuracy of the better constant answer.
        scale: :math:`\tilde\sigma` of the training sample.
        label_corr: :math:`\gamma` of the law.
        closed_form_spread: largest preactivation over noise before step two, small where the closed form is
            exact.
        closed_form: whether step two was taken in closed form.
        start: cosines before training.
        step1: cosines after the first step.
        step2: cosines after the second.
        methods: what each of them reached.
        plateaus: accuracies of threshold functions of the count; the next four for balanced parity only.
        linear_ceiling: accuracy of the best single threshold.
        rf_floor_energy: largest mean square length of the random features.
        parities: number of sets of k among D patterns.
        step1_float32: cosines after a first step in single precision, for runs in pattern space.
        ntk_closed: the closed-form NTK, if it was asked for.
        pictures: stage -> directions of the neurons, if they were asked for.
        majority_unstructured: `majority` of the inputs without structure, if any method ran on them.
    """

    majority: float
    scale: float
    label_corr: float
    closed_form_spread: Annotated[float, Undefined("infinite without a closed form of the second step")]
    closed_form: bool
    start: Cosines
    step1: Cosines
    step2: Cosines
    methods: Annotated[dict[Method, MethodScores], Spread()]
    plateaus: list[float] | None = None
    linear_ceiling: float | None = None
    rf_floor_energy: int | None = None
    parities: int | None = None
    step1_float32: Float32Cosines | None = None
    ntk_closed: ClosedFormNtk | None = None
    pictures: dict[str, DirectionPicture] | None = None
    majority_unstructured: float | None = None


def run_methods(config: LearningConfig, generator: torch.Generator) -> MethodsResult:
    """Train every method of the config on the same data and start.

    Args:
        config: settings of the run.
        generator: draws data, start and the seeds of all methods.
    """
    problem = draw(config, generator)
    stages = learn_features(config, problem)
    float32 = float32_cosines(config, problem, stages, generator)
    trained: dict[Method, Trained] = {
        name: train_method(config, name, problem, stages, generator)
        for name in config.methods
        if not name.endswith(SUFFIX)
    }
    network = trained["network"].net if "network" in trained else None
    result = MethodsResult(
        majority=problem.majority(),
        scale=problem.scale,
        label_corr=problem.label_corr,
        closed_form_spread=stages.spread,
        closed_form=stages.closed,
        # The output weights before a step are those whose signs steer it.
        start=_cosines(stages.start, stages.start.net.a, problem),
        step1=_cosines(stages.one, stages.start.net.a, problem),
        step2=_cosines(stages.two, stages.one.net.a, problem),
        methods={name: _scores(method, problem) for name, method in trained.items()},
        step1_float32=float32,
        ntk_closed=closed_form_ntk(config, problem) if config.n_kernel and "ntk" in trained else None,
        pictures=(
            direction_pictures(stages, network or stages.two, problem.direction) if config.pictures else None
        ),
    )
    rates: dict[str, float] = {name: method.lr for name, method in trained.items()}
    return _with_unstructured(config, _with_landmarks(config, result), problem, rates, generator)


def _with_landmarks(config: LearningConfig, result: MethodsResult) -> MethodsResult:
    """What threshold functions of the count reach; other labels or rates have other plateaus."""
    if config.task != "parity" or config.negative_rate is not None:
        return result
    plateaus, linear_ceiling = parity_plateaus(config)
    return replace(
        result,
        plateaus=plateaus,
        linear_ceiling=linear_ceiling,
        rf_floor_energy=config.pairs,
        parities=math.comb(config.D, config.k),
    )


def _with_unstructured(
    config: LearningConfig,
    result: MethodsResult,
    problem: LearningProblem,
    rates: dict[str, float],
    generator: torch.Generator,
) -> MethodsResult:
    """The same methods on coins; rates are those chosen on structured data where there are any."""
    names = [name for name in config.methods if name.endswith(SUFFIX)]
    if not names:
        return result
    coins = without_structure(config, problem, generator)
    stages = learn_features(config, coins)
    scores: dict[Method, MethodScores] = {}
    for name in names:
        method = name.removesuffix(SUFFIX)
        chosen = (rates[method],) if method in rates else None
        scores[name] = _scores(train_method(config, method, coins, stages, generator, chosen), coins)
    if "rf_unstructured" in scores:
        scores["rf_unstructured"] = replace(scores["rf_unstructured"], strength=label_strength(coins))
    return replace(result, methods=result.methods | scores, majority_unstructured=coins.majority())


def _cosines(net: PatternNet, top: Tensor, problem: LearningProblem) -> Cosines:
    cosines = net.cosines(problem.direction)
    return Cosines(
        cos=float(cosines.max()),
        cos_mean=float(cosines.abs().mean()),
        signed=float((cosines * top.sign()).mean()),
    )


def _scores(trained: Trained, problem: LearningProblem) -> MethodScores:
    """Accuracies, hinge loss, cosines, rate and curve of a method."""
    test, train = problem.test, problem.train
    f = outputs(trained.output, test.x)
    on_train = outputs(trained.output, train.x) if trained.on_train is None else trained.on_train
    cosines = None if trained.net is None else trained.net.cosines(problem.direction)
    return MethodScores(
        train=accuracy(on_train, train.y),
        test=accuracy(f, test.y),
        hinge=hinge(f, test.y),
        zero=float((f == 0).double().mean()),
        lr=trained.lr,
        curve_steps=[step for step, _ in trained.curve],
        curve=[value for _, value in trained.curve],
        cos=None if cosines is None else float(cosines.max()),
        cos_mean=None if cosines is None else float(cosines.abs().mean()),
        weight_norm=trained.weight_norm,
        moved=trained.moved.share if trained.moved else None,
        moved_over_bound=trained.moved.over_bound if trained.moved else None,
    )
