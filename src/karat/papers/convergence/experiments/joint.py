"""Does a robust net exist near the start? Lazy says no, convergence says yes: one axis, both starts.

In the (2, inf) ball of radius C0/sqrt m around W0 (lazy's), or the Frobenius ball of radius R = C0, which
contains it (convergence's), the best robust training loss is enclosed: from above by a net that was found,
from below by a convex problem that no net of the ball can beat.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.attacks.minimal import minimal_radius
from karat.attacks.pgd import PGD
from karat.core.ball import Ball
from karat.core.cap import Cap, require_compatible
from karat.core.checks import require_choice, require_even, require_integer, require_number, require_settings
from karat.core.divergence import Diverged
from karat.core.losses import Logistic
from karat.core.norms import norm, two_inf_norm
from karat.data.digits import default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer, as_classifier, init
from karat.papers.lazy.bounds import robust_margin_ceiling
from karat.papers.lazy.experiments.digits import Digits
from karat.probes.kernel_interpolation import separating_function
from karat.study.experiment import Experiment, Preset
from karat.training import Adversary, Constant, FrobeniusBall, Trainer, TwoInfBall
from karat.training.displacements import hilbert_ball, kink_slack, kink_slack_frobenius, row_ball
from karat.training.linearised import LinearisedProblem
from karat.training.projections import Projection


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one ball.

    Args:
        side: the net sees side^2 inputs of length 1.
        padded_from: data of a smaller side, padded with zeros.
        m: width.
        n, n_test: images.
        start: "paired" (every neuron has a twin of opposite sign, f = 0) or "gaussian" (unpaired).
        ball: "rows" (radius C0/sqrt m per row) or "frobenius" (radius C0).
        tau: l_2 attack radius; attacked points stay on the sphere, within the angle arcsin(tau).
        steps: of the convex solver.
        rounds: of adding attacked points.
        polish: training steps at the end.

    Reading: a bias-free ReLU net has the same sign along every ray, so it errs in the l_2 ball of radius tau
        exactly if it errs in the cap of angle arcsin(tau): lazy's attack and convergence's perturbation set
        are the same question here.
    """

    side: int
    m: int
    C0: float
    start: Literal["paired", "gaussian"] = "paired"
    ball: Literal["rows", "frobenius"] = "rows"
    tau: float = 0.2
    n: int = 40
    n_test: int = 200
    padded_from: int | None = None
    steps: int = 100
    rounds: int = 2
    polish: int = 25
    attack_steps: int = 20
    source: Literal["embedded", "mnist"] = "embedded"

    def __post_init__(self) -> None:
        _ = self.digits
        for name in ("steps", "rounds", "attack_steps"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("n", "n_test"):
            require_integer(getattr(self, name), name, "Config", minimum=2)
        require_choice(self.start, "start", "Config", ("paired", "gaussian"))
        require_even(self.m, "m", "Config")
        require_number(self.C0, "C0", "Config", positive=True)
        require_number(self.tau, "tau", "Config", minimum=0, maximum=1)
        require_integer(self.polish, "polish", "Config", minimum=0)
        require_settings(self)

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
        """Cap of angle arcsin(tau)."""
        return Cap(2 * math.sin(math.asin(self.tau) / 2))


@dataclass(frozen=True, eq=False)
class Points:
    """Allowed points collected so far, with labels and the training sample each belongs to."""

    x: Tensor
    y: Tensor
    sample: Tensor

    def add(self, x: Tensor, train: Samples) -> "Points":
        """One more point per training sample."""
        return Points(
            torch.cat([self.x, x]),
            torch.cat([self.y, train.y]),
            torch.cat([self.sample, torch.arange(len(x))]),
        )


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Enclose the best robust loss of the ball and describe the best net found.

    Ref: convergence, vs-lazy
    """
    data = config.digits
    train = data.draw(config.n, train=True, generator=generator, dtype=torch.float32)
    test = data.draw(config.n_test, train=False, generator=generator, dtype=torch.float32)
    require_compatible(train.x, train.y, config.perturbations.tau)
    if config.start == "paired":
        net = init.paired(
            data.d,
            config.m,
            generator=generator,
            sd_W=1.0,
            scale=1 / math.sqrt(config.m),
            dtype=torch.float32,
        )
    else:
        net = init.gaussian(data.d, config.m, generator=generator, dtype=torch.float32)
    best = _search(config, net, train)
    lower = _problem(config, net, best.points, slack=True).solve(config.weight_radius, steps=config.steps)
    return {
        "loss": best.loss,
        # Losses are positive, whatever the solver's certificate says.
        "bound": max(0.0, lower.bound),
        "linear_loss": best.linear[0],
        "linear_bound": max(0.0, best.linear[1]),
        "train_accuracy": best.accuracy,
        "largest_train_accuracy": _widest(config, net, best, train),
        **_describe(config, net, best.net, test),
        **_predictions(config, net, best.points),
    }


@dataclass(frozen=True, eq=False)
class Best:
    """The net of smallest robust loss found, its scores, all points met, the linearised optimum."""

    net: TwoLayer
    loss: float
    accuracy: float
    points: Points
    linear: tuple[float, float]


def _search(config: Config, net: TwoLayer, train: Samples) -> Best:
    """Solve the linearised problem, attack its answer as a net, add what the attack found, repeat, polish."""
    points = Points(train.x, train.y, torch.arange(config.n))
    if config.start == "gaussian":
        points = points.add(_attack(config, net, train), train)
    best = Best(net, math.inf, 0.0, points, (math.inf, 0.0))
    for _ in range(config.rounds):
        answer = _problem(config, net, best.points, slack=False).solve(
            config.weight_radius, steps=config.steps
        )
        candidate = net.replace(W=net.W + _displacement(config, net, best.points, answer.D))
        best = _better(config, replace(best, linear=(answer.loss, answer.bound)), candidate, train)
    return _better(config, best, _polish(config, net, best.net, train), train)


def _better(config: Config, best: Best, candidate: TwoLayer, train: Samples) -> Best:
    """Attack a candidate, keep the points found, and the candidate itself if its robust loss is smaller."""
    attacked = _attack(config, candidate, train)
    best = replace(best, points=best.points.add(attacked, train))
    loss, accuracy = _scores(candidate, attacked, train)
    return replace(best, net=candidate, loss=loss, accuracy=accuracy) if loss < best.loss else best


_WIDE = 16.0
"""Radius at which the logistic loss looks at the smallest margin rather than at the mean one."""


def _widest(config: Config, net: TwoLayer, best: Best, train: Samples) -> float:
    """Largest robust training accuracy of any net found.

    In a small ball all losses are near log 2 and their minimiser raises the mean margin. Around a paired
    start the linearised net is linear in the displacement, so that the minimiser of a wider ball, scaled
    down, keeps its signs and separates what can be separated.
    """
    if config.start == "gaussian" or config.C0 >= _WIDE or best.accuracy == 1:
        return best.accuracy
    share = config.C0 / _WIDE
    wide = replace(config, C0=_WIDE)
    # Margins of the few hardest points are found late.
    answer = _problem(wide, net, best.points, slack=False).solve(wide.weight_radius, steps=3 * config.steps)
    candidate = net.replace(W=net.W + share * _displacement(wide, net, best.points, answer.D))
    return max(best.accuracy, _scores(candidate, _attack(config, candidate, train), train)[1])


def _problem(config: Config, net: TwoLayer, points: Points, *, slack: bool) -> LinearisedProblem:
    rows = config.ball == "rows"
    margin = points.y * net(points.x)
    if slack:
        gain = kink_slack if rows else kink_slack_frobenius
        margin = margin + gain(net, points.x, points.y, config.weight_radius)
    if rows:
        return LinearisedProblem(space=row_ball(net, points.x, points.y), margin=margin, sample=points.sample)
    return LinearisedProblem(
        space=hilbert_ball(net, points.x, points.y), margin=margin.double(), sample=points.sample
    )


def _displacement(config: Config, net: TwoLayer, points: Points, D: Tensor) -> Tensor:
    """The solver's answer as a matrix (m, d)."""
    signed = points.y.unsqueeze(1) * points.x
    if config.ball == "rows":
        basis = torch.linalg.qr(signed.T.double()).Q.to(signed.dtype)
        return D @ basis.T
    # D = sum_j c_j F_j with Gram c = root D.
    root = hilbert_ball(net, points.x, points.y).root
    c = torch.linalg.lstsq(root.T, D.unsqueeze(1), driver="gelsd").solution.squeeze(1).to(signed.dtype)
    gates = net.activation.derivative(net.preactivations(points.x)) * (net.scale * net.a)
    moved = (c.unsqueeze(1) * gates).T @ signed
    size = float(torch.linalg.vector_norm(moved))
    return moved * min(1.0, config.weight_radius / max(size, 1e-30))


def _polish(config: Config, start: TwoLayer, net: TwoLayer, train: Samples) -> TwoLayer:
    """A few steps of projected adversarial training of the net itself."""
    if config.polish == 0:
        return net
    keep: Projection
    if config.ball == "rows":
        keep = TwoInfBall(start.W, config.weight_radius)
    else:
        keep = FrobeniusBall({"W": start.W}, config.weight_radius)
    trainer = Trainer(
        lr=Constant(5.0),
        momentum=0.9,
        adversary=Adversary(PGD(steps=6), config.perturbations),
        projection=keep,
    )
    return trainer.run(net, train.x, train.y, steps=config.polish, observe_at=()).net


def _attack(config: Config, net: TwoLayer, data: Samples) -> Tensor:
    classifier = as_classifier(net)
    return data.x + PGD(steps=config.attack_steps)(classifier, data.x, data.y, config.perturbations)


def _scores(net: TwoLayer, attacked: Tensor, data: Samples) -> tuple[float, float]:
    """Loss and accuracy at attacked points."""
    margin = data.y * net(attacked)
    return float(Logistic()(margin).mean()), float((margin > 0).double().mean())


def _describe(config: Config, start: TwoLayer, net: TwoLayer, test: Samples) -> dict[str, float]:
    """Test accuracies, size of value and gradient, and movement in both norms of the net found."""
    value, gradient = net.value_and_input_gradient(test.x)
    size = norm(gradient, 2)
    moved = net.W - start.W
    return {
        "test_accuracy": _scores(net, _attack(config, net, test), test)[1],
        "clean_accuracy": float((test.y * value > 0).double().mean()),
        "value": float(value.abs().median()),
        "gradient": float(size.median()),
        "flip_ratio": float((value.abs() / size).median()),
        "flip_radius": _flip_radius(net, test.x[:40]),
        "start_gradient": float(norm(start.input_gradient(test.x), 2).median()),
        "row_movement": float(two_inf_norm(moved)) * math.sqrt(config.m),
        "frobenius_movement": float(torch.linalg.vector_norm(moved)),
    }


def _flip_radius(net: TwoLayer, x: Tensor) -> float:
    """Median over inputs of the smallest l_2 radius at which an attack changes the prediction."""
    sign = torch.where(net(x) > 0, 1.0, -1.0)
    search = minimal_radius(as_classifier(net), x, sign, Ball(2, 2.0), method=PGD(steps=10), rtol=0.1)
    return float(search.broken.median())


def _predictions(config: Config, net: TwoLayer, points: Points) -> dict[str, float]:
    """What the two papers predict for this ball.

    Convergence: a function g with margin 1 on all points found, in the kernel's space; scaled into the ball
    its margins are C0/|g|. The (2, inf) ball needs |g|_RF, the Frobenius ball |g|_H. Lazy: the best robust
    margin at one x in an unpaired ball, C0/2 - tau sqrt(d/2).
    """
    # Without a radius the attacked points are the training points again, and a kernel matrix with equal
    # rows has no inverse.
    new = slice(None) if config.tau > 0 else slice(config.n)
    try:
        g = separating_function(net.activation, points.x[new], points.y[new])
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # torch does not list the name
        raise Diverged(
            None, f"at tau = {config.tau:g} points nearly coincide and so do kernel rows"
        ) from None
    size = g.random_feature_norm(net.W) if config.ball == "rows" else g.norm
    logistic = Logistic()
    ceiling = robust_margin_ceiling(
        config.side**2, config.tau, config.C0, frobenius=config.ball == "frobenius"
    )
    return {
        "kernel_norm": g.norm,
        "random_feature_norm": g.random_feature_norm(net.W),
        "convergence_loss": float(logistic(torch.tensor(config.C0 / size, dtype=torch.float64))),
        "lazy_loss": float(logistic(torch.tensor(ceiling, dtype=torch.float64))),
    }


BASE = Config(side=28, m=600, C0=8.0, n=32, polish=12, source=default_source())


def _both(points: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple({"start": start, **point} for start in ("paired", "gaussian") for point in points)


def _design(
    rows: tuple[float, ...], frobenius: tuple[float, ...], sides: tuple[int, ...], inner: int
) -> tuple[Mapping[str, Any], ...]:
    """Radii in both balls on the full images, and dimensions by zero padding at one radius."""
    return _both(
        (
            *({"C0": C0} for C0 in rows),
            *({"C0": C0, "ball": "frobenius"} for C0 in frobenius),
            *({"side": side, "padded_from": inner} for side in sides),
        )
    )


JOINT = Experiment(
    name="convergence.vs-lazy",
    title="Does a robust net exist in the ball around the start, for paired and for unpaired starts?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(BASE, side=14, m=200, n=12, n_test=40, steps=40, polish=5, source="embedded"),
            points=_design((1.0, 8.0), (4.0,), (7, 10, 14), 7),
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=BASE,
            points=_design((1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (1.0, 4.0, 16.0), (10, 14, 20, 28), 10),
            seeds=3,
            cell_seconds=1.1,
        ),
        "full": Preset(
            config=replace(BASE, m=4000, n=200, n_test=400, steps=400, rounds=4, polish=100, attack_steps=60),
            points=_design(
                (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0),
                (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
                (10, 14, 20, 28, 40, 56),
                10,
            ),
            seeds=5,
            cell_seconds=300,
        ),
    },
    run=run,
    undefined={"flip_ratio": "the net and its gradient are zero at most test images"},
)
