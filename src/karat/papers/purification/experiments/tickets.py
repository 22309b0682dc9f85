"""Lottery tickets at the start: how many neurons lean on one feature more than usual, over the dimension."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor

from karat.core.checks import require_number
from karat.core.ranges import settings
from karat.papers.purification.bounds import GAMMA, ticket_counts
from karat.papers.purification.experiments.draws import split
from karat.probes.lottery import TicketRule, tickets
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class TicketsConfig:
    """Random rows in the dictionary's basis.

    Args:
        d: number of features.
        width: pairs of neurons over d.
        rows: "gaussian", or "signs" of which every coefficient has the same size.
    """

    d: Annotated[int, Ge(2)]
    width: Annotated[float, Le(1e6)] = 6.0
    rows: Literal["gaussian", "signs"] = "gaussian"

    def __post_init__(self) -> None:
        # More neurons than features: c0 > 0.
        require_number(self.width, "width", type(self).__name__, minimum=1 + 1 / self.d)

    @property
    def m(self) -> int:
        """Number of pairs of neurons."""
        return max(1, round(self.width * self.d))

    @property
    def c0(self) -> float:
        """The exponent of the width, from m = d^(1 + c0)."""
        return math.log(self.m) / math.log(self.d) - 1


@dataclass(frozen=True, kw_only=True)
class StartCounts:
    """Counts of Lemma B.2 at the start, and the three fractions of Section 6.1.

    Args:
        start_sure: mean number of sure winners per feature.
        start_sure_least: smallest number of them.
        start_potential: mean number of potential winners per feature.
        start_potential_most: largest number of them.
        start_per_neuron_most: most features of which one neuron is a potential winner.
        predicted_sure: expected number of sure winners per feature, from Gaussian tails.
        predicted_potential: expected number of potential ones.
        ordinary_share: neurons with no coefficient above sqrt(2 log d) init_scale.
        lucky_share: with one above sqrt(2.01 log d) init_scale.
        surely_lucky_share: with exactly one above that, and it above sqrt(2.02 log d) init_scale.
    """

    start_sure: float
    start_sure_least: int
    start_potential: float
    start_potential_most: int
    start_per_neuron_most: int
    predicted_sure: float
    predicted_potential: float
    ordinary_share: float
    lucky_share: float
    surely_lucky_share: float


def start_counts(first: Tensor, w_star: Tensor, init_scale: float, rule: TicketRule) -> StartCounts:
    """Count the tickets of a start.

    Args:
        first: (m, d) coefficients of the rows in the dictionary.
        w_star: (d,) label vector.
        init_scale: standard deviation of the coefficients.
        rule: levels of the sets.

    Ref: purification, Lemma B.2; purification, Sec 6.1
    """
    # The lemma's sigma_w is sigma_0 at the start, whatever the first threshold of the run.
    level = math.sqrt(rule.c1 * math.log(rule.d)) * init_scale
    sets = tickets(first, w_star, level, rule)
    counts = ticket_counts(rule.d, len(first), rule.c0, rule.gamma)
    unit = first.square() / (init_scale**2 * math.log(rule.d))
    alone = ((unit >= 2.02).sum(dim=1) == 1) & ((unit > 2.01).sum(dim=1) == 1)
    return StartCounts(
        start_sure=float(sets.sure.sum(dim=0).float().mean()),
        start_sure_least=int(sets.sure.sum(dim=0).min()),
        start_potential=float(sets.potential.sum(dim=0).float().mean()),
        start_potential_most=int(sets.potential.sum(dim=0).max()),
        start_per_neuron_most=int(sets.potential.sum(dim=1).max()),
        predicted_sure=counts.sure,
        predicted_potential=counts.potential,
        ordinary_share=float((unit.amax(dim=1) <= 2).float().mean()),
        lucky_share=float((unit >= 2.01).any(dim=1).float().mean()),
        surely_lucky_share=float(alone.float().mean()),
    )


def run(config: TicketsConfig, generator: torch.Generator) -> StartCounts:
    """Draw the rows of a start and count its tickets."""
    for_rows, for_labels = split(generator, 2)
    first = torch.randn(config.m, config.d, generator=for_rows)
    if config.rows == "signs":
        first = first.sign()
    w_star = torch.randint(2, (config.d,), generator=for_labels) * 2.0 - 1
    rule = TicketRule(c0=config.c0, d=config.d, k=math.ceil(config.d**0.499), gamma=GAMMA)
    return start_counts(first, w_star, 1.0, rule)


TICKETS = Experiment(
    name="purification.tickets",
    title="How many neurons hold a lottery ticket at the start?",
    paper="purification",
    presets={
        "tiny": Preset(config=TicketsConfig(d=50), grid={"d": (50, 100, 200)}, seeds=2, cell_seconds=0.05),
        "quick": Preset(config=TicketsConfig(d=100), grid={"d": (100, 400, 1000)}, seeds=6, cell_seconds=0.1),
        "full": Preset(
            config=TicketsConfig(d=100), grid={"d": (100, 400, 1600, 4000)}, seeds=20, cell_seconds=3
        ),
    },
    run=run,
)
