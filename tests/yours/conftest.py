"""Architectures that karat did not write, each with inputs it takes."""

import pytest
import torch
from torch import Tensor, nn


class Perceptron(nn.Module):
    """A plain MLP on vectors with one score."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 10), nn.ReLU(), nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Vgg(nn.Module):
    """Convolutions, max pooling, a dense head with dropout; three logits."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        )  # fmt: skip
        self.head = nn.Sequential(
            nn.Flatten(), nn.Linear(8 * 9, 12), nn.ReLU(), nn.Dropout(0.5), nn.Linear(12, 3)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


class Residual(nn.Module):
    """A residual net with batch norm and function calls for rectifiers; two logits."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.first, self.norm1 = nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.second, self.norm2 = nn.Conv2d(6, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.stem(x)))
        y = nn.functional.relu(self.norm1(self.first(x)))
        x = (x + self.norm2(self.second(y))).relu()
        return self.head(x.mean(dim=(2, 3)))


class Transformer(nn.Module):
    """A tiny vision transformer that returns its logits and its tokens; three logits."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.place = nn.Parameter(0.1 * torch.randn(1, 9, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        tokens = self.encoder(self.patches(x).flatten(2).transpose(1, 2) + self.place)
        return self.head(tokens.mean(dim=1)), tokens


SHAPES = {Perceptron: (12,), Vgg: (3, 12, 12), Residual: (3, 12, 12), Transformer: (3, 12, 12)}
OUTPUTS = {Perceptron: 1, Vgg: 3, Residual: 2, Transformer: 3}


def make(kind, seed):
    """A net with its weights drawn from a seed; the global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind()


def near(net, size, seed=5):
    """A copy whose weights have moved by a share of their length, buffers unchanged."""
    other = type(net)()
    other.load_state_dict(net.state_dict())
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in other.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter += size * parameter.norm() * noise / noise.norm()
    return other


def inputs(kind, n=30, seed=3):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, *SHAPES[kind], generator=generator)
    outputs = OUTPUTS[kind]
    y = torch.arange(n) % max(outputs, 2)
    return x, (2.0 * y - 1 if outputs == 1 else y)


@pytest.fixture
def outside():
    """The kinds of nets, and how to make them, move them and feed them."""

    class Outside:
        perceptron, vgg, residual, transformer = Perceptron, Vgg, Residual, Transformer
        kinds = (Perceptron, Vgg, Residual, Transformer)

    Outside.make, Outside.near, Outside.inputs = staticmethod(make), staticmethod(near), staticmethod(inputs)
    return Outside
