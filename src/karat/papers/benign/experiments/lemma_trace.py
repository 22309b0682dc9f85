"""One run from the theorem's start, followed step by step: the quantities that the lemmas bound."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from karat.attacks.inner_products.gram import gram_net
from karat.attacks.method import Method
from karat.certificates.gram_relaxation import certified_margins
from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.core.losses import Logistic
from karat.nets import TwoLayer, as_classifier
from karat.papers.benign.bounds_lemmas import margin_bound
from karat.papers.benign.experiments.exact import TrainingProblem
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.experiments.one_step import certified_gain, increment_slack
from karat.probes.errors import error_share, mix_flips
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
class FirstStep:
    r"""What one step has done.

    Args:
        error: robust training error after it, by PGD.
        certified_error: upper bound on it; None for activations that are not piecewise linear.
        movement: :math:`\|W_1 - W_0\|_F / \|W_0\|_F`.
    """

    error: float
    certified_error: float | None = None
    movement: Annotated[float, Undefined("infinite or unknown from weights of length zero")]


@dataclass(frozen=True, kw_only=True)
class ActiveShares:
    """How many neurons of the right sign stay active whatever the attack does.

    Args:
        samples: smallest share, over the neurons, of samples that activate it robustly.
        neurons: smallest share, over the samples, of neurons that it activates robustly.
    """

    samples: float
    neurons: float


@dataclass(frozen=True, kw_only=True)
class LemmaResult:
    r"""Extreme values over all steps of what the lemmas bound.

    Args:
        distance: largest distance of an attacked training point from the span of the training points.
        distance_bound: what it may be at most.
        loss_ratio: largest ratio of the loss derivatives of two attacked training points.
        margin_drop: largest loss of margin of an attacked training point over one step.
        gradient_constant: smallest :math:`C_2` with which the gradient bound of Lemma 4.3 holds.
        drop_share: the same loss of margin as a share of the largest change over that step.
        perturbation: shortest perturbation of a training point over the attack radius, from the second step
            on.
        increment_slack: smallest slack of the inequality of Lemma 4.3, as a share of the largest gain; smooth
            activations only, as the next.
        correlation_low: smallest correlation :math:`r_i` of Lemma 4.3.
        certified_gain: lower bound on the gain of any point of any training ball, as a share of the largest.
        steps: at which the test points were looked at.
        normalised_margin: there, mean margin of the worse class over :math:`\|W\| \|\mu\|^2 \sqrt{n/d}`.
        margin_bound: there, the bound of Lemma 4.2 on the robust error.
        robust_error: there, the robust test error by PGD.
        certified_error: there, an upper bound on it; None as for the first step.
        first_step: what one step has done.
        active: which neurons no attack can switch off after it.
        final_train_loss: mean loss over the attacked training points at the end.
    """

    distance: float
    distance_bound: float
    loss_ratio: Annotated[float, Undefined("infinite where a loss derivative is too small for a number")]
    margin_drop: float
    gradient_constant: Annotated[float, Undefined("infinite where all loss derivatives are too small")]
    drop_share: float | None = None
    perturbation: float | None = None
    increment_slack: float | None = None
    correlation_low: float | None = None
    certified_gain: float | None = None
    steps: list[int]
    normalised_margin: list[float]
    margin_bound: list[float]
    robust_error: list[float]
    certified_error: list[float] | None = None
    first_step: FirstStep
    active: ActiveShares
    final_train_loss: float


@dataclass(frozen=True, kw_only=True)
class MarginView:
    r"""What the test points show at one step.

    Args:
        step: which.
        normalised_margin: mean margin of the worse class over :math:`\|W\| \|\mu\|^2 \sqrt{n/d}`.
        margin_bound: the bound of Lemma 4.2 on the robust error.
        robust_error: by PGD.
        certified_error: upper bound on the robust error, None where no certificate is known.
    """

    step: int
    normalised_margin: float
    margin_bound: float
    robust_error: float
    certified_error: float | None


class LemmaTrace:
    """Follows one run in coordinates of the span, and keeps the extreme values.

    Args:
        config: the run.
        problem: its start and data.
        method: the attack of the run.
        test_noise: factor on the noise of the test points.
    """

    def __init__(
        self, config: MixtureConfig, problem: TrainingProblem, method: Method, *, test_noise: float = 1.0
    ) -> None:
        self.config, self.problem = config, problem
        self.ball, self.method, self.loss = Ball(2, config.tau), method, Logistic()
        self.data_basis = torch.linalg.qr(problem.x.T).Q
        self.test = problem.test if problem.test is not None else _gaussian_test(config, problem)
        if test_noise != 1:
            self.test = torch.lerp(problem.y_test.unsqueeze(1) * problem.mu, self.test, test_noise)
        self.watched = {1, 2, 5, 10, 20, config.steps // 4, config.steps // 2, config.steps}
        """Steps at which test points are looked at."""
        self.previous: tuple[TwoLayer, Tensor] | None = None
        """The net one step before, and the training points as they were attacked there."""
        self.distance = self.loss_ratio = self.margin_drop = self.gradient_constant = 0.0
        self.drop_share = -math.inf
        self.perturbation = self.increment_slack = self.correlation_low = self.certified_gain = math.inf
        self.after_one_step: tuple[FirstStep, ActiveShares] | None = None
        self.margin_views: list[MarginView] = []

    def observe(self, step: int, net: TwoLayer) -> dict[str, Any]:
        """Take note of one step; the trainer calls it before every update.

        Args:
            step: its number.
            net: at that step.
        """
        y, x = self.problem.y, self.problem.x
        if self.previous is not None:
            self._compare(step - 1, *self.previous, net)
        # The theorem's first step sees unperturbed points.
        delta = torch.zeros_like(x) if step == 0 else self.method(as_classifier(net), x, y, self.ball)
        attacked = x + delta
        self.previous = (net, attacked)
        if step == 0:
            return {}
        margin = y * net(attacked)
        if step == 1:
            self.after_one_step = self._first_step(net, margin), self._active(net)
        # Attacks move along the weights, which begin outside the span of the data: a little of delta is too.
        outside = delta - (delta @ self.data_basis) @ self.data_basis.T
        self.distance = max(self.distance, float(torch.linalg.vector_norm(outside, dim=1).max()))
        if self.config.tau > 0:
            shortest = float(torch.linalg.vector_norm(delta, dim=1).min()) / self.config.tau
            self.perturbation = min(self.perturbation, shortest)
        weight = -self.loss.derivative(margin)
        self.loss_ratio = max(self.loss_ratio, float(weight.max() / weight.min()))
        if step in self.watched:
            self.margin_views.append(self._look_at_test_points(step, net))
        return {}

    def result(self, net: TwoLayer) -> LemmaResult:
        """Return what was found, with the robust loss of the last net.

        Args:
            net: at the end of training.
        """
        assert self.after_one_step is not None, "every run has a first step"
        first_step, active = self.after_one_step
        config, x, y, views = self.config, self.problem.x, self.problem.y, self.margin_views
        delta = self.method(as_classifier(net), x, y, self.ball)
        return LemmaResult(
            distance=self.distance,
            distance_bound=min(config.symmetric_scale * (config.m * config.d) ** 0.5 / config.lr, config.tau),
            loss_ratio=self.loss_ratio,
            margin_drop=self.margin_drop,
            gradient_constant=self.gradient_constant,
            drop_share=_known(self.drop_share),
            perturbation=_known(self.perturbation),
            increment_slack=_known(self.increment_slack),
            correlation_low=_known(self.correlation_low),
            certified_gain=_known(self.certified_gain),
            steps=[view.step for view in views],
            normalised_margin=[view.normalised_margin for view in views],
            margin_bound=[view.margin_bound for view in views],
            robust_error=[view.robust_error for view in views],
            certified_error=_all_known([view.certified_error for view in views]),
            first_step=first_step,
            active=active,
            final_train_loss=float(self.loss(y * net(x + delta)).mean()),
        )

    def _compare(self, step: int, old: TwoLayer, attacked: Tensor, new: TwoLayer) -> None:
        """Margins of the attacked points over one update, and the increment of every test margin."""
        config, y, x = self.config, self.problem.y, self.problem.x
        margin = y * old(attacked)
        drops = margin - y * new(attacked)
        self.margin_drop = max(self.margin_drop, float(drops.max()))
        gradient = torch.linalg.matrix_norm(new.W - old.W) / config.lr
        # The smallest C2 for which this step fulfils |grad L| <= C2 sqrt(d/n) G.
        needed = gradient * (config.n / config.d) ** 0.5 / -self.loss.derivative(margin).mean()
        self.gradient_constant = max(self.gradient_constant, float(needed))
        # Steps are tiny in the theorem's regime: gains and slacks are kept as shares of the largest gain.
        largest = float((new(x) - old(x)).abs().max())
        if largest > 0:
            self.drop_share = max(self.drop_share, float(drops.max()) / largest)
            gains = certified_gain(config, old, new, x, y)
            self.certified_gain = min(self.certified_gain, float(gains.min()) / largest)
        if config.activation == "smooth_leaky_relu" and step in self.watched:
            slack, low = increment_slack(config, old, new, attacked, y, self.test, self.problem.y_test)
            self.increment_slack = min(self.increment_slack, slack)
            self.correlation_low = min(self.correlation_low, low)

    def _first_step(self, net: TwoLayer, margin: Tensor) -> FirstStep:
        start = self.problem.net
        moved = torch.linalg.vector_norm(net.W - start.W) / torch.linalg.vector_norm(start.W)
        return FirstStep(
            error=error_share(margin),
            certified_error=self._certified_error(net, self.problem.x, self.problem.y),
            movement=float(moved),
        )

    def _certified_error(self, net: TwoLayer, x: Tensor, y: Tensor) -> float | None:
        """Upper bound on the share of points with an error in their ball."""
        if not net.activation.piecewise_linear:
            return None
        return error_share(certified_margins(gram_net(net), x @ net.W.T, y, self.config.tau))

    def _active(self, net: TwoLayer) -> ActiveShares:
        y, x = self.problem.y, self.problem.x
        # An attack of radius tau lowers a preactivation by tau times the length of the neuron at most.
        reach = self.config.tau * torch.linalg.vector_norm(net.W, dim=1)
        active = (x @ net.W.T >= reach) & (y.unsqueeze(1) == net.a)
        samples, neurons = (float(active.double().mean(dim=dim).min()) for dim in (0, 1))
        return ActiveShares(samples=samples, neurons=neurons)

    def _look_at_test_points(self, step: int, net: TwoLayer) -> MarginView:
        config, y = self.config, self.problem.y_test
        margin = y * net(self.test)
        length = float(torch.linalg.matrix_norm(net.W, ord=2))
        if length == 0:  # no margin can be normalised by it
            raise Diverged(step, "the weights are zero")
        plus, minus = (float(margin[y == side].mean()) for side in (1, -1))
        law = config.mu**2 * (config.n / config.d) ** 0.5
        bound = margin_bound(plus, minus, length, config.tau, config.flip_rate, config.law.log_concavity)
        classifier = as_classifier(net)

        def robust(side: Tensor) -> float:
            delta = self.method(classifier, self.test, side, self.ball)
            return error_share(side * net(self.test + delta))

        safe, flipped = (self._certified_error(net, self.test, side) for side in (y, -y))
        return MarginView(
            step=step,
            normalised_margin=min(plus, minus) / length / law,
            margin_bound=bound,
            robust_error=mix_flips(robust(y), robust(-y), config.flip_rate),
            certified_error=None
            if safe is None or flipped is None
            else mix_flips(safe, flipped, config.flip_rate),
        )


def _known(extreme: float) -> float | None:
    """None for an extreme of nothing: the inequality is not about this activation, or no margin moved."""
    return None if math.isinf(extreme) else extreme


def _all_known(values: Sequence[float | None]) -> list[float] | None:
    """The numbers, or None if one of them is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _gaussian_test(config: MixtureConfig, problem: TrainingProblem) -> Tensor:
    """Fresh test points in the span: y mu plus Gaussian noise, exact in law."""
    generator = torch.Generator().manual_seed(problem.noise_seed)
    noise = torch.randn(config.n_test, problem.net.d, generator=generator, dtype=config.dtype)
    return problem.y_test.unsqueeze(1) * problem.mu + math.sqrt(config.law.variance) * noise
