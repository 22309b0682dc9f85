"""How the empirical tangent kernel of any torch module changes between two sets of weights."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from karat.core.checks import require_integer, require_shape

MOST_DIRECTIONS = 10


@dataclass(frozen=True)
class KernelDrift:
    r"""Two kernels K and L compared on the same inputs, in the Frobenius norm.

    Args:
        alignment: :math:`\langle K, L \rangle / (\|K\| \|L\|)`, 1 for equal directions.
        centred: the same after removing means, which takes out what all inputs share.
        change: :math:`\|L - K\| / \|K\|`.
    """

    alignment: float
    centred: float
    change: float


def empirical_kernel(model: nn.Module, x: Tensor, directions: Tensor) -> Tensor:
    r"""(n, n) empirical neural tangent kernel, summed over output directions.

    .. math:: K_{ij} = \sum_v \big\langle \nabla_\theta \langle v, f(x_i) \rangle,\,
              \nabla_\theta \langle v, f(x_j) \rangle \big\rangle

    With the unit vectors as directions this is the trace kernel; with c random sign vectors it estimates the
    trace kernel c times, without bias.

    Args:
        model: returns (n,), (n, 1) or (n, outputs); its mode is left alone, so call `.eval()` first.
        x: (n, ...).
        directions: (c, outputs).

    Reading: gradients are taken one input and direction after the other, by plain autograd: slower than a
        vectorised Jacobian, and correct for every module that trains. Buffers such as running means do not
        count as parameters.
    """
    require_shape(directions, "directions", (None, None))
    parameters = [p for p in model.parameters() if p.is_floating_point()]
    flags = [p.requires_grad for p in parameters]
    kernel = torch.zeros(len(x), len(x), dtype=torch.float64)
    try:
        for parameter in parameters:
            parameter.requires_grad_(True)
        for v in directions:
            rows = torch.stack([_gradient(model, sample, v, parameters) for sample in x])
            kernel += (rows @ rows.T).double()
    finally:
        for parameter, flag in zip(parameters, flags, strict=True):
            parameter.requires_grad_(flag)
    return kernel


def output_directions(outputs: int, *, generator: torch.Generator, most: int = MOST_DIRECTIONS) -> Tensor:
    """The unit vectors where there are few outputs, random sign vectors else.

    Args:
        outputs: of the net.
        generator: of the signs.
        most: directions.
    """
    require_integer(outputs, "outputs", "output_directions", minimum=1)
    if outputs <= most:
        return torch.eye(outputs)
    return 2.0 * torch.randint(0, 2, (most, outputs), generator=generator) - 1


def compare_kernels(K: Tensor, L: Tensor) -> KernelDrift:
    """Alignment and change of two kernels on the same inputs.

    >>> compare_kernels(torch.eye(4).double(), 2 * torch.eye(4).double())
    KernelDrift(alignment=1.0, centred=1.0, change=1.0)
    """
    require_shape(L, "L", tuple(K.shape))
    return KernelDrift(
        alignment=_cosine(K, L),
        centred=_cosine(_centre(K), _centre(L)),
        change=float(torch.linalg.norm(L - K) / torch.linalg.norm(K)),
    )


def affordable_samples(model: nn.Module, samples: int, numbers: int = 40_000_000) -> int:
    """How many inputs keep the table of gradients small; at least 4.

    Args:
        model: a gradient has as many entries as it has parameters.
        samples: inputs at most.
        numbers: entries of the table at most.
    """
    size = sum(p.numel() for p in model.parameters())
    return max(min(4, samples), min(samples, numbers // max(size, 1)))


def _gradient(model: nn.Module, sample: Tensor, v: Tensor, parameters: list[nn.Parameter]) -> Tensor:
    with torch.enable_grad():
        value = (model(sample.unsqueeze(0)).reshape(-1) * v.to(sample)).sum()
        gradients = torch.autograd.grad(value, parameters, allow_unused=True, materialize_grads=True)
    return torch.cat([gradient.reshape(-1) for gradient in gradients])


def _centre(K: Tensor) -> Tensor:
    return K - K.mean(dim=0, keepdim=True) - K.mean(dim=1, keepdim=True) + K.mean()


def _cosine(K: Tensor, L: Tensor) -> float:
    size = float(torch.linalg.norm(K) * torch.linalg.norm(L))
    return min(1.0, max(-1.0, float((K * L).sum()) / size)) if size > 0 else math.nan
