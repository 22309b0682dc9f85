"""Feature pictures: the input that excites one neuron most, by gradient ascent, for any torch module."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from karat.core.ranges import Count, NonNegative, Positive, Share, checked
from karat.nets.hooks import watching
from karat.nets.modes import still


@dataclass(frozen=True, kw_only=True)
@checked
class InputAscent:
    r"""Gradient ascent on the input, pulled towards a uniform colour.

    .. math:: u \leftarrow
              \operatorname{clip}\big(u + \text{step} \cdot g - \text{decay} \cdot (u - \text{grey})\big),

    where g is the gradient of the neuron's pre-activation in u.

    Args:
        steps: of ascent.
        step: their l2 length if `normalised`, else the factor of the raw gradient.
        decay: pull to grey per step.
        grey: value of all channels.
        normalised: divide every gradient by its l2 norm.
        noise: of the random first image around grey.
        clip: keep pixels in [0, 1].

    Reading: the paper (footnote 16) has 2000 steps, a random start, a weight decay towards RGB 128 (0 for
        Figure 6) and no step size. `paper` takes raw gradients; the default's normalised steps need no
        tuning.

    Ref: purification, Fig 10
    """

    steps: Count = 300
    step: Positive = 0.1
    decay: Share = 0.01
    grey: Share = 0.5
    normalised: bool = True
    noise: NonNegative = 0.1
    clip: bool = True

    @classmethod
    def paper(cls, *, step: float = 1.0, grey: float = 128 / 255) -> "InputAscent":
        """The settings of footnote 16; `grey=0` for those of Figure 6."""
        return cls(steps=2000, step=step, decay=0.01, grey=grey, normalised=False, noise=0.25)

    def run(
        self,
        module: nn.Module,
        layer: str,
        channels: Sequence[int],
        shape: tuple[int, ...],
        *,
        generator: torch.Generator,
    ) -> Tensor:
        """One picture per channel of a layer, (len(channels), *shape); the module stays as it is.

        The neuron is the channel's middle place in a convolution (n, C, H, W), the middle token in a
        transformer (n, tokens, units), the unit itself in a dense layer (n, units).

        Args:
            module: any module.
            layer: name in `module.named_modules()`.
            channels: indices of the neurons.
            shape: of one input.
            generator: for the first images, the same for every channel.
        """
        first = self.grey + self.noise * torch.randn(shape, generator=generator)
        u = first.expand(len(channels), *shape).clone()
        picked = torch.tensor(list(channels))
        with still(module), _output_of(module, layer) as outputs:
            for _ in range(self.steps):
                leaf = (u.clamp(0, 1) if self.clip else u).requires_grad_(True)
                module(leaf)
                value = _neurons(outputs.pop(), picked, layer)
                outputs.clear()
                (gradient,) = torch.autograd.grad(value.sum(), leaf)
                u = self._moved(leaf.detach(), gradient)
        return u.clamp(0, 1) if self.clip else u

    def _moved(self, u: Tensor, gradient: Tensor) -> Tensor:
        if self.normalised:
            size = gradient.flatten(1).norm(dim=1)
            shape = (-1,) + (1,) * (gradient.dim() - 1)
            gradient = gradient / size.clamp_min(1e-20).reshape(shape)
        return u + self.step * gradient - self.decay * (u - self.grey)


def _neurons(output: Any, channels: Tensor, layer: str) -> Tensor:
    """(n,) the middle neuron of channel i for input i."""
    if not isinstance(output, Tensor) or output.dim() not in (2, 3, 4):
        raise TypeError(f"the layer `{layer}` must give one tensor of 2 to 4 axes to be pictured.")
    rows = torch.arange(len(channels))
    size = output.shape[2] if output.dim() == 3 else output.shape[1]
    if int(channels.max()) >= size or int(channels.min()) < 0:
        raise ValueError(f"channels of `{layer}` must lie in 0..{size - 1}, got {channels.tolist()}.")
    if output.dim() == 4:
        return output[rows, channels, output.shape[2] // 2, output.shape[3] // 2]
    if output.dim() == 3:
        return output[rows, output.shape[1] // 2, channels]
    return output[rows, channels]


@contextmanager
def _output_of(module: nn.Module, layer: str) -> Iterator[list[Any]]:
    parts = dict(module.named_modules())
    if not layer or layer not in parts:
        listed = ", ".join(name for name in parts if name)
        raise ValueError(f"there is no layer `{layer}`; the layers are {listed}.")
    outputs: list[Any] = []

    def keep(name: str, output: Any) -> None:
        # A copy: a rectifier in place would overwrite the pre-activations.
        outputs.append(output.clone() if isinstance(output, Tensor) else output)

    with watching(module, {layer}, after=keep):
        yield outputs
