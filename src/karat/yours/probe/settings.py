"""How much a probe looks at: sample sizes and the choices that time forces."""

from dataclasses import dataclass
from typing import Self

from karat.core.ranges import Count, NonNegative, Positive, Steps, checked


@dataclass(frozen=True, kw_only=True)
@checked
class ProbeSettings:
    """Sample sizes of a probe; the defaults keep a ResNet(8) under two minutes on one core.

    Args:
        samples: inputs that are attacked, for accuracy and transfer.
        described: perturbations whose density is measured.
        gate_samples: for activation patterns.
        kernel_samples: for tangent kernels, fewer for nets with many weights.
        linearised: for the linearisation around the start.
        lasso_samples: inputs that are built from first-layer features.
        atoms: most features in a dictionary.
        certified: inputs that are certified where the net is small enough.
        seconds: of search for each.
        smoothed: inputs of the randomised-smoothing certificate, 0 for none.
        draws: noise draws for each.
        sigma: of the noise, tau / 2 for l2 balls and 0.25 else when None.
        pictured: features per layer that are pictured, 0 for no gradient ascent.
        ascent_steps: of each.
    """

    samples: Count = 200
    described: Count = 100
    gate_samples: Count = 100
    kernel_samples: Count = 24
    linearised: Count = 50
    lasso_samples: Steps = 12
    atoms: Count = 1024
    certified: Steps = 20
    seconds: NonNegative = 1.0
    smoothed: Steps = 20
    draws: Count = 600
    sigma: Positive | None = None
    pictured: Steps = 8
    ascent_steps: Count = 150

    @classmethod
    def tiny(cls) -> Self:
        """Seconds: to see that it runs."""
        return cls(
            samples=24,
            described=24,
            gate_samples=16,
            kernel_samples=8,
            linearised=16,
            lasso_samples=4,
            atoms=256,
            certified=4,
            seconds=0.2,
            smoothed=4,
            draws=100,
            pictured=3,
            ascent_steps=10,
        )
