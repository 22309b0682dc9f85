"""How rough a picture is: energy of its differences, and what share of it is slow."""

import torch
from torch import Tensor

from karat.core.checks import require_number, require_shape


def centred(images: Tensor) -> Tensor:
    """Images (n, C, H, W) with mean zero in every channel."""
    return images - images.mean(dim=(2, 3), keepdim=True)


def roughness(images: Tensor) -> Tensor:
    r"""(n,) energy of the differences of neighbours over the energy of the image; 0 for a zero image.

    .. math:: \sum |\nabla u|^2 \,/\, \|u\|_2^2

    White noise has 4 - 2/H - 2/W in the mean, a constant image has 0. It says nothing about what is shown.

    Args:
        images: (n, C, H, W); centre them first where the mean colour carries no meaning.

    Ref: purification, Fig 1
    """
    require_shape(images, "images", (None, None, None, None))
    u = images.double()
    down = (u[:, :, 1:] - u[:, :, :-1]).square().sum(dim=(1, 2, 3))
    right = (u[:, :, :, 1:] - u[:, :, :, :-1]).square().sum(dim=(1, 2, 3))
    energy = u.square().sum(dim=(1, 2, 3))
    return torch.where(energy > 0, (down + right) / energy.clamp_min(1e-300), 0.0)


def low_frequency_share(images: Tensor, cutoff: float = 0.2) -> Tensor:
    """(n,) share of the energy in waves of fewer than `cutoff` cycles per pixel, the mean included.

    Args:
        images: (n, C, H, W).
        cutoff: radius in the plane of frequencies, at most sqrt(1/2).
    """
    require_shape(images, "images", (None, None, None, None))
    require_number(cutoff, "cutoff", "low_frequency_share", positive=True, maximum=0.7072)
    power = torch.fft.fft2(images.double()).abs().square().sum(dim=1)
    rows, columns = (torch.fft.fftfreq(size, dtype=torch.float64) for size in images.shape[2:])
    slow = torch.hypot(rows.unsqueeze(1), columns.unsqueeze(0)) < cutoff
    total = power.sum(dim=(1, 2))
    return torch.where(total > 0, (power * slow).sum(dim=(1, 2)) / total.clamp_min(1e-300), 0.0)
