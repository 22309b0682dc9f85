"""How near finite sums of quadratic-ReLU features come to a function of the kernel's space, everywhere."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.core.activations import QuadraticRelu
from karat.core.ranges import Count, Inside, Positive, settings
from karat.papers.convergence.bounds import quadratic_features
from karat.papers.convergence.experiments.lattice import cap_lattice, lattice_spacing
from karat.probes.kernel_interpolation import KernelFunction
from karat.study.experiment import Experiment, Preset

DIMENSION = 3
"""The sphere is covered by a lattice in three dimensions."""

RIDGE = 1e-6
"""Relative to the mean diagonal of the Gram matrix, so that coefficients stay small."""

PART = 4000
"""Points whose hidden layer is computed at a time."""


@dataclass(frozen=True, kw_only=True)
@settings
class QuadraticFeaturesConfig:
    """Settings of one draw of features.

    Args:
        tol: uniform distance that is asked for, which fixes the number of features.
        p_fail: probability of failure.
        sections: of the kernel that make up the function, with random coefficients.
        fitted: random points of the sphere on which coefficients are fitted.
        rings: of the lattice that covers the sphere.
        target: a function of the space, or a harmonic of degree 4, which the space does not hold.
    """

    tol: Positive
    p_fail: Inside = 0.05
    sections: Count = 4
    fitted: Count = 400
    rings: Count = 96
    target: Literal["space", "degree 4"] = "space"


@dataclass(frozen=True, kw_only=True)
class QuadraticFeaturesResult:
    r"""What the finite sum is like.

    Args:
        features: M.
        size: :math:`\sup |h|` on the lattice.
        error: largest :math:`|h - h_M|` on the lattice.
        certified: bound on it over the whole sphere.
        weight: :math:`M \sum_r \|c_r\|^2`.
    """

    features: int
    size: float
    error: float
    certified: float
    weight: float


def run(config: QuadraticFeaturesConfig, generator: torch.Generator) -> QuadraticFeaturesResult:
    r"""Fit coefficients of :math:`h_M(x) = \sum_r \langle c_r, x \rangle \max(\langle w_r, x \rangle, 0)`.

    The coefficients of smallest norm are sums over the fitted points, as in the kernel of finitely many rows.

    Reading: along the sphere a term moves by at most :math:`\|c_r\| \|w_r\|`, and h by
        :math:`\|h\| \sqrt{p'(1)}`, p the kernel's profile, so that a lattice certifies the supremum.

    Ref: convergence, Thm C.1
    """
    M = math.ceil(quadratic_features(config.tol, DIMENSION, config.p_fail))
    W, x, points = (_sphere(count, generator) for count in (M, config.fitted, config.sections))
    W = W * math.sqrt(DIMENSION)
    target, slope = _target(config, points, generator)
    hidden = (x @ W.T).clamp_min(0)
    gram = (hidden @ hidden.T) * (x @ x.T)
    lifted = gram + RIDGE * gram.diagonal().mean() * torch.eye(len(x), dtype=x.dtype)
    # c_r = sum_p beta_p max(<w_r, x_p>, 0) x_p
    c = hidden.T @ (torch.linalg.solve(lifted, target(x)).unsqueeze(1) * x)
    lattice = cap_lattice(points[0], 2.0, config.rings)
    values = target(lattice)
    # In parts: the hidden layer of the whole lattice would not fit into memory.
    sums = [((part @ W.T).clamp_min(0) * (part @ c.T)).sum(dim=1) for part in lattice.split(PART)]
    error = (torch.cat(sums) - values).abs().max()
    steepest = math.sqrt(DIMENSION) * float(torch.linalg.vector_norm(c, dim=1).sum()) + slope
    return QuadraticFeaturesResult(
        features=M,
        size=float(values.abs().max()),
        error=float(error),
        certified=float(error) + steepest * lattice_spacing(2.0, config.rings),
        weight=M * float(c.square().sum()),
    )


class _Degree4:
    """The zonal harmonic of degree 4 around an axis: even, and no quadratic form."""

    def __init__(self, axis: Tensor) -> None:
        self.axis = axis

    def __call__(self, x: Tensor) -> Tensor:
        u = (x @ self.axis).square()
        return (35 * u.square() - 30 * u + 3) / 8


def _target(
    config: QuadraticFeaturesConfig, points: Tensor, generator: torch.Generator
) -> tuple[KernelFunction | _Degree4, float]:
    """The function to approximate, of norm 1 in the space or of size 1, and a bound on its slope."""
    if config.target == "degree 4":
        return _Degree4(points[0]), 4.0  # Bernstein: degree times size
    h = KernelFunction(
        QuadraticRelu(), points, torch.randn(len(points), generator=generator, dtype=torch.float64)
    )
    # The profile's slope at 1 is 4.
    return KernelFunction(QuadraticRelu(), points, h.coefficients / h.norm), 2.0


def _sphere(count: int, generator: torch.Generator) -> Tensor:
    """Uniform points of the unit sphere."""
    x = torch.randn(count, DIMENSION, generator=generator, dtype=torch.float64)
    return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)


QUADRATIC_FEATURES = Experiment(
    name="convergence.quadratic-features",
    title="How near do random features of the quadratic ReLU come to functions of its kernel's space?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=QuadraticFeaturesConfig(tol=0.5, fitted=100, rings=32),
            grid={"tol": (0.6, 0.5, 0.4)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=QuadraticFeaturesConfig(tol=0.5), grid={"tol": (0.5, 0.4, 0.3)}, seeds=5, cell_seconds=0.4
        ),
        "full": Preset(
            config=QuadraticFeaturesConfig(tol=0.5, fitted=1500, rings=200),
            grid={"tol": (0.5, 0.4, 0.3, 0.2)},
            seeds=20,
            cell_seconds=60,
        ),
    },
    run=run,
)
