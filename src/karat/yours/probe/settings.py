"""How much a probe looks at: sample sizes and the choices that time forces."""

from dataclasses import dataclass
from typing import Self

from karat.core.checks import require_integer, require_number


@dataclass(frozen=True, kw_only=True)
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

    samples: int = 200
    described: int = 100
    gate_samples: int = 100
    kernel_samples: int = 24
    linearised: int = 50
    lasso_samples: int = 12
    atoms: int = 1024
    certified: int = 20
    seconds: float = 1.0
    smoothed: int = 20
    draws: int = 600
    sigma: float | None = None
    pictured: int = 8
    ascent_steps: int = 150

    def __post_init__(self) -> None:
        for name in (
            "samples",
            "described",
            "gate_samples",
            "kernel_samples",
            "linearised",
            "atoms",
            "draws",
            "ascent_steps",
        ):
            require_integer(getattr(self, name), name, "ProbeSettings", minimum=1)
        for name in ("certified", "smoothed", "pictured", "lasso_samples"):
            require_integer(getattr(self, name), name, "ProbeSettings", minimum=0)
        require_number(self.seconds, "seconds", "ProbeSettings", minimum=0)
        if self.sigma is not None:
            require_number(self.sigma, "sigma", "ProbeSettings", positive=True)

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
