"""The lottery: which neuron wins which feature, decided at initialisation or not."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from torch import Tensor

from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import require_awake
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.tickets import StartCounts, start_counts
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import finite_tickets, inclusion, ordinary_neurons, tickets
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined
from karat.training.odd.trainer import columns

SHOWN = 6
"""Neurons of each kind whose coordinates are kept for the picture."""


@dataclass(frozen=True, kw_only=True)
class LotterySets:
    """The paper's sets over clean training, lists over the stops; shares of one set that lie in another.

    Args:
        steps: of the stops.
        time: rescaled time of the stops.
        threshold: the paper's b.
        sure_kept: sure winners of the start that are still sure.
        no_new_potential: potential winners that were so at the start.
        sure: number of sure winners.
        potential: number of potential winners.
        potential_plus_old: potential+ winners that were potential winners at the start.
        potential_in_plus: potential winners that are potential+ winners.
        sure_grown: sure winners of the start that are sure+ winners.
        ept: share of neurons in the set of that name.
        ept_plus: likewise.
        ept_plus_plus: likewise.
    """

    steps: list[int]
    time: list[float]
    threshold: list[float]
    sure_kept: list[float]
    no_new_potential: list[float]
    sure: list[int]
    potential: list[int]
    potential_plus_old: list[float]
    potential_in_plus: list[float]
    sure_grown: list[float]
    ept: list[float]
    ept_plus: list[float]
    ept_plus_plus: list[float]


@dataclass(frozen=True, kw_only=True)
class LotteryOutcome:
    """Whether the feature a neuron ends on was its favourite at the start.

    Args:
        live: share of live neurons.
        favourite_won: share of them that end on the feature their start leaned on most.
        within_two: on one of its two favourites.
        likely_won: on a feature whose coefficient was near the threshold at the start.
        singleton_won: that end on the feature their start leaned on most, with every other coefficient below
            0.3 of that one.
        chance: one over the number of features.
        clear_live: share of neurons with one clear favourite that are live in the end.
        clear_kept: share of those that end on it.
        likely_per_neuron: mean number of coefficients near the threshold at the start.
    """

    live: float
    favourite_won: float
    within_two: float
    likely_won: float
    singleton_won: float
    chance: float
    clear_live: Annotated[float, Undefined("no neuron has one clear favourite at the start")]
    clear_kept: float
    likely_per_neuron: float


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Signed coordinates over time, one list over the stops for each of some neurons.

    Args:
        winner: the winning coordinate of neurons that win.
        runner_up: the best other coordinate at the start of the same neurons.
        loser: the best coordinate at the start of neurons that lose.
    """

    winner: list[list[float]]
    runner_up: list[list[float]]
    loser: list[list[float]]


@dataclass(frozen=True, kw_only=True)
class LotteryResult(LotterySets, LotteryOutcome, StartCounts):
    """The lottery of one run, from the start to the end.

    Args:
        path: coordinates of some neurons over time.
    """

    path: Paths


def run(config: OddNetConfig, generator: torch.Generator) -> LotteryResult:
    """Clean training with the lottery sets at every stop, and the trajectories of some neurons."""
    for_model, for_test, for_start, for_clean = split(generator, 4)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    w_star, rule = model.w_star.float(), config.ticket_rule()
    first = start.W @ model.M.float()
    begin = tickets(first, w_star, -float(start.b), rule)
    history: list[Tensor] = []

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        now, b = net.W @ model.M.float(), -float(net.b)
        history.append(now * w_star.sign())
        sets, small = tickets(now, w_star, b, rule), ordinary_neurons(now, b, rule)
        return {
            "threshold": b,
            "sure_kept": inclusion(begin.sure, sets.sure),
            "no_new_potential": inclusion(sets.potential, begin.potential),
            "sure": int(sets.sure.sum()),
            "potential": int(sets.potential.sum()),
            "potential_plus_old": inclusion(sets.potential_plus, begin.potential),
            "potential_in_plus": inclusion(sets.potential, sets.potential_plus),
            "sure_grown": inclusion(begin.sure, sets.sure_plus),
            "ept": float(small.ept.float().mean()),
            "ept_plus": float(small.ept_plus.float().mean()),
            "ept_plus_plus": float(small.ept_plus_plus.float().mean()),
        }

    stops = config.observed_steps([i / 24 for i in range(25)])
    net, measured = config.train_clean(start, model, for_clean, observe=observe, observe_at=stops)
    require_awake(net, test.x, config.clean_steps)
    live = grown_neurons(net.W, -float(net.b))
    return LotteryResult(
        steps=stops,
        **columns(measured),
        **vars(_outcome(config, first, net.W @ model.M.float(), w_star, live)),
        **vars(start_counts(first, w_star, config.init_scale, rule)),
        path=_paths(torch.stack(history), live),
    )


def _outcome(
    config: OddNetConfig, first: Tensor, last: Tensor, w_star: Tensor, live: Tensor
) -> LotteryOutcome:
    guess = finite_tickets(first, w_star, config.first_threshold)
    top = last.abs().argmax(dim=1)
    index = torch.arange(len(top))
    favourites = (first * w_star.sign()).topk(2, dim=1).indices
    won = guess.favourite == top
    largest = last.abs().topk(2, dim=1).values
    alone = largest[:, 1] < 0.3 * largest[:, 0]
    return LotteryOutcome(
        live=float(live.float().mean()),
        favourite_won=float(won[live].float().mean()),
        within_two=float((favourites == top.unsqueeze(1)).any(dim=1)[live].float().mean()),
        likely_won=float(guess.likely[index, top][live].float().mean()),
        singleton_won=float((won & alone)[live].float().mean()),
        chance=1 / config.d,
        clear_live=float(live[guess.clear].float().mean()) if bool(guess.clear.any()) else math.nan,
        clear_kept=inclusion(guess.clear & live, won),
        likely_per_neuron=float(guess.likely.sum(dim=1).float().mean()),
    )


def _paths(table: Tensor, live: Tensor) -> Paths:
    """Winners with their best loser coordinate, and neurons that lost; the table is (stops, m, D)."""
    last = table[-1]
    winners = (live & (last.amax(dim=1) > 0.5 * last.amax(dim=1)[live].median())).nonzero().squeeze(1)[:SHOWN]
    losers = (~live).nonzero().squeeze(1)[:SHOWN]
    winner, runner_up = [], []
    for i in winners.tolist():
        top = int(last[i].argmax())
        others = table[0, i].clone()
        others[top] = -math.inf
        winner.append(_line(table[:, i, top]))
        runner_up.append(_line(table[:, i, int(others.argmax())]))
    loser = [_line(table[:, i, int(table[0, i].argmax())]) for i in losers.tolist()]
    return Paths(winner=winner, runner_up=runner_up, loser=loser)


def _line(values: Tensor) -> list[float]:
    return [float(f"{float(v):.4g}") for v in values]


LOTTERY = Experiment(
    name="purification.lottery",
    title="Is the feature a neuron ends on decided by its random start?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(RANDOM_START, d=40, k=10, batch=512, clean_steps=150, n_test=200),
            seeds=2,
            cell_seconds=0.6,
        ),
        "quick": Preset(config=replace(RANDOM_START, batch=1024), seeds=3, cell_seconds=2),
        "full": Preset(
            config=RANDOM_START,
            points=(
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 200, "k": 14, "ticket": 1.07, "width": 10.0},
                {"d": 400, "k": 19, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
