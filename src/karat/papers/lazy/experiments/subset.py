"""Which neurons switch is the adversary's choice: the worst subset of them against the printed bound."""

import math
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor

from karat.core.ranges import Inside, NonNegative, Positive, settings
from karat.papers.lazy.bounds import subset_bound, subset_limit
from karat.probes.weight_adversary import worst_subset
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class SubsetConfig:
    """Settings of one draw of the neurons that can switch.

    Args:
        d: input dimension.
        m: width.
        C0: radius of the ball times sqrt m.
        p_fail: of the printed bound.
        reach: control: neurons this many times farther from their kink than C0/sqrt m switch as well.
    """

    d: Annotated[int, Ge(2)]
    m: Annotated[int, Ge(2)]
    C0: Positive = 10.0
    p_fail: Inside = 0.1
    reach: NonNegative = 1.0


@dataclass(frozen=True, kw_only=True)
class SubsetResult:
    """The worst subset found, beside what the paper prints.

    Args:
        can_switch: how many neurons lie within the radius of their kink.
        subset: norm of the worst subset's sum over sqrt m, a lower bound on the maximum.
        ceiling: an upper bound on the maximum, from the spectral norm.
        bound: the printed bound on it.
        limit: C0/pi, what it tends to as m grows.
    """

    can_switch: int
    subset: float
    ceiling: float
    bound: float
    limit: float


def subset_ceiling(rows: Tensor) -> float:
    r"""Return an upper bound on the norm of the sum of any subset of the rows.

    The indicator of a subset is half of all ones and half of a sign vector, so that

    .. math:: \Big\| \sum_{s \in S} r_s \Big\| \le
        \tfrac12 \Big\| \sum_s r_s \Big\| + \tfrac12 \sqrt k \, \|(r_1, \dots, r_k)\|_{\mathrm{op}}.

    Args:
        rows: (k, d), one vector per neuron that can switch.
    """
    if len(rows) == 0:
        return 0.0
    precise = rows.double()
    squared = float(torch.linalg.eigvalsh(precise.T @ precise)[-1])
    total = float(torch.linalg.vector_norm(precise.sum(dim=0)))
    return (total + math.sqrt(len(rows) * squared)) / 2


def run(config: SubsetConfig, generator: torch.Generator) -> SubsetResult:
    r"""Draw the rows that can switch and look for their worst subset.

    A neuron can switch if :math:`|\langle w, x \rangle| \le C_0/\sqrt m`. The number of such neurons is
    binomial; given that, their rows across x are :math:`N(0, I_{d-1})` and their signs fair. So only they are
    drawn, and widths far beyond memory cost no more than about :math:`\sqrt m` rows.

    Ref: lazy, Eq 7
    """
    # P(|g| <= V) for the standard normal g = <w, x>.
    share = math.erf(config.reach * config.C0 / math.sqrt(2 * config.m))
    count = int(torch.binomial(torch.tensor(float(config.m)), torch.tensor(share), generator=generator))
    rows = torch.randn(count, config.d - 1, generator=generator)
    signs = torch.randint(0, 2, (count, 1), generator=generator).float() * 2 - 1
    return SubsetResult(
        can_switch=count,
        subset=worst_subset(signs * rows) / math.sqrt(config.m),
        ceiling=subset_ceiling(signs * rows) / math.sqrt(config.m),
        bound=subset_bound(config.d, config.m, config.C0, config.p_fail),
        limit=subset_limit(config.C0),
    )


SUBSET = Experiment(
    name="lazy.subset",
    title="Does the printed bound on switched neurons survive an adversary that chooses which ones switch?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=SubsetConfig(d=20, m=1000), grid={"m": (1000, 10_000, 100_000)}, seeds=2, cell_seconds=0.05
        ),
        "quick": Preset(
            config=SubsetConfig(d=100, m=1000),
            grid={"m": (1000, 10_000, 40_000, 1_000_000, 20_000_000)},
            seeds=3,
            cell_seconds=0.1,
        ),
        "full": Preset(
            config=SubsetConfig(d=784, m=1000),
            grid={"d": (100, 784), "m": (1000, 10_000, 100_000, 10**6, 10**7, 10**8, 10**9)},
            seeds=10,
            cell_seconds=5,
        ),
    },
    run=run,
)
