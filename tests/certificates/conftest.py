import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from karat.certificates.problem import Problem
from karat.certificates.profile import IDENTITY, Profile, odd_profile, profile_of
from karat.core import (
    Ball,
    LeakyRelu,
    Quadratic,
    QuadraticRelu,
    Relu,
    SmoothedRelu,
    SmoothedTruncatedRelu,
    SmoothLeakyRelu,
    Softplus,
    TruncatedRelu,
)

PROFILES: dict[str, Profile] = {
    "relu": profile_of(Relu()),
    "leaky": profile_of(LeakyRelu(0.1)),
    "smooth leaky": profile_of(SmoothLeakyRelu(0.2, 3.0)),
    "truncated": profile_of(TruncatedRelu()),
    "quadratic relu": profile_of(QuadraticRelu()),
    "quadratic": profile_of(Quadratic()),
    "softplus": profile_of(Softplus()),
    "smoothed relu": profile_of(SmoothedRelu(0.3)),
    "smoothed truncated": profile_of(SmoothedTruncatedRelu(0.2)),
    "odd": odd_profile(Relu(), -0.4),
    "odd, positive bias": odd_profile(Relu(), 0.4),
    "smoothed odd": odd_profile(SmoothedRelu(0.25), -0.4),
    "smoothed odd, positive bias": odd_profile(SmoothedRelu(0.25), 0.4),
    "identity": IDENTITY,
}
NORMS = (1.0, 2.0, math.inf)


@pytest.fixture(params=list(PROFILES))
def profile(request: pytest.FixtureRequest) -> Profile:
    return PROFILES[request.param]


@pytest.fixture(params=NORMS)
def p(request: pytest.FixtureRequest) -> float:
    return float(request.param)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def random_problem(
    profile: Profile,
    p: float,
    *,
    generator: torch.Generator,
    n: int = 20,
    m: int = 6,
    d: int = 2,
    tau: float = 1.2,
    box: tuple[float, float] | None = None,
) -> Problem:
    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    x = normal(n, d)
    radii = tau * torch.rand(n, generator=generator, dtype=torch.float64)
    if box is not None:
        x = x.clamp(*box)
    return Problem(normal(m, d), normal(m), normal(n, m), normal(n), x, Ball(p, radii, box), profile)


def _benchmark(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"karat_benchmark_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def soundness() -> ModuleType:
    """The soundness suite of the benchmarks, run here at a small size."""
    return _benchmark("soundness")


@pytest.fixture(scope="session")
def disguises() -> ModuleType:
    """Its models that are not what their layers say, and those at degenerate scales."""
    return _benchmark("disguises")


@pytest.fixture
def make_problem(generator: torch.Generator):
    """Random problems: make_problem(profile, p, n=..., m=..., d=..., tau=..., box=...)."""

    def make(profile: Profile | str, p: float, **sizes) -> Problem:
        chosen = PROFILES[profile] if isinstance(profile, str) else profile
        return random_problem(chosen, p, generator=generator, **sizes)

    return make
