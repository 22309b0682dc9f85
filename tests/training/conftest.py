from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from karat.nets import Linear, Net, OddTwoLayer, init


@dataclass
class Recorder:
    """An attack that moves nothing and notes the inputs it is shown."""

    seen: list[Tensor] = field(default_factory=list)

    def __call__(self, classifier, x, y, ball, *, generator=None) -> Tensor:
        self.seen.append(x)
        return torch.zeros_like(x)


def _odd(generator: torch.Generator) -> Net:
    W = torch.randn(6, 5, generator=generator, dtype=torch.float64) / 2
    return OddTwoLayer(W, torch.tensor(-0.2, dtype=torch.float64), sigma_rho=0.3)


BUILD: dict[str, Callable[[torch.Generator], Net]] = {
    "linear": lambda g: Linear(
        torch.randn(5, generator=g, dtype=torch.float64), torch.tensor(0.1, dtype=torch.float64)
    ),
    "two_layer": lambda g: init.pytorch_default(5, 16, generator=g),
    "odd_two_layer": _odd,
    "deep": lambda g: init.deep_gaussian(5, 8, 2, generator=g),
}


@pytest.fixture
def build() -> dict[str, Callable[[torch.Generator], Net]]:
    return BUILD


@pytest.fixture(params=BUILD)
def net(request) -> Net:
    """One net of every kind."""
    return BUILD[request.param](torch.Generator().manual_seed(3))


@pytest.fixture
def two_layer() -> Net:
    return BUILD["two_layer"](torch.Generator().manual_seed(3))


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def data() -> tuple[Tensor, Tensor]:
    """Twelve samples that the first coordinate separates."""
    x = torch.randn(12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(6)
    x[:, 0] = y * (1 + x[:, 0].abs())
    return x, y


@pytest.fixture
def same() -> Callable[[Net, Net], bool]:
    """Whether two nets hold the same bits."""

    def equal(first: Net, second: Net) -> bool:
        pairs = zip(first.parameters().values(), second.parameters().values(), strict=True)
        return all(torch.equal(a, b) for a, b in pairs)

    return equal
