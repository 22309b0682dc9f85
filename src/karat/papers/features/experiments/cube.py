"""Theorems 2 and 4 on the whole cube of a small dimension: nothing is sampled, every set A is looked at."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Interval
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.core.walsh import cube, parity_correlations, sets_of_size
from karat.papers.features.bounds import query_floor
from karat.study.experiment import Experiment, Preset

QUERIES = (1, 4, 16, 64, 256, 1024)
"""Numbers of queries at which the best correlation is looked at, and all of them."""


@dataclass(frozen=True, kw_only=True)
@settings
class CubeConfig:
    r"""Settings of one exact check.

    Args:
        D: dimension of the cube, at most 14 because all its points are listed.
        k: size of the parities.
        size: :math:`N`, number of features or of queries.
        kind: "rf" (hidden units), "ntk" (all gradient features of size/(D + 2) units) or "linear" (inputs).
        bias_ratio: sd of the biases over sd of the weights, the paper's 1/k when None.
        tolerance: :math:`\tau` of the statistical queries.
        sets: parities for which the best fit is classified.
    """

    D: Annotated[int, Interval(ge=1, le=14)]
    k: Count
    size: Count
    kind: Literal["rf", "ntk", "linear"] = "rf"
    bias_ratio: NonNegative | None = None
    tolerance: Positive = 0.1
    sets: Count = 8

    def __post_init__(self) -> None:
        if self.k > self.D:
            owner = type(self).__name__
            raise ValueError(f"`k` of `{owner}` must be at most `D` = {self.D}, got {self.k}.")

    @property
    def sd_b(self) -> float:
        """Standard deviation of the biases, for weights of variance 1/D each (|w| ~ 1)."""
        return 1 / self.k if self.bias_ratio is None else self.bias_ratio


@dataclass(frozen=True, kw_only=True)
class CubeResult:
    r"""Features and queries fixed before, against all parities of k coordinates.

    Args:
        features: how many there are.
        rank: dimension of their span.
        sets: number of parities.
        explained_mean: share of a parity in the span (:math:`R^2`), mean over parities.
        explained_max: the largest share.
        explained_bound: rank over sets, no mean share is larger.
        fit_accuracy: of the best fit to a few parities, over the whole cube.
        strength_mean: :math:`|E[y \Psi]|`, mean over parities.
        strength_min: the smallest.
        strength_bound: by Parseval, on average over parities.
        query_floor: of Theorem 4.
        seen_by_one: most parities that one query tells from noise.
        seen_bound: :math:`1/\tau^2`.
        seen_share: share of the parities that any query tells from noise.
        effort: see `effort`.
        queries: numbers of queries.
        best_correlation: largest correlation with a parity among the first q queries, mean over parities.
        best_correlation_bound: :math:`\sqrt{q / \text{sets}}`.
    """

    features: int
    rank: int
    sets: int
    explained_mean: float
    explained_max: float
    explained_bound: float
    fit_accuracy: float
    strength_mean: float
    strength_min: float
    strength_bound: float
    query_floor: float
    seen_by_one: int
    seen_bound: float
    seen_share: float
    effort: float
    queries: list[int]
    best_correlation: list[float]
    best_correlation_bound: list[float]


def draw_features(config: CubeConfig, z: Tensor, generator: torch.Generator) -> Tensor:
    r"""Return features (2^D, N) in [-1, 1] of every point of the cube, drawn without looking at labels.

    Inputs are :math:`z/\sqrt D`, of length one, as normalised data have; NTK features are divided by their
    bound.

    Args:
        config: which features.
        z: (2^D, D) points.
        generator: draws the net.
    """
    x = z / math.sqrt(config.D)
    if config.kind == "linear":
        return z
    units = config.size if config.kind == "rf" else max(1, config.size // (config.D + 2))
    W = torch.randn(units, config.D, generator=generator, dtype=z.dtype)
    b = config.sd_b * torch.randn(units, generator=generator, dtype=z.dtype)
    pre = x @ W.T + b
    phi = TruncatedRelu()
    if config.kind == "rf":
        return phi(pre)
    gate = phi.derivative(pre)
    inputs = (gate[:, :, None] * z[:, None, :]).flatten(1)
    return torch.cat([phi(pre), gate, inputs], dim=1)


def run(config: CubeConfig, generator: torch.Generator) -> CubeResult:
    """Return how much of the parities of size k the features hold, in their span and one by one.

    Taken as statistical queries in [-1, 1], each feature has, by Parseval, a correlation of at least tau
    with at most 1/tau^2 parities; all others get the answer 0, and after q queries the learner cannot tell
    the remaining ones apart.

    Args:
        config: settings of the check.
        generator: draws the features, and which parities are fitted.
    """
    z = cube(config.D)
    H = draw_features(config, z, generator)
    rows = sets_of_size(config.D, config.k)
    basis = _orthonormal(H)
    explained = parity_correlations(basis)[rows].square().sum(dim=1)
    correlation = parity_correlations(H)[rows]
    energy = float(H.square().sum(dim=1).mean())
    chosen = rows[torch.randperm(len(rows), generator=generator)[: config.sets]]
    fits = [_fit_accuracy(basis, z, int(row)) for row in chosen]
    strength = torch.linalg.vector_norm(correlation, dim=1)
    size = correlation.abs()
    seen = size >= config.tolerance
    counts = sorted({q for q in QUERIES if q < size.shape[1]} | {size.shape[1]})
    return CubeResult(
        features=H.shape[1],
        rank=basis.shape[1],
        sets=len(rows),
        explained_mean=float(explained.mean()),
        explained_max=float(explained.max()),
        explained_bound=min(1.0, basis.shape[1] / len(rows)),
        fit_accuracy=sum(fits) / len(fits),
        strength_mean=float(strength.mean()),
        strength_min=float(strength.min()),
        strength_bound=math.sqrt(energy / len(rows)),
        query_floor=query_floor(config.D, config.k),
        seen_by_one=int(seen.sum(dim=0).max()),
        seen_bound=1 / config.tolerance**2,
        seen_share=float(seen.any(dim=1).double().mean()),
        effort=effort(size),
        queries=counts,
        best_correlation=[float(size[:, :q].amax(dim=1).mean()) for q in counts],
        best_correlation_bound=[min(1.0, math.sqrt(q / len(rows))) for q in counts],
    )


def effort(size: Tensor) -> float:
    r"""Return the smallest :math:`\max(q, 1/\tau)` at which q queries of tolerance tau tell parities apart.

    To do so they must see every parity but one. Asking for the parities themselves takes one query each.

    Args:
        size: (sets, N) absolute correlation of every parity with every query.

    Ref: features, Thm 4
    """
    if len(size) < 2:
        return float(len(size))
    # The second smallest over parities: one of them may stay unseen.
    tau = size.cummax(dim=1).values.kthvalue(2, dim=0).values
    count = torch.arange(1, size.shape[1] + 1, dtype=size.dtype)
    return min(float(len(size)), float(torch.maximum(count, 1 / tau).min()))


def _orthonormal(H: Tensor) -> Tensor:
    """Orthonormal basis of the span of the columns, for the mean over the cube."""
    U, S, _ = torch.linalg.svd(H, full_matrices=False)
    rank = int((1e-10 * S[0] < S).sum())
    return U[:, :rank] * math.sqrt(len(H))


def _fit_accuracy(basis: Tensor, z: Tensor, row: int) -> float:
    """Accuracy over the whole cube of the least-squares fit to one parity."""
    digits = ((torch.tensor(row) >> torch.arange(z.shape[1])) & 1).bool()
    y = z[:, digits].prod(dim=1)
    margin = basis @ (basis.T @ y) / len(y) * y
    # A fit of zero says nothing: half of its answers are right.
    return float((margin > 1e-9).double().mean() + (margin.abs() <= 1e-9).double().mean() / 2)


_BASE = CubeConfig(D=10, k=5, size=64)

CUBE = Experiment(
    name="features.cube",
    title="How much of all parities do features hold that were fixed before seeing the data?",
    paper="features",
    presets={
        "tiny": Preset(
            config=replace(_BASE, D=7, k=3, size=8), grid={"kind": ("rf", "ntk")}, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(
            config=_BASE,
            points=(
                {"kind": "linear", "size": 10},
                {"size": 16},
                {"size": 64},
                {"size": 64, "bias_ratio": 1.0},
                {"size": 256},
                {"size": 256, "bias_ratio": 1.0},
                {"size": 256, "k": 3},
                {"kind": "ntk", "size": 240},
            ),
            seeds=2,
            cell_seconds=0.3,
        ),
        "full": Preset(
            config=replace(_BASE, D=12),
            grid={
                "k": (3, 5, 7),
                "size": (64, 256, 1024, 2048),
                "bias_ratio": (0.2, 1.0),
                "kind": ("rf", "ntk"),
            },
            seeds=5,
            cell_seconds=30,
        ),
    },
    run=run,
)
