"""Given classifiers measured on draws, and linear ones trained with and without an adversary."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Lt

from karat.core.ranges import Count, NonNegative, settings
from karat.study.experiment import Experiment, Preset
from karat_tsipras2019.bounds import gated_accuracy, linear_accuracy, robust_bound


@dataclass(frozen=True, kw_only=True)
@settings
class TsiprasConfig:
    """Settings of one cell.

    Args:
        d: number of weak features.
        strength: eta sqrt(d), the mean of a weak feature in units of 1/sqrt(d).
        p_strong: probability that the strong feature is right.
        n: samples drawn.
        trust: c of the gated classifier over eta.
        radius: of the adversary during training, over eta.
        steps: of training.
        attack: radius against which everything is measured, over eta.
        strong_tau: radius against which the strong feature alone is measured.
    """

    d: Count
    strength: NonNegative = 4.0
    p_strong: Annotated[float, Ge(0.5), Lt(1)] = 0.95
    n: Count = 2000
    trust: NonNegative = 1.0
    radius: NonNegative = 0.0
    steps: Count = 300
    attack: NonNegative = 2.0
    strong_tau: NonNegative = 0.999

    def __post_init__(self) -> None:
        if not 2 * self.eta < 1:
            raise ValueError(f"`strength` of `TsiprasConfig` must be below sqrt(d)/2, got {self.strength}.")

    @property
    def eta(self) -> float:
        """Mean of a weak feature times y."""
        return self.strength / math.sqrt(self.d)


@dataclass(frozen=True)
class GivenResult:
    """Accuracies of three given classifiers on draws, and the largest robust accuracy over its bound."""

    average: float
    average_robust: float
    strong: float
    strong_robust: float
    gated: float
    gated_robust: float
    largest_ratio: float


@dataclass(frozen=True, kw_only=True)
class TrainedResult:
    """Exact accuracies of trained weights, what the theorem allows, and the weight of the strong feature."""

    accuracy: float
    robust_accuracy: float
    bound: float
    strong_weight: float


def draw(config: TsiprasConfig, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return s = y x_1 (n,) and y times the weak features (n, d): all that accuracies depend on."""
    strong = torch.rand(config.n, generator=generator, dtype=torch.float64) < config.p_strong
    noise = torch.randn(config.n, config.d, generator=generator, dtype=torch.float64)
    return 2.0 * strong - 1.0, config.eta + noise


def measure(config: TsiprasConfig, generator: torch.Generator) -> GivenResult:
    """Accuracies of three given classifiers on draws, and how close random ones come to the bound."""
    s, weak = draw(config, generator)
    mean, tau, c = weak.mean(dim=1), config.attack * config.eta, config.trust * config.eta
    margins = (mean, mean - tau, s, s - config.strong_tau, c * s + mean, c * s + mean - tau)
    return GivenResult(*map(_share, margins), _largest_ratio(config, generator))


def train(config: TsiprasConfig, generator: torch.Generator) -> TrainedResult:
    """Soft-margin training in the unit ball; the worst perturbation takes tau |w|_1 off every margin."""
    s, weak = draw(config, generator)
    x, tau = torch.cat([s.unsqueeze(1), weak], dim=1), config.radius * config.eta
    w = torch.zeros(config.d + 1, dtype=torch.float64)
    for step in range(config.steps):
        lr = 1 / (1 + step) ** 0.5
        active = (x @ w - tau * w.abs().sum() < 1).double()
        w = w + lr * (active @ x) / config.n
        # The l1 term by its proximal map: a subgradient would never bring a weight to zero.
        w = w.sign() * (w.abs() - lr * tau * active.mean()).clamp_min(0)
        w = w / torch.linalg.vector_norm(w).clamp_min(1)
    exact = [
        linear_accuracy(float(w[0]), w[1:], config.eta, config.p_strong, r * config.eta)
        for r in (0, config.attack)
    ]
    bound = robust_bound(exact[0], config.p_strong)
    return TrainedResult(accuracy=exact[0], robust_accuracy=exact[1], bound=bound, strong_weight=float(w[0]))


def _share(margins: torch.Tensor) -> float:
    return float((margins > 0).double().mean())


def _largest_ratio(config: TsiprasConfig, generator: torch.Generator, count: int = 200) -> float:
    """Largest robust accuracy over its bound, exact, among gated and random linear classifiers."""
    p, eta, radii = config.p_strong, config.eta, (0.0, config.attack * config.eta)
    pairs = [[gated_accuracy(c * eta, config.d, eta, p, tau) for tau in radii] for c in (0, 0.5, 1, 2)]
    for w_1 in torch.rand(count, generator=generator, dtype=torch.float64).tolist():
        w = (1 - w_1) * (1 + torch.randn(config.d, generator=generator, dtype=torch.float64)) / config.d
        pairs.append([linear_accuracy(w_1, w, eta, p, tau) for tau in radii])
    # Of an error below rounding, 1 - accuracy is rounding itself.
    return max(robust / robust_bound(standard, p) for standard, robust in pairs if standard < 1 - 1e-9)


def _presets(strength: float, **grid: tuple[float, ...]) -> dict[str, Preset[TsiprasConfig]]:
    sizes = {"tiny": (100, 4000, 6), "quick": (400, 10000, 6), "full": (2500, 20000, 10)}
    return {
        scale: Preset(
            config=TsiprasConfig(d=d, n=n, strength=strength), grid=grid, seeds=seeds, cell_seconds=0.5
        )
        for scale, (d, n, seeds) in sizes.items()
    }


GIVEN = Experiment(
    name="tsipras2019.given",
    title="How accurate and how robust are the mean, the strong feature, and both together?",
    paper="tsipras2019",
    presets=_presets(3.0, trust=(0.5, 1.0, 1.5)),
    run=measure,
)
TRAINED = Experiment(
    name="tsipras2019.trained",
    title="What does the adversary's radius during training cost in accuracy, and buy in robustness?",
    paper="tsipras2019",
    presets=_presets(4.0, radius=(0.0, 0.5, 0.7, 0.8, 0.9, 1.0, 2.0)),
    run=train,
)
