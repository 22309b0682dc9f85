"""The features of a first layer as a dictionary of images, with smooth controls and the targets to rebuild.

`karat.probes.lasso.lasso_path(as_targets(images), atoms)` gives the sparsity-error curve,
`karat.probes.span.span_error` its floor.
"""

import torch
from torch import Tensor, nn

from karat.core.checks import ShapeError, require_integer, require_shape


def filter_atoms(filters: Tensor, shape: tuple[int, ...], *, stride: int, padding: int) -> Tensor:
    """(D, d) filters (m, C, h, w) at every place of an image of this shape (C, H, W), each of unit length.

    Filters are cut at the border and then made unit: the columns of the convolution's transpose.

    Args:
        filters: (m, C, h, w) weights of a convolution.
        shape: (C, H, W) of an image.
        stride: of the convolution.
        padding: of the convolution.

    Ref: purification, Fig 12
    """
    require_shape(filters, "filters", (None, None, None, None))
    require_integer(stride, "stride", "filter_atoms", minimum=1)
    require_integer(padding, "padding", "filter_atoms", minimum=0)
    if len(shape) != 3 or shape[0] != filters.shape[1]:
        raise ShapeError(f"filters of shape {tuple(filters.shape)} do not fit images of shape {shape}.")
    channels, height, width = shape
    kernel = filters.shape[2:]
    rows = torch.arange(-padding, height + padding - kernel[0] + 1, stride).tolist()
    columns = torch.arange(-padding, width + padding - kernel[1] + 1, stride).tolist()
    canvas = filters.new_zeros(
        len(filters), len(rows), len(columns), channels, height + 2 * padding, width + 2 * padding
    )
    for i, top in enumerate(rows):
        for j, left in enumerate(columns):
            y, x = top + padding, left + padding
            canvas[:, i, j, :, y : y + kernel[0], x : x + kernel[1]] = filters
    inside = canvas[..., padding : padding + height, padding : padding + width]
    return torch.nn.functional.normalize(inside.reshape(-1, channels * height * width), dim=1)


def blurred(filters: Tensor, size: int = 3) -> Tensor:
    """Filters (m, C, h, w) averaged over size x size neighbours, means at the border over those inside.

    The control for smoothness: same features, no training.
    """
    require_integer(size, "size", "blurred", minimum=1)
    if size % 2 == 0:
        raise ValueError(f"`size` of `blurred` must be odd, got {size}.")
    return nn.functional.avg_pool2d(filters, size, 1, size // 2, count_include_pad=False)


def blurred_noise(like: Tensor, size: int = 5, *, generator: torch.Generator) -> Tensor:
    """White noise shaped like filters and averaged over neighbours: smooth features that know no data.

    Args:
        like: (m, C, h, w) filters.
        size: side of the square of neighbours, odd.
        generator: of the noise.
    """
    noise = torch.randn(like.shape, generator=generator).to(like)
    return blurred(noise, size)


def as_targets(images: Tensor) -> Tensor:
    """(n, d) images with mean zero in every channel, each as one row.

    Ref: purification, Fig 12
    """
    shifted = images - images.mean(dim=(2, 3), keepdim=True) if images.dim() == 4 else images
    return shifted.flatten(1)


def rescaled(delta: Tensor, images: Tensor) -> Tensor:
    """Perturbations with mean zero per channel and each with the standard deviation of its image.

    Ref: purification, Fig 12
    """
    require_shape(delta, "delta", tuple(images.shape))
    small, large = as_targets(delta), as_targets(images)
    ratio = large.norm(dim=1, keepdim=True) / small.norm(dim=1, keepdim=True).clamp_min(1e-30)
    return small * ratio
