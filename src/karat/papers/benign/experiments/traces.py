"""The proof's lemmas along training: what each says at every step, against what happens."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.core.ball import Ball
from karat.core.divergence import Diverged
from karat.core.losses import Logistic
from karat.nets import TwoLayer, as_classifier
from karat.papers.benign.bounds import margin_bound
from karat.papers.benign.experiments.exact import Problem, draw
from karat.papers.benign.experiments.mixture import Config
from karat.papers.benign.experiments.regime import INSIDE
from karat.probes.errors import error_share, mix_flips
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class LemmaConfig(Config):
    """Settings of a run that the lemmas speak of: from the theorem's start, with one step size."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start != "symmetric" or self.attack_first:
            raise ValueError(
                "`start` of `LemmaConfig` must be symmetric and `attack_first` false: the lemmas speak of "
                "that start without a perturbation at t = 0."
            )
        if self.decay_every < self.steps:
            raise ValueError(
                f"`decay_every` of `LemmaConfig` must be at least `steps` = {self.steps}, for the lemmas "
                f"speak of a constant step size; got {self.decay_every}."
            )


class Trace:
    """Follows one run from the theorem's start, in coordinates of the span, and keeps the extreme values."""

    def __init__(self, config: Config, problem: Problem) -> None:
        self.config, self.problem = config, problem
        self.ball, self.method, self.loss = Ball(2, config.tau), config.attack(), Logistic()
        self.data_basis = torch.linalg.qr(problem.x.T).Q
        self.test = problem.test if problem.test is not None else _gaussian_test(config, problem)
        self.before: tuple[TwoLayer, Tensor] | None = None
        self.values: dict[str, Any] = {
            "distance": 0.0,
            "loss_ratio": 0.0,
            "margin_drop": 0.0,
            "increment_slack": float("inf"),
            "correlation_low": float("inf"),
            "certified_gain": float("inf"),
            "gradient_constant": 0.0,
            "steps": [],
            "normalised_margin": [],
            "margin_bound": [],
            "robust_error": [],
        }

    def observe(self, step: int, net: TwoLayer) -> dict[str, Any]:
        """Called before every update with the net at that step."""
        y, x = self.problem.y, self.problem.x
        if self.before is not None:
            self._compare(step - 1, *self.before, net)
        delta = torch.zeros_like(x) if step == 0 else self.method(as_classifier(net), x, y, self.ball)
        attacked = x + delta
        margin = y * net(attacked)
        self.before = (net, attacked)
        if step == 0:
            self.start = net
            return {}
        if step == 1:
            self._after_one_step(net, margin)
        values = self.values
        outside = delta - (delta @ self.data_basis) @ self.data_basis.T
        values["distance"] = max(values["distance"], float(torch.linalg.vector_norm(outside, dim=1).max()))
        weight = -self.loss.derivative(margin)
        values["loss_ratio"] = max(values["loss_ratio"], float(weight.max() / weight.min()))
        if step in self.watched:
            self._test_side(step, net)
        return {}

    @property
    def watched(self) -> frozenset[int]:
        """Steps at which test points are looked at."""
        steps = self.config.steps
        return frozenset({1, 2, 5, 10, 20, steps // 4, steps // 2, steps})

    def _compare(self, step: int, old: TwoLayer, attacked: Tensor, new: TwoLayer) -> None:
        """Margins of the attacked points over one update, and the increment of every test margin."""
        config, y, x, values = self.config, self.problem.y, self.problem.x, self.values
        margin = y * old(attacked)
        values["margin_drop"] = max(values["margin_drop"], float((margin - y * new(attacked)).max()))
        gradient = torch.linalg.matrix_norm(new.W - old.W) / config.lr
        needed = gradient * (config.n / config.d) ** 0.5 / -self.loss.derivative(margin).mean()
        values["gradient_constant"] = max(values["gradient_constant"], float(needed))
        if config.activation != "smooth_leaky_relu":
            return
        # Steps are tiny in the theorem's regime: gains and slacks are kept as shares of the largest gain.
        gain = certified_gain(config, old, new, x, y).min() / (new(x) - old(x)).abs().max()
        values["certified_gain"] = min(values["certified_gain"], float(gain))
        if step in self.watched:
            slack, low = increment_slack(config, old, new, attacked, y, self.test, self.problem.y_test)
            values["increment_slack"] = min(values["increment_slack"], slack)
            values["correlation_low"] = min(values["correlation_low"], low)

    def _after_one_step(self, net: TwoLayer, margin: Tensor) -> None:
        y, x = self.problem.y, self.problem.x
        moved = torch.linalg.vector_norm(net.W - self.start.W) / torch.linalg.vector_norm(self.start.W)
        reach = self.config.tau * torch.linalg.vector_norm(net.W, dim=1)
        active = (x @ net.W.T >= reach) & (y.unsqueeze(1) == net.a)
        self.values |= {
            "first_step_error": error_share(margin),
            "first_step_movement": float(moved),
            "active_samples": float(active.double().mean(dim=0).min()),
            "active_neurons": float(active.double().mean(dim=1).min()),
        }

    def _test_side(self, step: int, net: TwoLayer) -> None:
        config, y = self.config, self.problem.y_test
        margin = y * net(self.test)
        length = float(torch.linalg.matrix_norm(net.W, ord=2))
        if length == 0:  # no margin can be normalised by it
            raise Diverged(step, "the weights are zero")
        plus, minus = (float(margin[y == side].mean()) for side in (1, -1))
        law = config.mu**2 * (config.n / config.d) ** 0.5
        classifier = as_classifier(net)

        def robust(side: Tensor) -> float:
            delta = self.method(classifier, self.test, side, self.ball)
            return error_share(side * net(self.test + delta))

        values = self.values
        values["steps"].append(step)
        values["normalised_margin"].append(min(plus, minus) / length / law)
        bound = margin_bound(plus, minus, length, config.tau, config.flip_rate, config.law.log_concavity)
        values["margin_bound"].append(bound)
        values["robust_error"].append(mix_flips(robust(y), robust(-y), config.flip_rate))


def _gaussian_test(config: Config, problem: Problem) -> Tensor:
    """Fresh test points in the span: y mu plus a standard Gaussian, exact in law."""
    generator = torch.Generator().manual_seed(problem.noise_seed)
    noise = torch.randn(config.n_test, problem.net.d, generator=generator, dtype=config.dtype)
    return problem.y_test.unsqueeze(1) * problem.mu + noise


def certified_gain(config: Config, old: TwoLayer, new: TwoLayer, x: Tensor, y: Tensor) -> Tensor:
    """Lower bounds (n,) on y [f_new - f_old] over the ball of radius tau around each point.

        y [f_new(x) - f_old(x)] - tau |dW|_2 (1 + H (|x| + tau) |W_old|_2 / sqrt m),   dW = W_new - W_old

    The second term bounds tau times the gradient of f_new - f_old in the ball, as phi' <= 1 is H-Lipschitz.

    Ref: benign, Lemma B.9
    """
    move, length = (torch.linalg.matrix_norm(W, ord=2) for W in (new.W - old.W, old.W))
    farthest = torch.linalg.vector_norm(x, dim=1) + config.tau
    steepest = move * (1 + config.smoothness * farthest * length / old.m**0.5)
    return y * (new(x) - old(x)) - config.tau * steepest


def increment_slack(
    config: Config, old: TwoLayer, new: TwoLayer, attacked: Tensor, y: Tensor, x: Tensor, y_test: Tensor
) -> tuple[float, float]:
    """Smallest slack of the one-step margin inequality over test points, as a share of the largest gain.

        y [f_new(x) - f_old(x)]
            >= (lr/n) sum_i g_i rho_i <y_i x~_i, y x> - H |x|^2 |W_new - W_old|_2^2 / (2 sqrt m)

    with rho_i = (1/m) sum_s phi'(<w_s, x>) phi'(<w_s, x~_i>). Both sides are exact: no hidden constant. Also
    returns the smallest rho.

    Ref: benign, Lemma 4.3
    """
    gain = y_test * (new(x) - old(x))
    weight = -Logistic().derivative(y * old(attacked))
    slopes = old.activation.derivative(old.preactivations(x))
    correlation = slopes @ old.activation.derivative(old.preactivations(attacked)).T / old.m
    products = (y_test.unsqueeze(1) * x) @ (y.unsqueeze(1) * attacked).T
    first_order = config.lr / len(y) * (correlation * products) @ weight
    move = torch.linalg.matrix_norm(new.W - old.W, ord=2)
    curvature = config.smoothness * x.square().sum(dim=1) * move.square() / (2 * old.m**0.5)
    slack = (gain - first_order + curvature).min() / gain.abs().max()
    return float(slack), float(correlation.min())


def run(config: LemmaConfig, generator: torch.Generator) -> dict[str, Any]:
    """Train from the theorem's start and return the extremes of every lemma's quantity."""
    problem = draw(config, generator)
    trace = Trace(config, problem)
    trajectory = config.trainer().run(
        problem.net,
        problem.x,
        problem.y,
        steps=config.steps,
        observe=trace.observe,
        observe_at=range(config.steps + 1),
    )
    if trajectory.divergence is not None:
        raise trajectory.divergence
    known = {name: value for name, value in trace.values.items() if value != float("inf")}
    allowed = min(config.symmetric_scale * (config.m * config.d) ** 0.5 / config.lr, config.tau)
    return {**known, "distance_bound": allowed, "final_train_loss": _robust_loss(trace, trajectory.net)}


def _robust_loss(trace: Trace, net: TwoLayer) -> float:
    x, y = trace.problem.x, trace.problem.y
    delta = trace.method(as_classifier(net), x, y, trace.ball)
    return float(trace.loss(y * net(x + delta)).mean())


_WIDE = LemmaConfig(
    d=2000,
    n=50,
    m=100,
    mu=5.0,
    ratio=0.1,
    flip_rate=0.1,
    start="symmetric",
    attack_first=False,
    steps=80,
    decay_every=10**9,
    n_test=500,
    precision="float64",
)
_VARIED: tuple[dict[str, Any], ...] = (
    {},
    {"d": 8000},
    {"n": 100},
    {"mu": 8.0},
    {"ratio": 0.5},
    {"activation": "smooth_leaky_relu", "slope": 0.3, "lr": 0.01},
)

_INSIDE = LemmaConfig(**vars(replace(INSIDE, steps=60, n_test=300)))
# Every hypothesis is met up to C = 2.5 (p_fail = 0.05) in these as well.
_MET: tuple[dict[str, Any], ...] = (
    {},
    {"d": 40_000, "mu": 20.3, "lr": 1 / (2.5 * 40_000**2)},
    {"d": 40_000, "n": 40, "m": 32, "mu": 17.1, "ratio": 0.05, "lr": 1 / (2.5 * 40_000**2)},
    {"activation": "smooth_leaky_relu", "slope": 0.3},
)


def _experiment(name: str, title: str, config: LemmaConfig, points: tuple[dict[str, Any], ...]) -> Experiment:
    return Experiment(
        name=name,
        title=title,
        paper="benign",
        presets={
            "tiny": Preset(
                config=replace(config, steps=12, n_test=60), points=points[:: len(points) - 1], seeds=2
            ),
            "quick": Preset(config=config, points=points, seeds=3, cell_seconds=2.0),
            "full": Preset(
                config=replace(config, steps=2000, n_test=2000), points=points, seeds=10, cell_seconds=60
            ),
        },
        run=run,
    )


LEMMAS = _experiment(
    "benign.lemmas", "Do the lemmas of the proof hold along training, where they should?", _INSIDE, _MET
)
LEMMAS_WIDE = _experiment(
    "benign.lemmas_wide", "How far beyond the hypotheses do the lemmas still hold?", _WIDE, _VARIED
)
