"""The clean net without its hubs, and without the dense direction."""

from dataclasses import dataclass

import torch

from karat.attacks import Steepest, run_attack
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.net_measures import share
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.dense_mixture import densest_neurons, split_mixture
from karat.training.odd import OddClassifier

DELETED = (0, 8, 20)
"""Hub neurons removed in the ablation."""


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """Clean, universal and FGM accuracy of the clean net without some of its parts.

    Args:
        ablation_deleted: numbers of its densest neurons that are deleted.
        ablation: the three accuracies without them.
        projected: the three accuracies without the direction M w* in all neurons.
    """

    ablation_deleted: list[int]
    ablation: list[list[float]]
    projected: list[float]


def ablation(config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, test: Samples) -> Ablation:
    """Attack a net without its densest neurons, and without the direction M w* in all of them.

    Args:
        config: the attacks.
        model: gives dictionary and label vector.
        net: to be cut.
        test: points.
    """
    mixture = split_mixture(net.W, model.M, model.w_star)
    unit = torch.nn.functional.normalize(model.dense_direction, dim=0).to(net.W)
    ball, x, y = config.ball(model), test.x, test.y

    def three_accuracies(variant: OddTwoLayer) -> list[float]:
        classifier = TiesToPlus(OddClassifier(variant))
        attacks = (universal(model, config.p), Steepest())
        errors = [run_attack(method, classifier, x, y, ball).error for method in attacks]
        return [share(classifier.margin(x, y) > 0), *(1 - error for error in errors)]

    rows = []
    for count in DELETED:
        kept = torch.ones(net.m, dtype=torch.bool)
        kept[densest_neurons(mixture, count)] = False
        rows.append(three_accuracies(net.replace(W=net.W[kept])))
    projected = net.replace(W=net.W - (net.W @ unit).unsqueeze(1) * unit)
    return Ablation(ablation_deleted=list(DELETED), ablation=rows, projected=three_accuracies(projected))
