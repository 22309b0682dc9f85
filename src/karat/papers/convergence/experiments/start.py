"""Norms of a deep start: of its matrices, and of the products that its gradients are made of."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from karat.core.ranges import Count, Positive, settings
from karat.nets import init
from karat.nets.deep import Deep
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class StartConfig:
    r"""Settings of one start.

    Args:
        m: width of every hidden layer.
        depth: number of square hidden layers, :math:`H`.
        d: input dimension.
        law: of the hidden matrices; "heavy" entries have the same variance, but a tenth of a percent of them
            carry it all.
        variance: entries of the hidden matrices have this variance over m; 2 in print.
    """

    m: Count
    depth: Count
    d: Count = 6
    law: Literal["gaussian", "heavy"] = "gaussian"
    variance: Positive = 2.0


@dataclass(frozen=True, kw_only=True)
class StartResult:
    r"""What one start measures.

    Args:
        input_norm: :math:`\|A\|_2`.
        hidden_norms: :math:`\|W_h\|_2` of every layer.
        output_norm: :math:`\|a\|_2`.
        product: the largest :math:`\|a^\top D_H W_H \cdots D_h W_h\|_2` over h, at a unit input.
    """

    input_norm: float
    hidden_norms: list[float]
    output_norm: float
    product: float


def run(config: StartConfig, generator: torch.Generator) -> StartResult:
    """Draw a start and measure its norms.

    Ref: convergence, Lem A.1; convergence, Lem A.3
    """
    net = init.deep_gaussian(config.d, config.m, config.depth, generator=generator)
    layers = {f"W{h}": _changed(W, config, generator) for h, W in enumerate(net.layers, start=1)}
    net = net.replace(**layers)
    x = torch.nn.functional.normalize(torch.randn(1, config.d, generator=generator, dtype=torch.float64))
    return StartResult(
        input_norm=float(torch.linalg.matrix_norm(net.A, 2)),
        hidden_norms=[_spectral_norm(W) for W in net.layers],
        output_norm=float(torch.linalg.vector_norm(net.a)),
        product=max(_products(net, x)),
    )


def _changed(W: Tensor, config: StartConfig, generator: torch.Generator) -> Tensor:
    if config.law == "heavy":
        kept = torch.rand(W.shape, generator=generator) < 1e-3
        W = W * kept * math.sqrt(1e3)
    return W * math.sqrt(config.variance / 2)


def _spectral_norm(W: Tensor) -> float:
    """From the Gram matrix, whose eigenvalues cost half of a singular value decomposition."""
    return math.sqrt(max(0.0, float(torch.linalg.eigvalsh(W @ W.T)[-1])))


def _products(net: Deep, x: Tensor) -> list[float]:
    """The norms from the last layer down to the first."""
    preactivations, _ = net.hidden(x)
    back, norms = net.a.unsqueeze(0), []
    for W, z in zip(reversed(net.layers), reversed(preactivations), strict=True):
        back = (back * (z > 0)) @ W
        norms.append(float(torch.linalg.vector_norm(back)))
    return norms


def work(config: StartConfig) -> float:
    """Eigenvalues of every layer."""
    return config.depth * (1e6 + float(config.m) ** 3)


START = Experiment(
    name="convergence.start",
    title="How large are the matrices of a deep start, and the products of its gradients?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=StartConfig(m=32, depth=1),
            grid={"m": (32, 64, 128), "depth": (1, 2, 4)},
            seeds=2,
            cell_seconds=0.01,
        ),
        "quick": Preset(
            config=StartConfig(m=64, depth=1),
            points=(*({"m": m, "depth": 2} for m in (64, 128, 512)), *({"depth": H} for H in (1, 4, 8))),
            seeds=20,
            cell_seconds=0.02,
        ),
        "full": Preset(
            config=StartConfig(m=64, depth=1),
            grid={"m": (64, 256, 1024), "depth": (1, 2, 4, 8)},
            seeds=40,
            cell_seconds=2,
        ),
    },
    run=run,
    work=work,
)
