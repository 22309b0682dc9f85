"""Theorems 2 and 4 on the whole cube of a small dimension: nothing is sampled, every set A is looked at."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.core.activations import TruncatedRelu
from karat.core.checks import require_integer, require_number, require_settings
from karat.core.walsh import cube, parity_correlations, sets_of_size
from karat.papers.features.bounds import query_floor
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one exact check.

    Args:
        D, k: dimension of the cube and size of the parities.
        size: N, number of features or of queries.
        kind: "rf" (hidden units), "ntk" (all gradient features of size/(D + 2) units) or "linear" (inputs).
        bias_ratio: sd of the biases over sd of the weights, the paper's 1/k when None.
        tolerance: tau of the statistical queries.
        sets: parities for which the best fit is classified.
    """

    D: int
    k: int
    size: int
    kind: Literal["rf", "ntk", "linear"] = "rf"
    bias_ratio: float | None = None
    tolerance: float = 0.1
    sets: int = 8

    def __post_init__(self) -> None:
        for name in ("D", "k", "size", "sets"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        if self.D > 14:
            raise ValueError(f"`D` of `Config` must be at most 14 (the whole cube is listed), got {self.D}.")
        if self.k > self.D:
            raise ValueError(f"`k` of `Config` must be at most `D` = {self.D}, got {self.k}.")
        require_number(self.tolerance, "tolerance", "Config", positive=True)
        if self.bias_ratio is not None:
            require_number(self.bias_ratio, "bias_ratio", "Config", minimum=0)
        require_settings(self)

    @property
    def sd_b(self) -> float:
        """Standard deviation of the biases, for weights of variance 1/D each (|w| ~ 1)."""
        return 1 / self.k if self.bias_ratio is None else self.bias_ratio


def draw_features(config: Config, z: Tensor, generator: torch.Generator) -> Tensor:
    """(2^D, N) features in [-1, 1] of every point of the cube, for a net drawn without looking at labels.

    Inputs are z/sqrt(D), of length one, as normalised data have; NTK features are divided by their bound.
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


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """How much of the parities of size k the span of the features holds, and the bound for its mean."""
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
    return {
        "features": H.shape[1],
        "rank": basis.shape[1],
        "sets": len(rows),
        "explained_mean": float(explained.mean()),
        "explained_max": float(explained.max()),
        "explained_bound": min(1.0, basis.shape[1] / len(rows)),
        "fit_accuracy": sum(fits) / len(fits),
        "strength_mean": float(strength.mean()),
        "strength_min": float(strength.min()),
        "strength_bound": math.sqrt(energy / len(rows)),
        **_queries(config, correlation),
    }


def _queries(config: Config, correlation: Tensor) -> dict[str, Any]:
    """The features as statistical queries: how many parities each of them can tell from noise.

    By Parseval a query in [-1, 1] has correlation >= tau with at most 1/tau^2 parities; all others get the
    answer 0, and after q queries the learner cannot tell the remaining ones apart.
    """
    size = correlation.abs()
    seen = size >= config.tolerance
    total = len(correlation)
    counts = sorted({q for q in (1, 4, 16, 64, 256, 1024) if q < size.shape[1]} | {size.shape[1]})
    return {
        "query_floor": query_floor(config.D, config.k),
        "seen_by_one": int(seen.sum(dim=0).max()),
        "seen_bound": 1 / config.tolerance**2,
        "seen_share": float(seen.any(dim=1).double().mean()),
        "effort": effort(size),
        "queries": counts,
        "best_correlation": [float(size[:, :q].amax(dim=1).mean()) for q in counts],
        "best_correlation_bound": [min(1.0, math.sqrt(q / total)) for q in counts],
    }


def effort(size: Tensor) -> float:
    """Smallest max(q, 1/tau) at which the first q queries of tolerance tau tell all parities apart.

    To do so they must see every parity but one. Asking for the parities themselves takes one query each.

    Args:
        size: (sets, N) absolute correlation of every parity with every query.

    Ref: features, Thm 4
    """
    if len(size) < 2:
        return float(len(size))
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


_BASE = Config(D=10, k=5, size=64)

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
