"""How sparsely inputs are built from first-layer features, beside controls that know no training."""

import math
from dataclasses import dataclass

import torch

from karat.probes.lasso import lasso_path
from karat.probes.reconstruction import as_targets
from karat.yours.probe.comparison import Comparison
from karat.yours.probe.first_layer import BLURRED, FirstLayer, dictionaries
from karat.yours.probe.settings import ProbeSettings

LEVELS = (0.1, 0.2, 0.3)
__all__ = ["BLURRED", "LEVELS", "Rebuilding", "rebuild"]


@dataclass(frozen=True, kw_only=True)
class Rebuilding:
    """Inputs rebuilt from one dictionary by the Lasso.

    Args:
        dictionary: whose features.
        atoms: how many.
        nonzeros: features used per input, along the mean sparsity-error curve.
        errors: relative squared errors along the curve.
        needed: median number of non-zeros at the relative squared errors 0.1, 0.2, 0.3, inf if not reached.
        gap: largest relative duality gap, how far from optimal the solver stopped.
    """

    dictionary: str
    atoms: int
    nonzeros: list[float]
    errors: list[float]
    needed: list[float]
    gap: float


def rebuild(
    comparison: Comparison, layer: FirstLayer, settings: ProbeSettings, generator: torch.Generator
) -> tuple[Rebuilding, ...]:
    """Lasso paths of the same inputs on every dictionary.

    Args:
        comparison: the nets and the inputs.
        layer: the first layer.
        settings: sample sizes.
        generator: of the noise that is a control.
    """
    x, _ = comparison.some(settings.lasso_samples)
    targets = as_targets(comparison.images(x)).float()
    rebuilt = []
    for name, atoms in dictionaries(comparison, layer, settings.atoms, generator=generator).items():
        path = lasso_path(targets, atoms.float(), iterations=60)
        nonzeros, errors = path.curve()
        needed = [float(path.nonzeros_at(level).median()) for level in LEVELS]
        rebuilt.append(
            Rebuilding(
                dictionary=name,
                atoms=path.atoms,
                nonzeros=nonzeros,
                errors=errors,
                needed=[value if math.isfinite(value) else math.inf for value in needed],
                gap=float(path.gaps.max()),
            )
        )
    return tuple(rebuilt)
