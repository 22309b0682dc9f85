"""The tangent kernel: closed forms, robust interpolation on caps, parity of degrees, the proof's net."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.cap import Cap
from karat.core.checks import require_even, require_integer, require_number, require_settings, require_share
from karat.core.smoothings import SmoothedRelu
from karat.core.tangent_kernel import degree_weights, empirical_gram, gram, profile_of
from karat.nets import TwoLayer, init
from karat.papers.convergence.bounds import built_error_bound, finite_sum_bound
from karat.papers.convergence.experiments.sets import PseudoHuber, draw_centres
from karat.papers.convergence.experiments.two_layer import ActivationName, activation_of
from karat.probes.kernel_interpolation import KernelFunction, interpolant
from karat.probes.movement import frobenius_movement, row_movement
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one data set on the sphere.

    Args:
        activation, d, n, tau: kernel, dimension, centres, cap radius.
        cover: points per cap that are interpolated.
        fresh: points per cap on which the supremum is measured.
        draws: of the Monte-Carlo kernel.
        antipodes: "no", or n/2 pairs x, -x with "same" or "opposite" labels.
        lift: x -> [x, 1]/sqrt 2 first.
    """

    activation: ActivationName
    d: int = 3
    n: int = 8
    tau: float = 0.2
    cover: int = 40
    fresh: int = 200
    draws: int = 100_000
    antipodes: Literal["no", "same", "opposite"] = "no"
    lift: bool = False

    def __post_init__(self) -> None:
        for name in ("fresh", "draws"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        require_integer(self.n, "n", "Config", minimum=2)
        require_integer(self.cover, "cover", "Config", minimum=0)
        require_integer(self.d, "d", "Config", minimum=3)
        Cap(self.tau)
        require_settings(self)


def _points(config: Config, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Centres and labels; antipodal pairs share or oppose their labels."""
    if config.antipodes == "no":
        return draw_centres(config.n, config.d, config.tau, generator)
    half, y = draw_centres(config.n // 2, config.d, config.tau, generator)
    other = y if config.antipodes == "same" else -y
    return torch.cat([half, -half]), torch.cat([y, other])


def _cap_points(centres: Tensor, count: int, tau: float, generator: torch.Generator) -> Tensor:
    """count uniform points of every cap, (n, count, d)."""
    repeated = centres.repeat_interleave(count, dim=0)
    moved = repeated + Cap(tau).sample(repeated, generator=generator)
    return moved.reshape(len(centres), count, -1)


def _lifted(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones(*x.shape[:-1], 1, dtype=x.dtype)], dim=-1) / math.sqrt(2)


def robust_interpolant(
    config: Config, generator: torch.Generator
) -> tuple[KernelFunction, Tensor, Tensor, Tensor]:
    """Interpolate centres and cover points; the function, centres, labels and fresh points (n, fresh, d)."""
    centres, y = _points(config, generator)
    cover = (
        _cap_points(centres, config.cover, config.tau, generator) if config.cover else centres.unsqueeze(1)
    )
    fresh = _cap_points(centres, config.fresh, config.tau, generator)
    known = torch.cat([centres.unsqueeze(1), cover], dim=1) if config.cover else cover
    if config.lift:
        centres, known, fresh = _lifted(centres), _lifted(known), _lifted(fresh)
    x = known.reshape(-1, known.shape[-1])
    g = interpolant(activation_of(config.activation), x, y.repeat_interleave(known.shape[1]))
    return g, centres, y, fresh


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Interpolate the labels on covered caps and look how far fresh points stray.

    Ref: convergence, Asm 5.2
    """
    g, _, y, fresh = robust_interpolant(config, generator)
    values = g(fresh.reshape(-1, fresh.shape[-1])).reshape(len(y), -1)
    x = fresh[:, 0]
    activation = activation_of(config.activation)
    W = torch.randn(config.draws, x.shape[1], generator=generator, dtype=torch.float64)
    closed = gram(profile_of(activation), x)
    error = (empirical_gram(W, activation, x) - closed).abs().max()
    weights = degree_weights(profile_of(activation), config.d, 9)
    return {
        "supremum": float((values - y.unsqueeze(1)).abs().max()),
        "robust_error": float((y.unsqueeze(1) * values <= 0).any(dim=1).double().mean()),
        "norm": g.norm,
        "kernel_error": float(error) * math.sqrt(config.draws),
        "kernel_size": float(closed.abs().max()),
        "degrees": weights,
        "even_weight": sum(abs(weight) for weight in weights[4::2]),
        "odd_weight": sum(abs(weight) for weight in weights[5::2]),
    }


@dataclass(frozen=True, kw_only=True)
class BuiltConfig:
    """Settings of one built network.

    Args:
        m: width.
        sigma: noise of the smoothed ReLU.
        ridge: of the interpolant, which trades accuracy for norm.
        d, n, tau, cover: as in the kernel experiment.
        grid: points per cap of the check.
        tol: robust loss sought.
        p_fail: of the bound.
    """

    m: int
    sigma: float = 0.3
    ridge: float = 0.01
    d: int = 3
    n: int = 4
    tau: float = 0.15
    cover: int = 20
    grid: int = 2000
    tol: float = 0.2
    p_fail: float = 0.01

    def __post_init__(self) -> None:
        require_even(self.m, "m", "Config")
        for name in ("grid", "cover"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("d", "n"):
            require_integer(getattr(self, name), name, "Config", minimum=2)
        for name in ("sigma", "tol"):
            require_number(getattr(self, name), name, "Config", positive=True)
        require_number(self.ridge, "ridge", "Config", minimum=0)
        require_share(self.p_fail, "p_fail", "Config")
        Cap(self.tau)
        require_settings(self)

    @property
    def slope_lipschitz(self) -> float:
        """Lipschitz constant of phi'."""
        return 1 / (self.sigma * math.sqrt(2 * math.pi))


def build(net: TwoLayer, g: KernelFunction) -> TwoLayer:
    """The proof's robust net: w_i + a_i sqrt(m/4) c_i and its twin w_i - a_i sqrt(m/4) c_i, c_i = density/M.

    Reading: M = m/2 features, so |c_i| <= 2 |g|_RF/m and rows move by up to |g|_RF/sqrt m; the factors a_i,
        without which the two halves cancel, are missing in print.

    Ref: convergence, Thm 5.2
    """
    half = net.m // 2
    c = g.density(net.W[:half]) / half
    move = math.sqrt(net.m / 4) * net.a[:half].unsqueeze(1) * c
    return net.replace(W=net.W + torch.cat([move, -move]))


def run_built(config: BuiltConfig, generator: torch.Generator) -> dict[str, Any]:
    """Build the net from a kernel interpolant; its error, radius and robust loss, certified on a grid.

    Reading: between grid points the value is bounded by Taylor: the gradient's length at the grid point times
        the largest distance h to the grid, plus h^2/2 times a bound on the second derivative. A pair of twins
        w, w' contributes |phi''(z) w w^T - phi''(z') w' w'^T| <= |w - w'| (2 C |w| + C2 |w|^2) to the latter.

    Ref: convergence, Thm 5.2
    """
    centres, y = draw_centres(config.n, config.d, config.tau, generator)
    cover = _cap_points(centres, config.cover, config.tau, generator)
    fresh = _cap_points(centres, config.grid, config.tau, generator)
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
    net = build(start, g)
    size = g.random_feature_norm(start.W)
    flat = fresh.reshape(-1, config.d)
    values, target = net(flat), g(flat)
    features = _finite_sum(start, g, flat)
    spacing = _covering_radius(centres, fresh, config.tau)
    slope = torch.linalg.vector_norm(net.input_gradient(flat), dim=1)
    between = slope * spacing + _curvature_bound(net, config.sigma) * spacing**2 / 2
    off = (values - y.repeat_interleave(config.grid)).abs()
    worst, certified = ((table.reshape(len(y), -1)).amax(dim=1) for table in (off, off + between))
    constant = max(1.0, config.slope_lipschitz)
    loss = PseudoHuber()
    return {
        "error": float((values - target).abs().max()),
        "bound": built_error_bound(size, config.m, config.d, constant, config.p_fail),
        "finite_sum_error": float((features - target).abs().max()),
        "finite_sum_bound": finite_sum_bound(size, config.m // 2, config.d, constant, config.p_fail),
        "random_feature_norm": size,
        "kernel_norm": g.norm,
        "row_radius": row_movement(net, start) * math.sqrt(config.m),
        "frobenius": frobenius_movement(net, start),
        "interpolant_error": float((target.reshape(len(y), -1) - y.unsqueeze(1)).abs().max()),
        "robust_loss": float(loss(1 - worst).mean()),
        "certified_loss": float(loss(1 - certified).mean()),
        "slope": float(slope.max()),
        "spacing": spacing,
    }


def _finite_sum(start: TwoLayer, g: KernelFunction, x: Tensor) -> Tensor:
    """g3 = sum_i <c_i, x> phi'(<w_i, x>), the M random features without the net's curvature."""
    half = start.m // 2
    c = g.density(start.W[:half]) / half
    gates = start.activation.derivative(x @ start.W[:half].T)
    return (gates * (x @ c.T)).sum(dim=1)


def _curvature_bound(net: TwoLayer, sigma: float) -> float:
    """A bound on the second derivative of a net of twins with the smoothed ReLU, anywhere in space."""
    half = net.m // 2
    apart = torch.linalg.vector_norm(net.W[:half] - net.W[half:], dim=1)
    length = torch.maximum(*(torch.linalg.vector_norm(part, dim=1) for part in net.W.split(half)))
    # phi'' is the N(0, sigma^2) density: at most C, with slope at most C2.
    C = 1 / (sigma * math.sqrt(2 * math.pi))
    C2 = math.exp(-0.5) / (sigma**2 * math.sqrt(2 * math.pi))
    return net.scale * float((apart * (2 * C * length + C2 * length**2)).sum())


def _covering_radius(centres: Tensor, fresh: Tensor, tau: float) -> float:
    """Largest distance from a cap to its grid, bounded through a lattice of the cap in three dimensions.

    Reading: a polar lattice of spacing h covers the cap; the distance of its points to the grid plus h bounds
        that of all others.
    """
    if centres.shape[1] != 3:
        return math.inf
    steps = 60
    angle = Cap(tau).angle
    radii = angle * (torch.arange(steps, dtype=torch.float64) + 0.5) / steps
    turns = 2 * math.pi * torch.arange(4 * steps, dtype=torch.float64) / (4 * steps)
    largest = 0.0
    for centre, grid in zip(centres, fresh, strict=True):
        basis = torch.linalg.qr(torch.cat([centre.unsqueeze(1), torch.eye(3, dtype=torch.float64)], dim=1)).Q
        ring = torch.cos(turns).unsqueeze(1) * basis[:, 1] + torch.sin(turns).unsqueeze(1) * basis[:, 2]
        lattice = (torch.cos(radii)[:, None, None] * centre + torch.sin(radii)[:, None, None] * ring).reshape(
            -1, 3
        )
        largest = max(largest, float(torch.cdist(lattice, grid).amin(dim=1).max()))
    return largest + angle / steps + 2 * math.pi * math.sin(angle) / (8 * steps)


_COVERED = "infinite unless d = 3: caps are covered in three dimensions only"

KERNEL = Experiment(
    name="convergence.kernel",
    title="Does the tangent kernel's space hold robust interpolants, and do the closed forms hold?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=Config(activation="relu", n=4, fresh=50, draws=20_000),
            points=({"cover": 0}, {"cover": 20}, {"activation": "softplus", "cover": 20}),
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=Config(activation="relu", fresh=120),
            grid={"activation": ("relu", "smoothed_relu", "quadratic_relu"), "cover": (0, 20, 80, 240)},
            seeds=4,
            cell_seconds=0.2,
        ),
        "full": Preset(
            config=Config(activation="relu", fresh=1000, draws=1_000_000),
            grid={
                "activation": ("relu", "smoothed_relu", "softplus", "smooth_leaky_relu", "quadratic_relu"),
                "cover": (0, 40, 150, 400),
                "d": (3, 4, 5, 6),
            },
            seeds=5,
            cell_seconds=20,
        ),
    },
    run=run,
)

_PARITY = Config(activation="relu", cover=40, draws=10_000)

PARITY = Experiment(
    name="convergence.parity",
    title="Which antipodal labels can each kernel fit: does the quadratic ReLU hold even functions or odd?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(_PARITY, n=4, cover=10, fresh=40),
            grid={"activation": ("relu", "quadratic_relu"), "antipodes": ("same", "opposite")},
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=_PARITY,
            grid={
                "activation": ("relu", "quadratic_relu"),
                "antipodes": ("same", "opposite"),
                "lift": (False, True),
            },
            seeds=3,
            cell_seconds=0.05,
        ),
        "full": Preset(
            config=replace(_PARITY, cover=150, fresh=1000),
            grid={
                "activation": ("relu", "quadratic_relu"),
                "antipodes": ("same", "opposite"),
                "lift": (False, True),
                "d": (3, 5),
            },
            seeds=10,
            cell_seconds=3,
        ),
    },
    run=run,
)

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
    run=run_built,
    undefined={"spacing": _COVERED, "certified_loss": _COVERED},
)
