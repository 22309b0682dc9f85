r"""Does a robust net exist near the start? Lazy says no, convergence says yes: one axis, both starts.

In the :math:`(2, \infty)` ball of radius :math:`C_0/\sqrt{m}` around :math:`W_0` (lazy's), or the Frobenius
ball of radius :math:`R = C_0`, which contains it (convergence's), the best robust training loss is enclosed:
from above by a net that was found, from below by a convex problem that no net of the ball can beat.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from torch import Tensor

from karat.attacks.minimal import minimal_radius
from karat.attacks.pgd import PGD
from karat.attacks.smoothed_pgd import SmoothedPGD
from karat.core.ball import Ball
from karat.core.cap import require_compatible
from karat.core.divergence import Diverged
from karat.core.losses import Logistic
from karat.core.norms import norm, two_inf_norm
from karat.data.digits import default_source
from karat.data.samples import Samples
from karat.nets import TwoLayer, as_classifier, init
from karat.papers.convergence.experiments.ball_search import (
    Points,
    VsLazyConfig,
    attack,
    scores,
    search,
    solve,
)
from karat.papers.convergence.experiments.linear_sign import certified_signs, lit_radius, widest_direction
from karat.papers.lazy.bounds import robust_margin_ceiling
from karat.probes.kernel_interpolation import KernelFunction, separating_function
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined


@dataclass(frozen=True, kw_only=True)
class Enclosure:
    """A minimum between what was found and what is certified.

    Args:
        loss: found.
        bound: certified below the minimum.
    """

    loss: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class VsLazyResult:
    r"""The best robust loss of the ball, the best net found in it, and what both papers predict.

    Args:
        loss: robust training loss of the best net found.
        bound: certified lower bound on the robust training loss of every net of the ball.
        linear: the same two for the linearised net, at the points of the last round.
        train_accuracy: robust training accuracy of the best net found.
        certified_accuracy: robust training accuracy of a net of the ball that has the sign of a linear
            function, certified.
        linear_margin: largest :math:`\min_i y_i \langle v, x_i \rangle` of a unit vector v.
        lit_radius: smallest radius around a training point within which some pair stays active.
        test_accuracy: robust test accuracy of the best net found.
        clean_accuracy: its test accuracy without an attack.
        value: median of :math:`|f|` over the test images.
        gradient: median of :math:`\|\nabla_x f\|`.
        flip_ratio: median of :math:`|f| / \|\nabla_x f\|`.
        flip_radius: median of the smallest radius at which an attack changes the prediction.
        start_gradient: median of :math:`\|\nabla_x f\|` at the start.
        row_movement: :math:`\sqrt{m} \max_r \|w_r - w_{r0}\|` of the best net found.
        frobenius_movement: :math:`\|W - W_0\|_F` of the best net found.
        kernel_norm: of the kernel function g with margin 1 on all points met.
        random_feature_norm: :math:`\|g\|_{RF}`, over the rows drawn.
        convergence_loss: of g scaled into the ball.
        lazy_loss: at the largest robust margin that lazy allows an unpaired ball at one input.
    """

    loss: float
    bound: float
    linear: Enclosure
    train_accuracy: float
    certified_accuracy: float
    linear_margin: float
    lit_radius: float
    test_accuracy: float
    clean_accuracy: float
    value: float
    gradient: float
    flip_ratio: Annotated[float, Undefined("the net and its gradient are zero at most test images")]
    flip_radius: Annotated[float | None, Undefined("looked at only where the dimension varies")]
    start_gradient: float
    row_movement: float
    frobenius_movement: float
    kernel_norm: float
    random_feature_norm: float
    convergence_loss: float
    lazy_loss: float


def run(config: VsLazyConfig, generator: torch.Generator) -> VsLazyResult:
    """Enclose the best robust loss of the ball and describe the best net found.

    Ref: convergence, vs-lazy
    """
    data = config.digits
    train = data.draw(config.n, train=True, generator=generator, dtype=torch.float32)
    test = data.draw(config.n_test, train=False, generator=generator, dtype=torch.float32)
    if config.labels == "permuted":
        train = Samples.clean(train.x, train.y[torch.randperm(config.n, generator=generator)])
    require_compatible(train.x, train.y, config.perturbations.tau)
    start = _draw_start(config, generator)
    direction = widest_direction(train.x, train.y)
    best = search(config, start, train)
    lower = solve(config, start, best.points, slack=True).bound
    value, gradient = best.net.value_and_input_gradient(test.x)
    length = norm(gradient, 2)
    moved = best.net.W - start.W
    g = _separating_function(config, start, best.points)
    return VsLazyResult(
        loss=best.loss,
        # Losses are positive, whatever the solver's certificate says.
        bound=max(0.0, lower),
        linear=Enclosure(loss=best.linear_loss, bound=max(0.0, best.linear_bound)),
        train_accuracy=best.accuracy,
        certified_accuracy=_certified_accuracy(config, start, train, direction),
        linear_margin=float((train.y.double() * (train.x.double() @ direction)).min()),
        lit_radius=float(lit_radius(start, train.x).min()),
        test_accuracy=scores(best.net, attack(config, best.net, test), test)[1],
        clean_accuracy=float((test.y * value > 0).double().mean()),
        value=float(value.abs().median()),
        gradient=float(length.median()),
        flip_ratio=float((value.abs() / length).median()),
        flip_radius=_flip_radius(best.net, test.x[:40], generator) if config.padded_from else None,
        start_gradient=float(norm(start.input_gradient(test.x), 2).median()),
        row_movement=float(two_inf_norm(moved)) * math.sqrt(config.m),
        frobenius_movement=float(torch.linalg.vector_norm(moved)),
        kernel_norm=g.norm,
        random_feature_norm=g.random_feature_norm(start.W),
        convergence_loss=_convergence_loss(config, start, g),
        lazy_loss=_lazy_loss(config),
    )


def _draw_start(config: VsLazyConfig, generator: torch.Generator) -> TwoLayer:
    d = config.digits.d
    if config.start == "gaussian":
        return init.gaussian(d, config.m, generator=generator, dtype=torch.float32)
    scale = 1 / math.sqrt(config.m)
    return init.paired(d, config.m, generator=generator, sd_W=1.0, scale=scale, dtype=torch.float32)


def _flip_radius(net: TwoLayer, x: Tensor, generator: torch.Generator) -> float:
    r"""Median over inputs of the smallest :math:`\ell_2` radius at which an attack changes the prediction.

    Twins hide where the net falls from its gradients, so that a second attack follows those of noisy copies.
    """
    classifier, sign = as_classifier(net), torch.where(net(x) > 0, 1.0, -1.0)
    attacks = (
        PGD(steps=20),
        SmoothedPGD(sigma=0.02, draws=4, pgd=PGD(steps=10, step_ratio=0.3, keep="last")),
    )
    broken = [
        minimal_radius(
            classifier, x, sign, Ball(2, 2.0), method=method, rtol=0.05, generator=generator
        ).broken
        for method in attacks
    ]
    return float(torch.stack(broken).amin(dim=0).median())


def _certified_accuracy(config: VsLazyConfig, start: TwoLayer, train: Samples, direction: Tensor) -> float:
    """Share of training points on which a net of the ball provably keeps the label."""
    return float(certified_signs(start, direction, train.x, train.y, config.tau).double().mean())


def _separating_function(config: VsLazyConfig, start: TwoLayer, points: Points) -> KernelFunction:
    """The function g of smallest norm in the kernel's space with margin 1 on all points met."""
    # Without a radius the attacked points are the training points again, and a kernel matrix with equal
    # rows has no inverse.
    distinct = slice(None) if config.tau > 0 else slice(config.n)
    try:
        return separating_function(start.activation, points.x[distinct], points.y[distinct])
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]  # torch does not list the name
        raise Diverged(
            None, f"at tau = {config.tau:g} points nearly coincide and so do kernel rows"
        ) from None


