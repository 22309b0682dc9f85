"""Symmetric tensors of the kernel's lower bound: their smallest norms and largest values."""

import itertools
import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor

from karat.core.ranges import Count, settings
from karat.papers.purification.experiments.draws import split
from karat.study.experiment import Experiment, Preset

RADII = (1.0, 0.1, 0.01)
"""Radii tau of the box."""
ORDER = 4
"""Dimension of the cube whose vertices are enumerated."""


@dataclass(frozen=True, kw_only=True)
@settings
class TensorsConfig:
    r"""Tensors of degree r + 1 from m = d vectors.

    Args:
        d: dimension.
        power: r, at least 3 for m = d.
        copies: m/d.
        shape: of the random tensor, "symmetric" or "skew" in its first two places.
    """

    d: Annotated[Count, Ge(2), Le(40)]
    power: Count = 3
    copies: Count = 1
    shape: Literal["symmetric", "skew"] = "symmetric"


@dataclass(frozen=True, kw_only=True)
class TensorsResult:
    r"""Norms.

    Args:
        smallest: :math:`\min_v \|T_{r+1}\|_F / \max_i \|v_i\|` over all vectors v, exact.
        axis: :math:`\lambda/\|T\|_F` of :math:`T = e_1^{\otimes r}` at the radii, for
            :math:`w_i = \sqrt d e_i` and :math:`q = \sqrt d`, exact.
        several: largest :math:`|T(x_1, x_2, x_3)|` over the cube, exact.
        one: largest :math:`|T(x, x, x)|` found in it.
    """

    smallest: float
    axis: list[float]
    several: float
    one: float


def run(config: TensorsConfig, generator: torch.Generator) -> TensorsResult:
    """Draw the vectors and a tensor."""
    for_vectors, for_tensor = split(generator, 2)
    w = torch.randn(config.copies * config.d, config.d, generator=for_vectors, dtype=torch.float64)
    several, one = _cube_values(_tensor(config.shape, for_tensor))
    # M_W(delta) <= tau sqrt(q) says |delta_i| <= tau sqrt(q/d): the box shrinks, and T takes the corner.
    side = math.sqrt(math.sqrt(config.d) / config.d)
    return TensorsResult(
        smallest=smallest_norm(w, config.power),
        axis=[(tau * side) ** config.power for tau in RADII],
        several=several,
        one=one,
    )


def smallest_norm(w: Tensor, power: int) -> float:
    r"""Smallest Frobenius norm of the tensor of the lemma among all v with :math:`\max_i \|v_i\| = 1`.

    .. math:: T(x^{\otimes r + 1}) = \sum_i \langle v_i, x \rangle (\langle w_i, x \rangle/\|w_i\|)^r

    The squared norm is a quadratic form in all v; with one v_j fixed its minimum over the others is a Schur
    complement, the inverse of a block of the inverse.

    .. math:: \langle v_i \otimes u_i^r, v_j \otimes u_j^r \rangle_{sym} = \frac{\langle v_i, v_j \rangle
        c^r + r\, c^{r-1} \langle v_i, u_j \rangle \langle u_i, v_j \rangle}{r + 1}, \qquad
        c = \langle u_i, u_j \rangle

    Args:
        w: (m, d) vectors.
        power: r.

    Reading: the other v are not held below 1, which can only make the minimum smaller.

    Ref: purification, Lem G.4
    """
    form = gram(w, power)
    m, d = w.shape
    inverse = torch.linalg.pinv(form, hermitian=True)
    if float(torch.linalg.eigvalsh(form)[0]) < 1e-12:
        return 0.0
    blocks = torch.stack([inverse[j * d : (j + 1) * d, j * d : (j + 1) * d] for j in range(m)])
    return float(1 / torch.linalg.eigvalsh(blocks).max().sqrt())


def gram(w: Tensor, power: int) -> Tensor:
    """The quadratic form of the squared norm in v_1, ..., v_m, (m d, m d).

    Args:
        w: (m, d) vectors.
        power: r.
    """
    u = w / torch.linalg.vector_norm(w, dim=1, keepdim=True)
    m, d = u.shape
    c = u @ u.T
    first = c.pow(power)[:, None, :, None] * torch.eye(d, dtype=u.dtype)[None, :, None, :]
    second = power * c.pow(power - 1)[:, None, :, None] * u[None, :, :].permute(0, 2, 1).unsqueeze(-1)
    second = second * u[:, None, None, :]
    return ((first + second) / (power + 1)).reshape(m * d, m * d)


def _tensor(shape: str, generator: torch.Generator) -> Tensor:
    T = torch.randn(ORDER, ORDER, ORDER, generator=generator, dtype=torch.float64)
    if shape == "skew":
        return T - T.transpose(0, 1)
    return torch.stack([T.permute(p) for p in itertools.permutations(range(3))]).mean(dim=0)


def _cube_values(T: Tensor) -> tuple[float, float]:
    """Largest value at three points of the cube [-1, 1]^n, and at one of the points that polarise it."""
    corners = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=ORDER)), dtype=T.dtype)
    partial = torch.einsum("ijk,ai,bj->abk", T, corners, corners)
    values = partial.abs().sum(dim=2)  # the best third point takes the signs
    best = divmod(int(values.argmax()), len(corners))
    x, y, z = corners[best[0]], corners[best[1]], partial[best].sign()
    signs = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=3)), dtype=T.dtype)
    tried = torch.cat([signs @ torch.stack([x, y, z]) / 3, corners])
    one = torch.einsum("ijk,ai,aj,ak->a", T, tried, tried, tried).abs().max()
    return float(values.max()), float(one)


TENSORS = Experiment(
    name="purification.tensors",
    title="How small can the kernel's tensors be, and how large their values?",
    paper="purification",
    presets={
        "tiny": Preset(config=TensorsConfig(d=4), grid={"d": (4, 6, 8)}, seeds=2, cell_seconds=0.05),
        "quick": Preset(config=TensorsConfig(d=5), grid={"d": (5, 8, 12, 18)}, seeds=6, cell_seconds=0.005),
        "full": Preset(
            config=TensorsConfig(d=5), grid={"d": (5, 8, 12, 18, 27, 40)}, seeds=10, cell_seconds=2
        ),
    },
    run=run,
)
