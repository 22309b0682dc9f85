"""Growth during training at finite size: winners against the rest, accuracy, and how steep the loss is."""

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
from karat.probes.live_rows import grown_neurons
from karat.probes.lottery import tickets
from karat.study.experiment import Experiment, Preset
from karat.study.result import Undefined
from karat.training.odd import OddClassifier, forward

SHARES = (0.1, 0.3, 0.5, 0.75, 1.0)
"""Stops after the lottery, in shares of the steps."""


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
        loser_growth: root mean square growth of coordinates that are no potential winners.
        slope: mean of loss' on test points.
        error: share of the test points, with the labels of the step, that the net gets wrong.
    """

    wake_rate: float
    steps: list[int]
    time: list[float]
    threshold: list[float]
    accuracy: list[float]
    winner_growth: Annotated[list[float], Undefined("no live neuron ends on one feature")]
    loser_growth: list[float]
    slope: list[float]
    error: list[float]


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
    judged = config.labelled(test, for_growth)
    # Winners are known only at the end: the nets are kept and measured afterwards.
    winners = _winners(model, last)
    rows = [growth(config, model, net, sample, test, winners) | errors(net, test, judged) for net in nets]
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
    _, gates = forward(net, sample.x)
    signed = sample.z * model.w_star.sign().float()
    weight = sample.y / len(sample) * config.d / 2
    mean_growth = gates.weight_gradient(signed, weight)
    weight[1::2] *= -1
    # Half the difference of the estimates from even and from odd points: sampling noise alone.
    noise = gates.weight_gradient(signed, weight)
    coordinates = net.W @ model.M.float() * model.w_star.sign().float()
    sets = tickets(coordinates, torch.ones(config.d), -float(net.b), config.ticket_rule())
    lost = ~sets.potential
    return {
        "threshold": -float(net.b),
        "accuracy": share(TiesToPlus(OddClassifier(net)).margin(test.x, test.y) > 0),
        "winner_growth": float(mean_growth[winners].mean()) if bool(winners.any()) else math.nan,
        # The product of two independent halves is free of the sampling noise that |mean_growth| is full of.
        "loser_growth": max(0.0, float((mean_growth[lost] ** 2 - noise[lost] ** 2).mean())) ** 0.5,
    }


def errors(net: OddTwoLayer, test: Samples, judged: Samples) -> dict[str, float]:
    r"""The slope :math:`\ell' = \sigma(-y f)` of the loss, and the share of wrong answers.

    Args:
        net: at one stop.
        test: points of the slope.
        judged: the same points with the labels by which answers are judged.
    """
    classifier = TiesToPlus(OddClassifier(net))
    slope = -Logistic().derivative(test.y * net(test.x)).double().mean()
    return {"slope": float(slope), "error": share(classifier.margin(judged.x, judged.y) <= 0)}


KINETICS = Experiment(
    name="purification.kinetics",
    title="Do winners grow at their own pace while accuracy waits?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=StepConfig(d=40, k=6, batch=512, clean_steps=150, n_test=300),
            seeds=2,
            cell_seconds=0.6,
        ),
        "quick": Preset(
            config=StepConfig(d=100, k=9, batch=1024),
            seeds=3,
            cell_seconds=1.9,
        ),
        "full": Preset(
            config=StepConfig(d=200, k=14),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