def _convergence_loss(config: VsLazyConfig, start: TwoLayer, g: KernelFunction) -> float:
    r"""What convergence predicts: g scaled into the ball has margins :math:`C_0/\|g\|`.

    The :math:`(2, \infty)` ball needs :math:`\|g\|_{RF}`, the Frobenius ball :math:`\|g\|_H`.

    Ref: convergence, vs-lazy.exists
    """
    size = g.random_feature_norm(start.W) if config.ball == "rows" else g.norm
    return _logistic(config.C0 / size)


def _lazy_loss(config: VsLazyConfig) -> float:
    r"""What lazy predicts, from the best robust margin that an unpaired ball allows at one input.

    .. math:: \frac{C_0}{2} - \tau \sqrt{\frac{d}{2}}

    Ref: convergence, vs-lazy.none
    """
    frobenius = config.ball == "frobenius"
    return _logistic(robust_margin_ceiling(config.side**2, config.tau, config.C0, frobenius=frobenius))


def _logistic(margin: float) -> float:
    return float(Logistic()(torch.tensor(margin, dtype=torch.float64)))


BASE = VsLazyConfig(side=28, m=600, C0=8.0, n=32, polish=12, source=default_source())


def _design(
    rows: tuple[float, ...], frobenius: tuple[float, ...], sides: tuple[int, ...], inner: int
) -> tuple[Mapping[str, Any], ...]:
    """Radii in both balls on the full images, and dimensions by zero padding at one radius; both starts."""
    points: tuple[Mapping[str, Any], ...] = (
        *({"C0": C0} for C0 in rows),
        *({"C0": C0, "ball": "frobenius"} for C0 in frobenius),
        *({"side": side, "padded_from": inner} for side in sides),
    )
    return tuple({"start": start, **point} for start in ("paired", "gaussian") for point in points)


VS_LAZY = Experiment(
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
            points=_design((1.0, 2.0, 4.0, 7.9, 16.0, 32.0), (1.0, 4.0, 16.0), (10, 14, 20, 28), 10),
            seeds=3,
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=replace(BASE, m=4000, n=200, n_test=400, steps=400, rounds=4, polish=100, attack_steps=60),
            points=_design(
                (0.5, 1.0, 2.0, 4.0, 6.0, 7.9, 12.0, 16.0, 24.0, 32.0),
                (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
                (10, 14, 20, 28, 40, 56),
                10,
            ),
            seeds=5,
            cell_seconds=300,
        ),
    },
    run=run,
)
