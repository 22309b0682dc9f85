"""Growth during training: winners against the rest, chance accuracy, and how many neurons an input wakes."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from karat.core.losses import Logistic
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import mixture_ratio
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import require_awake, share
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.step_labels import StepConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.activity import near_threshold_count
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import ordinary_neurons, tickets
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined
from karat.training.odd import OddClassifier, forward

SHARES = (0.1, 0.3, 0.5, 0.75, 1.0)
"""Stops after the lottery, in shares of the steps."""

EARLY = {"d": 400, "k": 19, "clean_steps": 2}
"""A setting of the first phase alone: with the others it shows whether constants depend on the size."""

_NO_SURE = Undefined("no coordinate is a sure winner at this step")


@dataclass(frozen=True, kw_only=True)
class KineticsResult:
    r"""Growth over clean training, lists over the stops; growth is per unit of rescaled time with l' = 1.

    Args:
        wake_rate: probability :math:`E \|z\|_0 / d` that a code is on.
        steps: of the stops.
        time: rescaled time of the stops.
        threshold: the paper's b.
        accuracy: clean accuracy.
        winner_growth: mean growth of the coordinates on which live neurons end.
        sure_growth: mean growth of sure winners.
        sure_growth_low: what 90% of sure winners exceed.
        loser_growth: root mean square growth of coordinates that are no potential winners.
        largest_growth: largest growth of any coordinate.
        most_possible: its trivial limit :math:`d \, E |z_j| / 2`.
        gate: mean activation probability.
        ept: share of neurons in the set S_ept.
        coupling_spread: mean deviation of grown winners from their common growth, relative.
        grown: number of winners that have grown beyond :math:`2 \sqrt k b`.
        awake_count: mean number of neurons that an input brings near the threshold.
    """

    wake_rate: float
    steps: list[int]
    time: list[float]
    threshold: list[float]
    accuracy: list[float]
    winner_growth: Annotated[list[float], Undefined("no live neuron ends on one feature")]
    sure_growth: Annotated[list[float], _NO_SURE]
    sure_growth_low: Annotated[list[float], _NO_SURE]
    loser_growth: list[float]
    largest_growth: list[float]
    most_possible: list[float]
    gate: list[float]
    ept: list[float]
    coupling_spread: Annotated[list[float], Undefined("no winner has grown beyond the threshold yet")]
    grown: list[float]
    awake_count: list[float]


def run(config: StepConfig, generator: torch.Generator) -> KineticsResult:
    """Clean training; at every stop the growth of all coordinates, measured on a large fresh sample."""
    for_model, for_test, for_start, for_clean, for_growth = split(generator, 5)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    stops = config.observed_steps(SHARES)
    nets: list[OddTwoLayer] = []

    def keep(step: int, net: OddTwoLayer) -> dict[str, Any]:
        nets.append(net)
        return {}

    last, measured = config.train_clean(start, model, for_clean, observe=keep, observe_at=stops)
    if config.clean_steps > config.step_at(config.phases().T_e):  # before, all nets sleep on most inputs
        require_awake(last, test.x, config.clean_steps)
    sample = model.sample(4 * config.n_test, generator=for_growth, dtype=torch.float32)
    sample = config.labelled(sample, for_growth)
    # Winners are known only at the end: the nets are kept and measured afterwards.
    winners = _winners(model, last)
    rows = [growth(config, model, net, sample, test, winners) for net in nets]
    return KineticsResult(
        wake_rate=mixture_ratio(model.code.expected_support, config.d),
        steps=stops,
        time=[values["time"] for _, values in measured],
        **{name: [row[name] for row in rows] for name in rows[0]},
    )


def _winners(model: SparseCoding, net: OddTwoLayer) -> Tensor:
    """(m, D) mask: the coordinate on which a live neuron ends, if it stands well above the others."""
    size = net.W @ model.M.float() * model.w_star.sign().float()
    top = size.topk(2, dim=1)
    clear = grown_neurons(net.W, -float(net.b)) & (top.values[:, 1] < 0.3 * top.values[:, 0])
    mask = torch.zeros_like(size, dtype=torch.bool)
    rows = clear.nonzero().squeeze(1)
    mask[rows, top.indices[rows, 0]] = True
    return mask


def growth(
    config: OddNetConfig,
    model: SparseCoding,
    net: OddTwoLayer,
    sample: Samples,
    test: Samples,
    winners: Tensor,
) -> dict[str, float]:
    r"""Measure how fast the coordinates of one net grow, each from one half of its pair.

    .. math:: d \, E\big[y \, 1[\langle w_i, x \rangle + \rho_i \ge b] \, z_j\big] \, \mathrm{sign}(w^*_j)

    Args:
        config: of the run.
        model: gives dictionary and label vector.
        net: at one stop.
        sample: points of the expectations.
        test: points of the accuracy.
        winners: (m, D) mask of the coordinates that win in the end.

    Returns:
        the entries of `KineticsResult` at this stop.

    Reading: the lemmas speak of one indicator; by the symmetry x -> -x it is half of the pair's gate.
    """
    assert sample.z is not None
    f, gates = forward(net, sample.x)
    signed = sample.z * model.w_star.sign().float()
    weight = sample.y / len(sample) * config.d / 2
    mean_growth = gates.weight_gradient(signed, weight)
    weight[1::2] *= -1
    # Half the difference of the estimates from even and from odd points: sampling noise alone.
    noise = gates.weight_gradient(signed, weight)
    loss_slope = -Logistic().derivative(sample.y * f) * sample.y
    pair_growth = gates.weight_gradient(signed, loss_slope / len(sample)) * config.d
    coordinates = net.W @ model.M.float() * model.w_star.sign().float()
    sets = tickets(coordinates, torch.ones(config.d), -float(net.b), config.ticket_rule())
    lost = ~sets.potential
    common = (loss_slope.unsqueeze(1) * signed).mean(dim=0) * config.d
    grown = winners & (coordinates >= 2 * math.sqrt(config.k) * -float(net.b))
    spread = (pair_growth - common)[grown].abs().mean() / common.mean() if bool(grown.any()) else math.nan
    some_sure = bool(sets.sure.any())
    return {
        "threshold": -float(net.b),
        "accuracy": share(TiesToPlus(OddClassifier(net)).margin(test.x, test.y) > 0),
        "winner_growth": float(mean_growth[winners].mean()) if bool(winners.any()) else math.nan,
        "sure_growth": float(mean_growth[sets.sure].mean()) if some_sure else math.nan,
        "sure_growth_low": float(mean_growth[sets.sure].quantile(0.1)) if some_sure else math.nan,
        # The product of two independent halves is free of the sampling noise that |mean_growth| is full of.
        "loser_growth": max(0.0, float((mean_growth[lost] ** 2 - noise[lost] ** 2).mean())) ** 0.5,
        "largest_growth": float(mean_growth.abs().max()),
        "most_possible": float(sample.z.abs().mean(dim=0).max()) * config.d / 2,
        "gate": float(gates.value.mean()),
        "ept": float(ordinary_neurons(coordinates, -float(net.b), config.ticket_rule()).ept.float().mean()),
        "coupling_spread": float(spread),
        "grown": float(grown.sum()),
        "awake_count": float(near_threshold_count(net, test.x).double().mean()),
    }


KINETICS = Experiment(
    name="purification.kinetics",
    title="Do winners grow at their own pace while accuracy waits?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=StepConfig(d=40, k=6, batch=512, clean_steps=150, n_test=300),
            points=({"d": 24, "k": 4}, {"d": 32, "k": 5}, {"d": 40, "k": 6}),
            seeds=2,
            cell_seconds=0.6,
        ),
        "quick": Preset(
            config=StepConfig(d=200, k=14, batch=1024),
            points=({"d": 50, "k": 7}, {"d": 100, "k": 9}, {"d": 200, "k": 14}, EARLY),
            seeds=3,
            cell_seconds=3,
        ),
        "full": Preset(
            config=StepConfig(d=200, k=14),
            points=(
                {"d": 50, "k": 7, "batch": 1024},
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 400, "k": 19, "batch": 4096},
            ),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
