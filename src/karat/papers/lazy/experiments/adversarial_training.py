"""Projected adversarial training inside the lazy ball, and what it leaves of the accuracy."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.attacks.judge import run_attack
from karat.attacks.pgd import PGD
from karat.certificates import bracket, certify
from karat.core.ball import Ball
from karat.core.losses import Logistic
from karat.core.norms import norm
from karat.core.ranges import Count, NonNegative, Positive, Steps, Unbounded, settings
from karat.data.digits import Source
from karat.data.samples import Samples
from karat.nets import TwoLayer, as_classifier, init
from karat.papers.lazy.experiments.digits import Digits
from karat.study.result import Undefined
from karat.training import Adversary, Constant, Trainer, TwoInfBall
from karat.training.epochs import EpochTrainer

Images = Annotated[int, Ge(2)]
"""How many images: at least one of each class."""


@dataclass(frozen=True, kw_only=True)
@settings
class AdversarialTrainingConfig:
    """Settings of one run of Algorithm 1.

    Args:
        side: images are side x side.
        m: width.
        C0: rows stay within C0/sqrt m, inf for no projection.
        c: attack radius times sqrt d, at most `side`, where the radius is |x| = 1.
        line4: "iterated" follows the gradient at the moving point, "printed" the gradient at x, which makes
            100 iterations one step.
        project: after every step, or after every epoch as printed.
        padded_from: control with the data of a smaller side (None: no padding).
        classes: the two digits; the second has label +1.
        n: training images.
        n_test: test images.
        lr: step size of the summed loss.
        batch_size: images per step of training.
        epochs: the last epoch of training.
        min_epochs: epochs before the stop rule is asked.
        attack_steps: of PGD in training.
        test_steps: of PGD in the evaluation.
        certified: test images whose robust error is enclosed by attack and certificate.
        source: embedded digits or full MNIST.

    Reading: lr n must be at least about 20, or the rows never reach the edge of the ball and the stop rule
        ends training at the start.
    """

    side: Count
    m: Count = 1000
    C0: Annotated[Positive, Unbounded()] = 10.0
    c: NonNegative = 5.0
    line4: Literal["iterated", "printed"] = "iterated"
    project: Literal["step", "epoch"] = "step"
    padded_from: Count | None = None
    classes: tuple[int, int] = (0, 1)
    n: Images = 200
    n_test: Images = 200
    lr: Positive = 0.1
    batch_size: Count = 20
    epochs: Count = 12
    min_epochs: Steps = 6
    attack_steps: Count = 6
    test_steps: Count = 20
    certified: Steps = 0
    source: Source = "embedded"

    def __post_init__(self) -> None:
        _ = self.digits  # which refuses what no digits have
        if self.c > self.side:
            raise ValueError(
                f"`c` of `{type(self).__name__}` must be at most `side` = {self.side}, where the radius "
                f"c/side is |x| = 1; got {self.c:g}."
            )

    @property
    def digits(self) -> Digits:
        """The data, of unit length."""
        return Digits(side=self.side, source=self.source, padded_from=self.padded_from, classes=self.classes)

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2

    @property
    def tau(self) -> float:
        """Attack radius."""
        return self.c / self.side


@dataclass(frozen=True, kw_only=True)
class Enclosure:
    """Two numbers between which the robust error of the certified test images lies.

    Args:
        low: share of images that the attack breaks.
        high: share of images that the certificate does not prove robust.
    """

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class AdversarialTrainingResult:
    """What one trained net withstands.

    Args:
        robust_accuracy: accuracy that PGD leaves on the test images, an upper bound on the true one.
        clean_accuracy: on the test images.
        train_robust_accuracy: accuracy that the training attack leaves, before the last epoch.
        epochs: how many were begun.
        movement_max: largest distance of a row from its start, times sqrt m.
        movement_mean: mean distance of the rows from their start, times sqrt m.
        margin_over_gradient: median over test images of margin over gradient norm, the flip to first order.
        gradient: mean norm of the gradient on the test images.
        gradient_at_start: the same before training.
        error: robust error of the first `certified` test images; None if none was certified.
    """

    robust_accuracy: float
    clean_accuracy: float
    train_robust_accuracy: float
    epochs: int
    movement_max: float
    movement_mean: float
    margin_over_gradient: Annotated[float, Undefined("the net and its gradient are zero at most test images")]
    gradient: float
    gradient_at_start: float
    error: Enclosure | None = None


def run(config: AdversarialTrainingConfig, generator: torch.Generator) -> AdversarialTrainingResult:
    """Train and evaluate once; the attack of the evaluation is PGD from zero.

    Ref: lazy, Alg 1
    """
    data = config.digits
    train = data.draw(config.n, train=True, generator=generator, dtype=torch.float32)
    test = data.draw(config.n_test, train=False, generator=generator, dtype=torch.float32)
    start = init.gaussian(data.d, config.m, generator=generator, dtype=torch.float32)
    ball = Ball(2, config.tau)
    finished = _loop(config, start.W, ball).run(start, train.x, train.y, generator=generator)
    net: TwoLayer = finished.net
    classifier = as_classifier(net)
    # Stronger than the attack in training, and the best point of its path counts, not the last.
    attacked = run_attack(PGD(steps=config.test_steps), classifier, test.x, test.y, ball).margin
    margin, gradient = classifier.margin_and_gradient(test.x, test.y)
    moved = torch.linalg.vector_norm(net.W - start.W, dim=1) * math.sqrt(config.m)
    return AdversarialTrainingResult(
        robust_accuracy=float((attacked > 0).double().mean()),
        clean_accuracy=float((margin > 0).double().mean()),
        train_robust_accuracy=finished.accuracy[-1],
        epochs=len(finished.accuracy),
        movement_max=float(moved.max()),
        movement_mean=float(moved.mean()),
        margin_over_gradient=float((margin / norm(gradient, 2)).median()),
        gradient=float(norm(gradient, 2).mean()),
        gradient_at_start=float(norm(start.input_gradient(test.x), 2).mean()),
        error=_enclose(net, test, ball, config.certified),
    )


def _loop(config: AdversarialTrainingConfig, W0: Tensor, ball: Ball) -> EpochTrainer:
    """Algorithm 1 in the reading that the config asks for."""
    projection = None if math.isinf(config.C0) else TwoInfBall(W0, config.C0 / math.sqrt(config.m))
    each_step = config.project == "step"
    if config.line4 == "printed":
        # A hundred gradients at the same point x are one gradient: a single step of 2.5 tau/100 remains.
        attack = PGD(steps=1, step_ratio=2.5 / 100, gradient="raw", loss=Logistic(), keep="last")
    else:
        attack = PGD(steps=config.attack_steps, gradient="normalised", keep="last")
    return EpochTrainer(
        trainer=Trainer(
            lr=Constant(config.lr),
            reduction="sum",
            batch_size=config.batch_size,
            projection=projection if each_step else None,
        ),
        adversary=Adversary(attack, ball),
        projection=None if each_step else projection,
        max_epochs=config.epochs,
        min_epochs=config.min_epochs,
    )


def _enclose(net: TwoLayer, test: Samples, ball: Ball, images: int) -> Enclosure | None:
    """Robust error of the first test images between attack and certificate."""
    if images == 0:
        return None
    # No time for the search: constants and relaxations decide, so the machine's speed does not matter.
    enclosed = bracket(certify(net, test.x[:images], test.y[:images], ball, 0.0))
    return Enclosure(low=enclosed.low, high=enclosed.high)
