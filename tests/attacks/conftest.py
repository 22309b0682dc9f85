"""Small classifiers that know only the Classifier protocol and, for one of them, its line."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from karat.core import Activation, Line, Relu


@dataclass(frozen=True, eq=False)
class Hidden:
    """margin = y (sum_s a_s phi(<w_s, x> + b_s) + c), without a line."""

    W: Tensor
    a: Tensor
    b: Tensor
    c: Tensor
    activation: Activation = Relu()  # noqa: RUF009

    def hidden(self, x):
        return x.flatten(1) @ self.W.T + self.b

    def margin(self, x, y):
        return y.to(x.dtype) * (self.activation(self.hidden(x)) @ self.a + self.c)

    def margin_and_gradient(self, x, y):
        z, sign = self.hidden(x), y.to(x.dtype)
        gradient = (self.activation.derivative(z) * self.a * sign.unsqueeze(1)) @ self.W
        return sign * (self.activation(z) @ self.a + self.c), gradient.reshape(x.shape)


@dataclass(frozen=True, eq=False)
class TwoLayer(Hidden):
    """The same with its line."""

    def line(self, x, direction, y):
        speed = direction.flatten(1) @ self.W.T
        return Line(self.hidden(x), speed, self.a, self.c, y.to(x.dtype), self.activation)


@dataclass(frozen=True, eq=False)
class Linear:
    """margin = y (<w, x> + c); the gradient is a broadcast view, so writing into it would show."""

    w: Tensor
    c: float = 0.0

    def margin(self, x, y):
        return y.to(x.dtype) * (x.flatten(1) @ self.w + self.c)

    def margin_and_gradient(self, x, y):
        return self.margin(x, y), y.to(x.dtype).unsqueeze(1) * self.w.expand(len(x), -1)


@dataclass(frozen=True, eq=False)
class Constant:
    """The same margin everywhere, gradient zero."""

    value: float

    def margin(self, x, y):
        return x.new_full((len(x),), self.value)

    def margin_and_gradient(self, x, y):
        return self.margin(x, y), torch.zeros_like(x)


def random_two_layer(seed=0, *, m=15, d=6, dtype=torch.float64, activation=None, kind=TwoLayer, c=0.0):
    generator = torch.Generator().manual_seed(seed)
    W, a, b = (torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((m, d), (m,), (m,)))
    tensors = (W.to(dtype), (a / m**0.5).to(dtype), b.to(dtype), torch.tensor(c, dtype=dtype))
    return kind(*tensors, Relu() if activation is None else activation)


def points(n, d, *, seed=1, dtype=torch.float64, classifier=None):
    """Gaussian points labelled by the classifier, so that every clean margin is positive; or at random."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype)
    if classifier is None:
        return x, torch.randint(0, 2, (n,), generator=generator).to(dtype) * 2 - 1
    f = classifier.margin(x, torch.ones(n, dtype=dtype))
    return x, torch.where(f > 0, 1.0, -1.0).to(dtype)


@pytest.fixture(scope="session")
def lab():
    """The stand-ins by name."""
    return SimpleNamespace(
        TwoLayer=TwoLayer,
        Hidden=Hidden,
        Linear=Linear,
        Constant=Constant,
        random_two_layer=random_two_layer,
        points=points,
    )
