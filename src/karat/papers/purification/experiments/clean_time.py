"""Clean training, ever longer: what it does to features, mixtures and the universal direction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.attacks import run_attack
from karat.data import SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import mixture_ratio
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import Features, features, require_awake, share
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.cosines import alignment_with_start, weight_coherence
from karat.probes.dense_mixture import split_mixture
from karat.probes.lottery import tickets
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier
from karat.training.odd.trainer import columns

SHARES = (0.05, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
"""Shares of clean training at which to look."""


@dataclass(frozen=True, kw_only=True)
class OverTime:
    r"""What is seen at every stop, one entry per stop.

    The sets :math:`N_i` are the tickets of the start, :math:`j \in N_i` where neuron i is a potential winner
    of feature j before its first step; they are the same at every stop.

    Args:
        time: rescaled time of the stop.
        accuracy: without attack.
        universal: moved along the universal direction.
        start_alignment: of the weights with the start.
        coherence: of the weights of all neurons.
        mean_beta: :math:`\frac{1}{m d} \sum_i \sum_{j \notin N_i} \beta_{ij}`.
        largest_beta: largest :math:`|\beta_{ij}|` off :math:`N_i`.
        winning_tickets: number of neurons with one ticket, of a coefficient of at least one half in the end.
    """

    time: list[float]
    accuracy: list[float]
    universal: list[float]
    start_alignment: list[float]
    coherence: list[float]
    mean_beta: list[float]
    largest_beta: list[float]
    winning_tickets: list[int]


@dataclass(frozen=True, kw_only=True)
class CleanTimeResult(OverTime):
    """Clean training at several stops.

    Args:
        steps: of the stops.
        T_c: rescaled time from which on the theorems speak.
        most_tickets: most tickets of a neuron at the start.
        without_ticket: share of the neurons live in the end that had no ticket for their largest feature.
        support_ratio: expected number of non-zero codes over d.
        clean: the features at the last stop, with sets N_i read off the trained weights.
    """

    steps: list[int]
    T_c: float
    most_tickets: int
    without_ticket: float
    support_ratio: float
    clean: Features

    def late(self, values: Sequence[float]) -> list[float]:
        """Those of the values over the stops that lie at T_c or later, the last one in any case."""
        later = [value for time, value in zip(self.time, values, strict=True) if time >= self.T_c]
        return later or list(values[-1:])


def run(config: OddNetConfig, generator: torch.Generator) -> CleanTimeResult:
    """Train clean and look at several stops."""
    for_model, for_test, for_start, for_clean = split(generator, 4)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    first = start.W @ model.M.float()
    own = tickets(first, model.w_star.float(), -float(start.b), config.ticket_rule()).potential

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        classifier = TiesToPlus(OddClassifier(net))
        moved = run_attack(universal(model, config.p), classifier, test.x, test.y, config.ball(model))
        return {
            "accuracy": share(classifier.margin(test.x, test.y) > 0),
            "universal": 1 - moved.error,
            "start_alignment": alignment_with_start(net.W, start.W),
            "coherence": weight_coherence(net.W),
            **_parts(model, net, own),
        }

    stops = sorted({round(config.clean_steps * part) for part in SHARES})
    net, measured = config.train_clean(start, model, for_clean, observe=observe, observe_at=stops)
    require_awake(net, test.x, config.clean_steps)
    mixture = split_mixture(net.W, model.M, model.w_star)
    live = mixture.alpha > -float(net.b)
    held = own.gather(1, mixture.top.unsqueeze(1)).squeeze(1)
    return CleanTimeResult(
        steps=stops,
        **columns(measured),
        T_c=config.phases().T_c,
        most_tickets=int(own.sum(dim=1).max()),
        without_ticket=share(~held[live]) if bool(live.any()) else 0.0,
        support_ratio=mixture_ratio(model.code.expected_support, config.d),
        clean=features(model, net, test.x),
    )


def _parts(model: SparseCoding, net: OddTwoLayer, own: Tensor) -> dict[str, Any]:
    """Mixture and winning tickets of a net whose sets N_i are given."""
    mixture = split_mixture(net.W, model.M, model.w_star, own=own)
    one = own.sum(dim=1) == 1
    held = (mixture.coefficients / mixture.w_star).masked_fill(~own, 0.0).amax(dim=1)
    return {
        "mean_beta": mixture.paper_mean(),
        "largest_beta": float((mixture.dense / mixture.w_star).abs().max()),
        "winning_tickets": int((one & (held >= 0.5)).sum()),
    }


CLEAN_TIME = Experiment(
    name="purification.clean_time",
    title="What does ever longer clean training do to features and mixtures?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(RANDOM_START, d=40, k=6, batch=256, clean_steps=200, n_test=300),
            points=({"d": 24, "k": 4}, {"d": 32, "k": 5}, {"d": 40, "k": 6}),
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=replace(RANDOM_START, batch=1024, clean_steps=500),
            points=(
                {"d": 50, "k": 7, "batch": 256},
                {"d": 100, "k": 9, "batch": 384},
                {"d": 200, "k": 14, "batch": 512},
            ),
            seeds=3,
            cell_seconds=0.89,
        ),
        "full": Preset(
            config=replace(RANDOM_START, clean_steps=3000),
            points=(
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 400, "k": 19, "batch": 4096},
                {"d": 800, "k": 28, "batch": 8192},
            ),
            seeds=5,
            cell_seconds=600,
        ),
    },
    run=run,
)
