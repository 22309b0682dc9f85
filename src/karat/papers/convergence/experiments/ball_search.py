"""The search for a net of small robust loss in a ball around its start, and the settings of such a ball."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.attacks.pgd import PGD
from karat.core.cap import Cap
from karat.core.losses import Logistic
from karat.core.ranges import Count, Pairs, Positive, Share, Steps, settings
from karat.data.digits import Source
from karat.data.samples import Samples
from karat.nets import TwoLayer, as_classifier
from karat.papers.convergence.experiments.reference import frobenius_displacement
from karat.papers.lazy.experiments.digits import Digits
from karat.training import Adversary, Constant, FrobeniusBall, Trainer, TwoInfBall
from karat.training.displacements import (
    Displacements,
    hilbert_ball,
    kink_slack,
    kink_slack_frobenius,
    row_ball,
)
from karat.training.linearised import LinearisedProblem, Optimum
from karat.training.projections import Projection


@dataclass(frozen=True, kw_only=True)
@settings
class VsLazyConfig:
    r"""Settings of one ball.

    Args:
        side: the net sees :math:`\text{side}^2` inputs of length 1.
        m: width.
        C0: radius of the ball, :math:`C_0`.
        start: "paired" (every neuron has a twin of opposite sign, f = 0) or "gaussian" (unpaired).
        ball: "rows" (radius :math:`C_0/\sqrt{m}` per row) or "frobenius" (radius :math:`C_0`).
        tau: :math:`\ell_2` attack radius; attacked points stay on the sphere, within the angle
            :math:`\arcsin \tau`.
        n: training images.
        n_test: test images.
        padded_from: data of a smaller side, padded with zeros.
        steps: of the convex solver.
        rounds: of adding attacked points.
        polish: training steps at the end.
        attack_steps: of the attack.
        labels: control: "permuted" gives the training images the labels of others.
        source: of the images.

    Reading: a bias-free ReLU net has the same sign along every ray, so it errs in the :math:`\ell_2` ball of
        radius tau exactly if it errs in the cap of angle :math:`\arcsin \tau`: lazy's attack and
        convergence's perturbation set are the same question here.
    """

    side: Count
    m: Pairs
    C0: Positive
    start: Literal["paired", "gaussian"] = "paired"
    ball: Literal["rows", "frobenius"] = "rows"
    tau: Share = 0.2
    n: Annotated[int, Ge(2)] = 40
    n_test: Annotated[int, Ge(2)] = 200
    padded_from: Count | None = None
    steps: Count = 100
    rounds: Count = 2
    polish: Steps = 25
    attack_steps: Count = 20
    labels: Literal["own", "permuted"] = "own"
    source: Source = "embedded"

    def __post_init__(self) -> None:
        _ = self.digits  # refuses sides that do not fit together

    @property
    def digits(self) -> Digits:
        """The data."""
        return Digits(side=self.side, source=self.source, padded_from=self.padded_from)

    @property
    def weight_radius(self) -> float:
        """Radius of the ball in its own norm."""
        return self.C0 / math.sqrt(self.m) if self.ball == "rows" else self.C0

    @property
    def perturbations(self) -> Cap:
        r"""The cap of angle :math:`\arcsin \tau`."""
        return Cap(2 * math.sin(math.asin(self.tau) / 2))


@dataclass(frozen=True, eq=False)
class Points:
    """Allowed points collected so far.

    Args:
        x: (N, d).
        y: (N,) labels.
        sample: (N,) the training sample that each belongs to.
    """

    x: Tensor
    y: Tensor
    sample: Tensor

    def add(self, x: Tensor, train: Samples) -> "Points":
        """Return the points with one more per training sample.

        Args:
            x: (n, d) the new ones.
            train: the samples.
        """
        return Points(
            torch.cat([self.x, x]),
            torch.cat([self.y, train.y]),
            torch.cat([self.sample, torch.arange(len(x))]),
        )


@dataclass(frozen=True, eq=False)
class Best:
    """The net of smallest robust loss found so far.

    Args:
        net: itself.
        loss: its robust training loss.
        accuracy: its robust training accuracy.
        points: all points that any attack has met.
        linear_loss: of the last linearised optimum.
        linear_bound: certified below the loss of every linearised net, at the points of that round.
    """

    net: TwoLayer
    loss: float
    accuracy: float
    points: Points
    linear_loss: float
    linear_bound: float


def search(config: VsLazyConfig, start: TwoLayer, train: Samples) -> Best:
    """Solve the linearised problem, attack its answer as a net, add what the attack met, repeat, polish.

    Args:
        config: of the ball.
        start: its centre.
        train: samples.
    """
    points = Points(train.x, train.y, torch.arange(config.n))
    # A paired start is zero everywhere: an attack on it has no direction to go.
    if config.start == "gaussian":
        points = points.add(attack(config, start, train), train)
    best = Best(start, math.inf, 0.0, points, math.inf, 0.0)
    for _ in range(config.rounds):
        # Attacked points of earlier rounds stay: the next answer must be robust at all of them.
        optimum = solve(config, start, best.points)
        candidate = start.replace(W=start.W + displacement(config, start, best.points, optimum.D))
        best = replace(best, linear_loss=optimum.loss, linear_bound=optimum.bound)
        best = _better(config, best, candidate, train)
    return _better(config, best, _polish(config, start, best.net, train), train)


def solve(
    config: VsLazyConfig, start: TwoLayer, points: Points, *, slack: bool = False, steps: int | None = None
) -> Optimum:
    """Minimise the robust loss of the linearised net over the ball.

    Args:
        config: of the ball.
        start: its centre.
        points: allowed ones, of which the worst of every sample counts.
        slack: add the largest gain that switching neurons can bring; the certified bound then holds for every
            net of the ball, not only for linearised ones.
        steps: of the solver, instead of the config's.
    """
    rows = config.ball == "rows"
    margin = points.y * start(points.x)
    if slack:
        gain = kink_slack if rows else kink_slack_frobenius
        margin = margin + gain(start, points.x, points.y, config.weight_radius)
    space: Displacements
    if rows:
        space = row_ball(start, points.x, points.y)
    else:
        # This space goes through the root of a Gram matrix, which needs double precision.
        space, margin = hilbert_ball(start, points.x, points.y), margin.double()
    problem = LinearisedProblem(space=space, margin=margin, sample=points.sample)
    return problem.solve(config.weight_radius, steps=steps or config.steps)


def displacement(config: VsLazyConfig, start: TwoLayer, points: Points, D: Tensor) -> Tensor:
    """Return an answer of the solver as a matrix (m, d).

    Args:
        config: of the ball.
        start: its centre.
        points: those of the answer.
        D: the answer in the solver's coordinates.
    """
    if config.ball == "rows":
        signed = points.y.unsqueeze(1) * points.x
        # The same basis of the span of the points as in `row_ball`.
        basis = torch.linalg.qr(signed.T.double()).Q.to(signed.dtype)
        return D @ basis.T
    space = hilbert_ball(start, points.x, points.y)
    return frobenius_displacement(start, points.x, points.y, space, D, config.weight_radius)


def attack(config: VsLazyConfig, net: TwoLayer, data: Samples) -> Tensor:
    """Return the attacked points (n, d), one per sample.

    Args:
        config: of the attack.
        net: under attack.
        data: clean samples.
    """
    pgd = PGD(steps=config.attack_steps)
    return data.x + pgd(as_classifier(net), data.x, data.y, config.perturbations)


def scores(net: TwoLayer, attacked: Tensor, data: Samples) -> tuple[float, float]:
    """Return loss and accuracy at attacked points.

    Args:
        net: to be judged.
        attacked: (n, d) points.
        data: their labels.
    """
    margin = data.y * net(attacked)
    return float(Logistic()(margin).mean()), float((margin > 0).double().mean())


def _better(config: VsLazyConfig, best: Best, candidate: TwoLayer, train: Samples) -> Best:
    """Attack a candidate, add the points met, and take the candidate itself if its robust loss is smaller."""
    attacked = attack(config, candidate, train)
    best = replace(best, points=best.points.add(attacked, train))
    loss, accuracy = scores(candidate, attacked, train)
    return replace(best, net=candidate, loss=loss, accuracy=accuracy) if loss < best.loss else best


def _polish(config: VsLazyConfig, start: TwoLayer, net: TwoLayer, train: Samples) -> TwoLayer:
    """A few steps of projected adversarial training of the net itself."""
    if config.polish == 0:
        return net
    projection: Projection
    if config.ball == "rows":
        projection = TwoInfBall(start.W, config.weight_radius)
    else:
        projection = FrobeniusBall({"W": start.W}, config.weight_radius)
    trainer = Trainer(
        lr=Constant(5.0),
        momentum=0.9,
        adversary=Adversary(PGD(steps=6), config.perturbations),
        projection=projection,
    )
    return trainer.run(net, train.x, train.y, steps=config.polish, observe_at=()).net
