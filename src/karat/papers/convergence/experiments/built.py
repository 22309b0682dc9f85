"""The robust net of the proof, built from a kernel function: its error, its radius, its certified loss."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.cap import Cap
from karat.core.ranges import Count, Inside, NonNegative, Pairs, Positive, settings
from karat.core.smoothings import SmoothedRelu
from karat.nets import TwoLayer, init
from karat.papers.convergence.bounds import built_error_bound, finite_sum_bound
from karat.papers.convergence.experiments.activations import smoothed_relu_lipschitz
from karat.papers.convergence.experiments.lattice import cap_lattice
from karat.papers.convergence.experiments.sets import CapRadius, PseudoHuber, cap_points, draw_centres
from karat.probes.kernel_interpolation import KernelFunction, interpolant
from karat.probes.movement import frobenius_movement, row_movement
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined

Construction = Literal["corrected", "printed", "zero", "minus", "shifted"]

_COVERED = Undefined("infinite unless d = 3: caps are covered in three dimensions only")


@dataclass(frozen=True, kw_only=True)
@settings
class BuiltConfig:
    """Settings of one built network.

    Args:
        m: width, both halves counted.
        sigma: noise of the smoothed ReLU.
        ridge: of the interpolant, which trades accuracy for norm.
        d: dimension.
        n: caps.
        tau: radius of the caps, as a chord.
        cover: points per cap that are interpolated besides the centre.
        grid: points per cap of the certificate.
        tol: robust loss sought.
        p_fail: of the bound.
        construction: of the net: corrected, as printed (both halves cancel), "zero", which stays at the
            start, "minus", the negative of the corrected one, or "shifted", which moves all rows by 1/2 in
            every coordinate besides.
    """

    m: Pairs
    sigma: Annotated[float, Ge(1e-100)] = 0.3
    ridge: NonNegative = 0.01
    d: Annotated[int, Ge(2)] = 3
    n: Annotated[int, Ge(2)] = 4
    tau: CapRadius = 0.15
    cover: Count = 20
    grid: Count = 2000
    tol: Positive = 0.2
    p_fail: Inside = 0.01
    construction: Construction = "corrected"


@dataclass(frozen=True, kw_only=True)
class BuiltResult:
    r"""What one built net is like; g is the kernel function it was built from.

    Args:
        error: largest :math:`|f - g|` on the grids.
        bound: what equation (19) allows, corrected.
        finite_sum_error: largest :math:`|g_3 - g|` on the grids, of the random features alone.
        finite_sum_bound: what Proposition C.1 allows.
        random_feature_norm: :math:`\|g\|_{RF}`, over the rows drawn.
        kernel_norm: :math:`\|g\|` in the kernel's space.
        row_radius: :math:`\sqrt{m} \max_r \|w_r - w_{r0}\|`.
        frobenius: :math:`\|W - W_0\|_F`.
        interpolant_error: largest :math:`|g - y|` on the grids.
        robust_loss: of the net, on the grids.
        certified_loss: bound on its robust loss over the whole caps.
        slope: largest length of the net's input gradient on the grids.
        spacing: largest distance of a point of a cap to its grid.
    """

    error: float
    bound: float
    finite_sum_error: float
    finite_sum_bound: float
    random_feature_norm: float
    kernel_norm: float
    row_radius: float
    frobenius: float
    interpolant_error: float
    robust_loss: float
    certified_loss: Annotated[float, _COVERED]
    slope: float
    spacing: Annotated[float, _COVERED]


def run(config: BuiltConfig, generator: torch.Generator) -> BuiltResult:
    r"""Build the net from a kernel interpolant; its error, radius and robust loss, certified on a grid.

    Reading: between grid points the value is bounded by Taylor's formula. A point of the cap has a grid point
        within the distance :math:`h`, so that

        .. math:: |f(x + h u) - f(x)| \le h \|\nabla f(x)\| + \tfrac{h^2}{2} \sup \|\nabla^2 f\|,

        with the gradient measured at the grid point; `_curvature_bound` bounds the second derivative.

    Ref: convergence, Thm 5.2
    """
    centres, y = draw_centres(config.n, config.d, config.tau, generator)
    cover = cap_points(centres, config.cover, config.tau, generator)
    grids = cap_points(centres, config.grid, config.tau, generator)
    activation = SmoothedRelu(config.sigma)
    known = torch.cat([centres.unsqueeze(1), cover], dim=1).reshape(-1, config.d)
    g = interpolant(activation, known, y.repeat_interleave(config.cover + 1), ridge=config.ridge)
    start = init.paired(
        config.d,
        config.m,
        generator=generator,
        sd_W=1.0,
        scale=1 / math.sqrt(config.m),
        activation=activation,
    )
    net = build(start, g, config.construction)
    rf_norm = g.random_feature_norm(start.W)
    x = grids.reshape(-1, config.d)
    values, target = net(x), g(x)
    spacing = _covering_radius(centres, grids, config.tau)
    gradient = torch.linalg.vector_norm(net.input_gradient(x), dim=1)
    between = gradient * spacing + _curvature_bound(net, config.sigma) * spacing**2 / 2
    deviation = (values - y.repeat_interleave(config.grid)).abs()
    C = max(1.0, smoothed_relu_lipschitz(config.sigma))
    return BuiltResult(
        error=float((values - target).abs().max()),
        bound=built_error_bound(rf_norm, config.m, config.d, C, config.p_fail),
        finite_sum_error=float((_finite_sum(start, g, x) - target).abs().max()),
        finite_sum_bound=finite_sum_bound(rf_norm, config.m // 2, config.d, C, config.p_fail),
        random_feature_norm=rf_norm,
        kernel_norm=g.norm,
        row_radius=row_movement(net, start) * math.sqrt(config.m),
        frobenius=frobenius_movement(net, start),
        interpolant_error=float((target.reshape(len(y), -1) - y.unsqueeze(1)).abs().max()),
        robust_loss=_robust_loss(deviation, config.n),
        certified_loss=_robust_loss(deviation + between, config.n),
        slope=float(gradient.max()),
        spacing=spacing,
    )


def build(net: TwoLayer, g: KernelFunction, construction: Construction = "corrected") -> TwoLayer:
    r"""Move a paired start to the proof's robust net, which approximates a kernel function.

    .. math:: w_i = w_{i0} + a_i \sqrt{m/4}\; c_i, \qquad \bar w_i = w_{i0} - a_i \sqrt{m/4}\; c_i,
        \qquad c_i = \frac{2}{m} \frac{c(w_{i0})}{p_0(w_{i0})}

    Args:
        net: the paired start.
        g: a function of the tangent kernel's space.
        construction: with the factors :math:`a_i`, as printed without them, no move at all, the opposite of
            the first, or the first and a shift of all rows.

    Reading: with :math:`m/2` features :math:`\|c_i\| \le 2 \|g\|_{RF}/m`, and rows move by up to
        :math:`\|g\|_{RF}/\sqrt{m}`; the factors :math:`a_i`, without which the two halves cancel, are missing
        in print.

    Ref: convergence, Thm 5.2
    """
    half = net.m // 2
    c = g.density(net.W[:half]) / half
    a, none = net.a[:half], torch.zeros(half)
    signs = {"printed": torch.ones(half), "zero": none, "minus": -a}.get(construction, a)
    move = math.sqrt(net.m / 4) * signs.to(c).unsqueeze(1) * c
    shift = 0.5 if construction == "shifted" else 0.0
    return net.replace(W=net.W + torch.cat([move, -move]) + shift)


def _robust_loss(deviation: Tensor, n: int) -> float:
    """Mean over the caps of the largest loss, from |f - y| at the points of every cap in turn."""
    largest = deviation.reshape(n, -1).amax(dim=1)
    return float(PseudoHuber()(1 - largest).mean())


def _finite_sum(start: TwoLayer, g: KernelFunction, x: Tensor) -> Tensor:
    r"""The random features without the net's curvature.

    .. math:: g_3(x) = \sum_i \langle c_i, x \rangle \varphi'(\langle w_{i0}, x \rangle)
    """
    half = start.m // 2
    c = g.density(start.W[:half]) / half
    gates = start.activation.derivative(x @ start.W[:half].T)
    return (gates * (x @ c.T)).sum(dim=1)


def _curvature_bound(net: TwoLayer, sigma: float) -> float:
    r"""A bound on the second derivative of a net of twins with the smoothed ReLU, anywhere in the unit ball.

    Twins have outputs of opposite sign, so that only their difference counts:

    .. math:: \|\varphi''(z) w w^\top - \varphi''(\bar z) \bar w \bar w^\top\|
        \le \|w - \bar w\| \left(2 C \|w\| + C_2 \|w\|^2\right),

    where :math:`\|w\|` is the longer of the two, :math:`\varphi''` is the density of the noise, at most
    :math:`C`, and :math:`C_2` bounds its slope.
    """
    half = net.m // 2
    apart = torch.linalg.vector_norm(net.W[:half] - net.W[half:], dim=1)
    length = torch.maximum(*(torch.linalg.vector_norm(twins, dim=1) for twins in net.W.split(half)))
    C = smoothed_relu_lipschitz(sigma)
    C2 = math.exp(-0.5) / (sigma**2 * math.sqrt(2 * math.pi))
    return net.scale * float((apart * (2 * C * length + C2 * length**2)).sum())


def _covering_radius(centres: Tensor, grids: Tensor, tau: float) -> float:
    """Largest distance from a cap to its grid, bounded through a lattice of the cap in three dimensions.

    Reading: a polar lattice of spacing h covers the cap; the distance of its points to the grid plus h bounds
        that of all others.
    """
    if centres.shape[1] != 3:
        return math.inf
    steps = 60
    angle = Cap(tau).angle
    largest = 0.0
    for centre, grid in zip(centres, grids, strict=True):
        nearest = torch.cdist(cap_lattice(centre, tau, steps), grid).amin(dim=1)
        largest = max(largest, float(nearest.max()))
    return largest + angle / steps + 2 * math.pi * math.sin(angle) / (8 * steps)


BUILT = Experiment(
    name="convergence.built",
    title="Is the robust net of the proof, built with corrected signs, as close and as robust as promised?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=BuiltConfig(m=100, n=3, cover=8, grid=100),
            grid={"m": (100, 400, 1600)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=BuiltConfig(m=1000, grid=600), grid={"m": (250, 1000, 4000)}, seeds=3, cell_seconds=1.7
        ),
        "full": Preset(
            config=BuiltConfig(m=1000, grid=4000, n=8, cover=80, tau=0.2),
            grid={"m": (250, 1000, 4000, 16_000, 64_000, 256_000)},
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
