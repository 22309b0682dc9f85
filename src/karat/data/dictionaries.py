"""Dictionaries M (d, D): columns are the features that the data is made of."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from karat.core.checks import require_choice, require_integer


def identity(d: int) -> Tensor:
    """The dictionary whose features are the coordinates."""
    require_integer(d, "d", "identity", minimum=1)
    return torch.eye(d, dtype=torch.float64)


def unitary(d: int, *, generator: torch.Generator) -> Tensor:
    """A (d, d) orthogonal matrix from the uniform (Haar) law."""
    return orthonormal(d, d, generator=generator)


def orthonormal(d: int, D: int, *, generator: torch.Generator) -> Tensor:
    r"""At most d orthonormal columns, uniformly oriented: :math:`M^\top M = I`.

    Args:
        d: rows.
        D: columns.
        generator: of the draw.

    >>> M = orthonormal(5, 3, generator=torch.Generator().manual_seed(0))
    >>> torch.allclose(M.T @ M, torch.eye(3, dtype=torch.float64))
    True
    """
    require_integer(d, "d", "orthonormal", minimum=1)
    require_integer(D, "D", "orthonormal", minimum=1)
    if d < D:
        raise ValueError(f"`D` of `orthonormal` must be at most `d` = {d}, got {D}.")
    Q, R = torch.linalg.qr(torch.randn(d, D, generator=generator, dtype=torch.float64))
    # Fixing the signs of R makes the factorisation unique, hence Q uniform.
    return Q * torch.where(R.diagonal() < 0, -1.0, 1.0)


def hadamard(d: int) -> Tensor:
    r"""Sylvester's orthogonal matrix with all entries :math:`\pm 1 / \sqrt d`; d is a power of two.

    >>> hadamard(2) * 2**0.5
    tensor([[ 1.,  1.],
            [ 1., -1.]], dtype=torch.float64)
    """
    require_size("hadamard", d, "hadamard")
    M = torch.ones(1, 1, dtype=torch.float64)
    block = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    for _ in range(d.bit_length() - 1):  # log2(d) doublings
        M = torch.kron(M, block)
    return M / math.sqrt(d)


def require_size(dictionary: str, d: int, owner: str) -> None:
    """Refuse a dimension at which there is no such dictionary.

    Args:
        dictionary: name of the kind.
        d: dimension.
        owner: of d, for the message.

    >>> require_size("hadamard", 12, "purification.l2")
    Traceback (most recent call last):
    ...
    ValueError: `d` of `purification.l2` must be a power of two such as 8 or 16 for hadamard, got 12.
    """
    require_integer(d, "d", owner, minimum=1)
    if dictionary == "hadamard" and d & (d - 1):
        lower = 1 << (d.bit_length() - 1)
        rule = f"a power of two such as {lower} or {2 * lower}"
        whose = "" if owner == dictionary else f" for {dictionary}"
        raise ValueError(f"`d` of `{owner}` must be {rule}{whose}, got {d}.")


def incoherent(d: int, D: int, *, generator: torch.Generator) -> Tensor:
    """Unit columns drawn uniformly on the sphere; `coherence` says how close to orthogonal they are.

    Args:
        d: rows.
        D: columns, also more than d.
        generator: of the draw.
    """
    require_integer(d, "d", "incoherent", minimum=1)
    require_integer(D, "D", "incoherent", minimum=1)
    columns = torch.randn(d, D, generator=generator, dtype=torch.float64)
    return columns / torch.linalg.vector_norm(columns, dim=0)


def coherence(M: Tensor) -> float:
    r"""Largest :math:`|\langle M_i, M_j \rangle|` over pairs of different columns.

    A mu-incoherent dictionary has it at most :math:`\mu / \sqrt d`.

    >>> coherence(hadamard(8)) < 1e-15
    True

    Ref: features, App F
    """
    gram = M.T @ M
    gram.fill_diagonal_(0)
    return float(gram.abs().max())


def _square(name: str, d: int, D: int) -> None:
    if d != D:
        raise ValueError(f"`D` of the {name} dictionary must equal `d` = {d}, got {D}.")


def _identity(d: int, D: int, generator: torch.Generator) -> Tensor:
    _square("identity", d, D)
    return identity(d)


def _unitary(d: int, D: int, generator: torch.Generator) -> Tensor:
    _square("unitary", d, D)
    return unitary(d, generator=generator)


def _orthonormal(d: int, D: int, generator: torch.Generator) -> Tensor:
    return orthonormal(d, D, generator=generator)


def _hadamard(d: int, D: int, generator: torch.Generator) -> Tensor:
    _square("hadamard", d, D)
    return hadamard(d)


def _incoherent(d: int, D: int, generator: torch.Generator) -> Tensor:
    return incoherent(d, D, generator=generator)


DICTIONARIES: dict[str, Callable[[int, int, torch.Generator], Tensor]] = {
    "identity": _identity,
    "unitary": _unitary,
    "orthonormal": _orthonormal,
    "hadamard": _hadamard,
    "incoherent": _incoherent,
}


def draw_dictionary(kind: str, d: int, D: int, *, generator: torch.Generator) -> Tensor:
    """Build the dictionary of a name.

    Args:
        kind: one of the keys of `DICTIONARIES`.
        d: rows.
        D: columns.
        generator: of those that are drawn.
    """
    require_choice(kind, "dictionary", "draw_dictionary", list(DICTIONARIES))
    return DICTIONARIES[kind](d, D, generator)


def is_identity(M: Tensor) -> bool:
    """Whether M is exactly the identity, so that multiplying by it can be skipped."""
    return M.shape[0] == M.shape[1] and torch.equal(M, torch.eye(len(M), dtype=M.dtype))
