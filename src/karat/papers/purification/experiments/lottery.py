"""The lottery: which neuron wins which feature, decided at initialisation or not."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import ticket_counts
from karat.papers.purification.experiments.evaluate import require_awake
from karat.papers.purification.experiments.l2 import J
from karat.papers.purification.experiments.regime import Regime, split
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import (
    TicketRule,
    finite_tickets,
    inclusion,
    ordinary_neurons,
    tickets,
)
from karat.study.experiment import Experiment, Preset

SHOWN = 6
"""Neurons of each kind whose coordinates are kept for the picture."""


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Clean training with the lottery sets at every stop, and the trajectories of some neurons."""
    draws = split(generator, 4)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    start = config.draw_net(model, draws[2])
    w_star = model.w_star.float()
    first = start.W @ model.M.float()
    rule = config.rule()
    begin = tickets(first, w_star, -float(start.b), rule)
    stops = config.stops([i / 24 for i in range(25)])
    history: list[Tensor] = []

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        now = net.W @ model.M.float()
        history.append(now * w_star.sign())
        b = -float(net.b)
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

    net, rows = config.clean_trainer().run(
        start,
        config.batches(model, draws[3]),
        steps=config.clean_steps,
        generator=draws[3],
        observe=observe,
        observe_at=stops,
    )
    require_awake(net, test.x, config.clean_steps)
    values: dict[str, Any] = {"steps": [step for step, _ in rows]}
    values |= {name: [row[name] for _, row in rows] for name in rows[0][1]}
    values |= _outcome(config, first, net.W @ model.M.float(), w_star, grown_neurons(net.W))
    values |= _at_start(config, first, w_star, rule)
    return values | _trajectories(history, grown_neurons(net.W))


def _outcome(config: Regime, first: Tensor, last: Tensor, w_star: Tensor, live: Tensor) -> dict[str, Any]:
    """Whether the feature a neuron ends on was its favourite at the start."""
    guess = finite_tickets(first, w_star, config.first_threshold)
    top = last.abs().argmax(dim=1)
    index = torch.arange(len(top))
    second = (first * w_star.sign()).topk(2, dim=1).indices
    kept = guess.favourite == top
    return {
        "live": float(live.float().mean()),
        "favourite_won": float(kept[live].float().mean()),
        "within_two": float((second == top.unsqueeze(1)).any(dim=1)[live].float().mean()),
        "likely_won": float(guess.likely[index, top][live].float().mean()),
        "chance": 1 / config.d,
        "clear_live": float(live[guess.clear].float().mean()) if bool(guess.clear.any()) else math.nan,
        "clear_kept": inclusion(guess.clear & live, kept),
        "likely_per_neuron": float(guess.likely.sum(dim=1).float().mean()),
    }


def _at_start(config: Regime, first: Tensor, w_star: Tensor, rule: TicketRule) -> dict[str, Any]:
    """Counts of Lemma B.2 at sigma_w = sigma_0, and the three fractions of Section 6.1."""
    level = math.sqrt(rule.c1 * math.log(config.d)) * config.init_scale
    sets = tickets(first, w_star, level, rule)
    counts = ticket_counts(config.d, config.m, rule.c0, rule.gamma)
    unit = first.square() / (config.init_scale**2 * math.log(config.d))
    alone = ((unit >= 2.02).sum(dim=1) == 1) & ((unit > 2.01).sum(dim=1) == 1)
    return {
        "start_sure": float(sets.sure.sum(dim=0).float().mean()),
        "start_sure_least": int(sets.sure.sum(dim=0).min()),
        "start_potential": float(sets.potential.sum(dim=0).float().mean()),
        "start_potential_most": int(sets.potential.sum(dim=0).max()),
        "start_per_neuron_most": int(sets.potential.sum(dim=1).max()),
        "predicted_sure": counts.sure,
        "predicted_potential": counts.potential,
        "ordinary_share": float((unit.amax(dim=1) <= 2).float().mean()),
        "lucky_share": float((unit >= 2.01).any(dim=1).float().mean()),
        "surely_lucky_share": float(alone.float().mean()),
    }


def _trajectories(history: list[Tensor], live: Tensor) -> dict[str, Any]:
    """Signed coordinates over time: winners with their best loser coordinate, and neurons that lost."""
    table = torch.stack(history)
    last = table[-1]
    winners = (live & (last.amax(dim=1) > 0.5 * last.max())).nonzero().squeeze(1)[:SHOWN]
    losers = (~live).nonzero().squeeze(1)[:SHOWN]
    shown: dict[str, list[list[float]]] = {"winner": [], "runner_up": [], "loser": []}
    for i in winners.tolist():
        top = int(last[i].argmax())
        rest = table[0, i].clone()
        rest[top] = -math.inf
        shown["winner"].append(_line(table[:, i, top]))
        shown["runner_up"].append(_line(table[:, i, int(rest.argmax())]))
    for i in losers.tolist():
        shown["loser"].append(_line(table[:, i, int(table[0, i].argmax())]))
    return {f"path_{name}": lines for name, lines in shown.items()}


def _line(values: Tensor) -> list[float]:
    return [float(f"{float(v):.4g}") for v in values]


LOTTERY = Experiment(
    name="purification.lottery",
    title="Is the feature a neuron ends on decided by its random start?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(J, d=40, k=10, batch=512, clean_steps=150, n_test=200), seeds=2, cell_seconds=0.6
        ),
        "quick": Preset(config=J, seeds=3, cell_seconds=10),
        "full": Preset(
            config=J,
            points=(
                {"d": 100, "k": 20, "batch": 1024},
                {"d": 200, "k": 30},
                {"d": 200, "k": 30, "ticket": 1.07, "width": 10.0},
                {"d": 400, "k": 44, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined={"clear_live": "no neuron has one clear favourite at the start"},
)
