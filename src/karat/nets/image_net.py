"""What image networks of any kind share: their input scale, and their convolutions by name, in order."""

from collections.abc import Iterator

from torch import Tensor, nn


def normalise(x: Tensor) -> Tensor:
    """(x - 1/2) / (1/4): pixels in [0, 1] to [-2, 2], inside the net so that attacks live in pixel units."""
    return (x - 0.5) / 0.25


def conv_layers(module: nn.Module) -> dict[str, nn.Conv2d]:
    """The convolutions larger than 1 x 1 by name, in the order in which they are registered.

    Reading: 1 x 1 projections of shortcuts see one pixel and are no features; papers do not count them.

    >>> list(conv_layers(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 1))))
    ['0']
    """
    return {
        name: part
        for name, part in module.named_modules()
        if isinstance(part, nn.Conv2d) and max(part.kernel_size) > 1
    }


def filters(layer: nn.Conv2d) -> Tensor:
    """(filters, fan in): one row of weights per filter, detached and copied.

    >>> filters(nn.Conv2d(3, 8, 5)).shape
    torch.Size([8, 75])
    """
    return layer.weight.detach().flatten(1).clone()


def layer_filters(module: nn.Module) -> dict[str, Tensor]:
    """The filters of every convolution by name."""
    return {name: filters(layer) for name, layer in conv_layers(module).items()}


def modules_before(module: nn.Module, layer: str) -> list[str]:
    """Names of the parts with weights or statistics of their own that are registered before a convolution.

    Reading: in the nets here registration follows the forward pass, so these are the layers below. A shortcut
        is registered after its block's convolutions and belongs to the upper ones; the norm in front of a
        pre-activation convolution belongs to the lower ones.
    """
    if layer not in conv_layers(module):
        listed = ", ".join(conv_layers(module))
        raise ValueError(f"there is no convolution {layer!r}; the convolutions are {listed}.")
    names = [name for name, part in module.named_modules() if next(_own_tensors(part), None) is not None]
    return names[: names.index(layer)]


def _own_tensors(part: nn.Module) -> Iterator[Tensor]:
    yield from part.parameters(recurse=False)
    yield from part.buffers(recurse=False)
