"""Projected gradient descent on the margin."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.attacks.method import Method, require_generator
from karat.attacks.routes import route
from karat.attacks.signs.walk import Walk, walkable_hinges
from karat.core.ball import Ball
from karat.core.classifier import Classifier
from karat.core.hinges import Hinges
from karat.core.losses import Loss
from karat.core.norms import per_sample
from karat.core.ranges import Count, Positive, checked
from karat.core.region import Region

Gradient = Literal["steepest", "normalised", "sign", "raw"]
Keep = Literal["best", "last"]

# The steps of a run are together this many radii long, unless their length is given: far enough to cross the
# ball, and to turn around in it.
PATH = 2.5


@dataclass(frozen=True, kw_only=True)
@checked
class PGD:
    r"""Repeated small steps against the margin's gradient, each followed by the projection to the ball.

    .. math:: \delta_{t+1} = \mathrm{Project}\big(\delta_t - \text{step} \cdot
        \mathrm{direction}(\nabla\, \text{margin}(x + \delta_t))\big)

    Args:
        steps: gradient steps of one run.
        step: absolute length of a step.
        step_ratio: its length as a share of each sample's tau instead; 2.5 / steps if neither is given.
        gradient: "steepest" moves to the extreme point of an l_p ball of radius `step`, p being the ball's
            own; "normalised" does so for l_2, "sign" for l_inf, whatever the ball; "raw" uses the gradient.
        loss: with "raw", weight the gradient by -loss'(margin), i.e. ascend the loss instead of the margin.
        restarts: runs in all; every run after the first starts at a random point of the ball.
        random_start: whether the first run does, too.
        start: another attack whose perturbation the first run starts from; zero when None.
        keep: "best" returns every sample's smallest margin met (its start included), "last" the last point.
        until_broken: leave a sample alone once its margin is <= 0: the same robust error in less time, but
            broken samples end at the first such point and not at their worst one.

    Reading: lazy and benign print a constant step, 2.5 R / 100 over 100 steps and alpha / 5 over 20; both are
    `step_ratio`. Where the gradient vanishes a sample does not move: starts and restarts are for those.

    Ref: lazy, Alg 1
    """

    steps: Count = 20
    step: Positive | None = None
    step_ratio: Positive | None = None
    gradient: Gradient = "steepest"
    loss: Loss | None = None
    restarts: Count = 1
    random_start: bool = False
    start: Method | None = None
    keep: Keep = "best"
    until_broken: bool = False

    def __post_init__(self) -> None:
        if self.step is not None and self.step_ratio is not None:
            raise ValueError("`PGD` takes `step` or `step_ratio`, not both.")
        if self.loss is not None and self.gradient != "raw":
            raise ValueError(
                f'`loss` of `PGD` changes nothing unless `gradient` is "raw", got {self.gradient!r}.'
            )
        if self.start is not None and self.random_start:
            raise ValueError("`PGD` takes `start` or `random_start`, not both.")

    @property
    def step_share(self) -> float:
        """Length of a step as a share of tau, where no absolute `step` is given."""
        return PATH / self.steps if self.step_ratio is None else self.step_ratio

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations shaped like x; a generator is needed only if something is random."""
        delta, margin = self._run(classifier, x, y, ball, self._first(classifier, x, y, ball, generator))
        for _ in range(self.restarts - 1):
            start = ball.sample(x, generator=require_generator(generator, "PGD"))
            if self.until_broken:
                start = torch.where(per_sample(margin > 0, x), start, delta)
            other, other_margin = self._run(classifier, x, y, ball, start)
            delta, margin = better(delta, margin, other, other_margin)
        return delta

    def _first(
        self, classifier: Classifier, x: Tensor, y: Tensor, ball: Region, generator: torch.Generator | None
    ) -> Tensor:
        if self.start is not None:
            return self.start(classifier, x, y, ball, generator=generator)
        if self.random_start:
            return ball.sample(x, generator=require_generator(generator, "PGD"))
        return torch.zeros_like(x)

    def _run(
        self, classifier: Classifier, x: Tensor, y: Tensor, ball: Region, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One run: its perturbations and, where they are compared later, their margins."""
        if route(self, x, ball) == "signs":
            hinges = walkable_hinges(classifier, x, y, self.steps)
            if hinges is not None:
                return self._run_by_signs(hinges, classifier, x, y, ball, delta)
        return self._run_densely(classifier, x, y, ball, delta)

    def _run_densely(
        self, classifier: Classifier, x: Tensor, y: Tensor, ball: Region, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        run = self._run_until_broken if self.until_broken else self._run_to_the_end
        return run(classifier, x, y, ball, delta)

    def _run_by_signs(
        self, hinges: Hinges, classifier: Classifier, x: Tensor, y: Tensor, ball: Region, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One run by changes of sign, with dense steps for the samples where those are cheaper."""
        step, tau, best = self._reach(x, ball).radius(x), ball.radius(x), self.keep == "best"
        walk = Walk(hinges, step, tau, self.steps, keep_best=best, until_broken=self.until_broken)
        walked, margin = walk(x, delta)
        done = len(walked)
        if not best and self.restarts > 1:
            margin = classifier.margin(x[:done] + walked, y[:done])
        if done == len(x):
            return walked, margin
        rest = ball if isinstance(ball.tau, float) else ball.with_tau(tau[done:])
        other, other_margin = self._run_densely(classifier, x[done:], y[done:], rest, delta[done:])
        return torch.cat([walked, other]), torch.cat([margin, other_margin])

    def _run_to_the_end(
        self, classifier: Classifier, x: Tensor, y: Tensor, ball: Region, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One run with the gradients of all samples at every step."""
        reach = self._reach(x, ball)
        best, best_margin = delta, x.new_full((len(x),), math.inf)
        for _ in range(self.steps):
            margin, gradient = (t.detach() for t in classifier.margin_and_gradient(x + delta, y))
            if self.keep == "best":
                best, best_margin = better(best, best_margin, delta, margin)
            delta = self._step(delta, margin, gradient, reach, ball, x)
        if self.keep == "last" and self.restarts == 1:
            return delta, best_margin
        margin = classifier.margin(x + delta, y)
        return better(best, best_margin, delta, margin) if self.keep == "best" else (delta, margin)

    def _run_until_broken(
        self, classifier: Classifier, x: Tensor, y: Tensor, ball: Region, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One run that goes on only with the samples still classified correctly."""
        ended, ended_margin = delta.clone(), x.new_full((len(x),), math.inf)
        rows, tau = torch.arange(len(x), device=x.device), ball.radius(x)
        reach, best, best_margin = self._reach(x, ball), delta, ended_margin
        for _ in range(self.steps):
            margin, gradient = (t.detach() for t in classifier.margin_and_gradient(x + delta, y))
            if self.keep == "best":
                best, best_margin = better(best, best_margin, delta, margin)
            standing = margin > 0
            if not bool(standing.all()):
                ended[rows[~standing]], ended_margin[rows[~standing]] = delta[~standing], margin[~standing]
                tensors = (rows, tau, x, y, delta, margin, gradient, best, best_margin)
                rows, tau, x, y, delta, margin, gradient, best, best_margin = (
                    tensor[standing] for tensor in tensors
                )
                ball = ball if isinstance(ball.tau, float) else ball.with_tau(tau)
                reach = self._reach(x, ball)
            if len(rows) == 0:
                return ended, ended_margin
            delta = self._step(delta, margin, gradient, reach, ball, x)
        margin = classifier.margin(x + delta, y)
        if self.keep == "best":
            delta, margin = better(best, best_margin, delta, margin)
        ended[rows], ended_margin[rows] = delta, margin
        return ended, ended_margin

    def _step(
        self, delta: Tensor, margin: Tensor, gradient: Tensor, reach: Ball, ball: Region, x: Tensor
    ) -> Tensor:
        """One step against the gradient and back into the ball."""
        if self.gradient == "raw":
            length = reach.radius(x)
            weight = length if self.loss is None else -length * self.loss.derivative(margin)
            move = gradient * per_sample(weight, x)
        else:
            move = reach.extreme_point(gradient)
        return ball.project(torch.sub(delta, move, out=move), x)

    def _reach(self, x: Tensor, ball: Region) -> Ball:
        """Where a step from zero may lead: a ball of the step's length, one per sample if the radius is."""
        p = {"normalised": 2.0, "sign": math.inf}.get(self.gradient, ball.p)
        if self.step is not None:
            return Ball(p, self.step)
        return Ball(p, self.step_share * (ball.tau if isinstance(ball.tau, float) else ball.radius(x)))


def better(delta: Tensor, margin: Tensor, other: Tensor, other_margin: Tensor) -> tuple[Tensor, Tensor]:
    """Per sample, the perturbation of smaller margin; the first one where they tie.

    Args:
        delta: (n, ...) perturbations.
        margin: (n,) their margins.
        other: (n, ...) others.
        other_margin: (n,) the margins of those.
    """
    wins = other_margin < margin
    if bool(wins.all()):
        return other, other_margin
    return torch.where(per_sample(wins, delta), other, delta), torch.where(wins, other_margin, margin)
