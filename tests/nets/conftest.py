from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from karat.core import ACTIVATIONS
from karat.core.activations import Activation
from karat.nets import Deep, Linear, Net, OddTwoLayer, TwoLayer

# Settings of the activations that need some.
KNOBS: dict[str, dict[str, float]] = {
    "leaky_relu": {"slope": 0.2},
    "smooth_leaky_relu": {"slope": 0.2, "smoothness": 1.5},
    "smoothed_relu": {"sigma": 0.5},
    "smoothed_truncated_relu": {"sigma": 0.5},
}

D, M = 4, 6


@dataclass(frozen=True)
class Case:
    """A way to build one net of NETS: a row of the contract suite."""

    net: str
    build: Callable[[Callable[..., Tensor], Activation], Net]
    uses_activation: bool = True


def _deep(randn: Callable[..., Tensor], activation: Activation) -> Net:
    layers = (randn(M, M) / 2, randn(M, M) / 2)
    return Deep(randn(M, D) / 2, layers, randn(M), activation)


CASES = {
    "linear": Case("linear", lambda randn, _: Linear(randn(D)), uses_activation=False),
    "linear_offset": Case("linear", lambda randn, _: Linear(randn(D), randn()), uses_activation=False),
    "two_layer": Case(
        "two_layer",
        lambda randn, phi: TwoLayer(randn(M, D), randn(M), randn(M), randn(), phi, scale=0.7),
    ),
    "two_layer_no_bias": Case(
        "two_layer", lambda randn, phi: TwoLayer(randn(M, D), randn(M), activation=phi, scale=M**-0.5)
    ),
    "odd_two_layer": Case(
        "odd_two_layer", lambda randn, _: OddTwoLayer(randn(M, D), -randn().abs()), uses_activation=False
    ),
    "odd_two_layer_noise": Case(
        "odd_two_layer", lambda randn, _: OddTwoLayer(randn(M, D), -randn().abs(), 0.6), uses_activation=False
    ),
    "deep": Case("deep", _deep),
}


def activation_named(name: str) -> Activation:
    return ACTIVATIONS[name](**KNOBS.get(name, {}))


def _pairs() -> list[tuple[str, str]]:
    return [
        (case, name)
        for case, row in CASES.items()
        for name in (ACTIVATIONS if row.uses_activation else ("relu",))
    ]


@pytest.fixture(params=_pairs(), ids=lambda pair: "-".join(pair))
def make_net(request) -> Callable[..., Net]:
    """Build the case's net, always the same one, in the dtype asked for."""
    case, name = request.param

    def build(dtype: torch.dtype = torch.float64) -> Net:
        generator = torch.Generator().manual_seed(5)

        def randn(*shape: int) -> Tensor:
            return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

        return CASES[case].build(randn, activation_named(name))

    return build


@pytest.fixture
def cases() -> dict[str, Case]:
    return CASES


@pytest.fixture
def activation() -> Callable[[str], Activation]:
    return activation_named


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture
def x(generator) -> Tensor:
    return torch.randn(7, D, generator=generator, dtype=torch.float64)


@pytest.fixture
def y() -> Tensor:
    return torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0], dtype=torch.float64)
