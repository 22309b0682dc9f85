"""The clean net without its hubs, without the mixtures of all its other neurons, and without both."""

from dataclasses import dataclass

import torch

from karat.attacks import run_attack
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.net_measures import HUB, share, unbroken
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.dense_mixture import split_mixture
from karat.probes.live_rows import grown_neurons
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class AblatedNet:
    """Accuracies of a net of which something was cut out by hand, all on the attacked points.

    Args:
        accuracy: without attack.
        universal: moved along the universal direction.
        pgd: under the strongest attack.
    """

    accuracy: float
    universal: float
    pgd: float


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """The clean net without some of its parts.

    Args:
        hubs: number of its live neurons with more than `HUB` own features.
        ordinary: number of its other live neurons.
        whole: the clean net itself, on the same points.
        without_hubs: the hubs are deleted.
        without_mixture: every ordinary live neuron keeps only its own features.
        without_both: the hubs are deleted, and the others keep only their own features.
    """

    hubs: int
    ordinary: int
    whole: AblatedNet
    without_hubs: AblatedNet
    without_mixture: AblatedNet
    without_both: AblatedNet


def ablation(
    config: OddNetConfig, model: SparseCoding, net: OddTwoLayer, test: Samples, generator: torch.Generator
) -> Ablation:
    """Attack a net without its hubs, without the mixtures of the others, and without both.

    Args:
        config: the attacks.
        model: gives dictionary and label vector.
        net: to be cut.
        test: points, of which at most 400 are attacked.
        generator: of random starts.
    """
    mixture = split_mixture(net.W, model.M, model.w_star)
    live = grown_neurons(net.W, -float(net.b))
    hub = live & (mixture.own_count > HUB)
    # Before training every row leans on many features: a net of hubs alone keeps them.
    hub = hub & ~hub.all()
    ordinary = live & ~hub
    own_features = (mixture.coefficients * mixture.own) @ model.M.to(net.W).T
    purified = torch.where(ordinary.unsqueeze(1), own_features, net.W)
    few, ball = test.take(slice(0, min(400, config.n_attack))), config.ball(model)

    def measured(variant: OddTwoLayer) -> AblatedNet:
        classifier = TiesToPlus(OddClassifier(variant))
        moved = run_attack(universal(model, config.p), classifier, few.x, few.y, ball)
        return AblatedNet(
            accuracy=share(classifier.margin(few.x, few.y) > 0),
            universal=1 - moved.error,
            pgd=share(unbroken(config, model, variant, few, ball, generator)),
        )

    return Ablation(
        hubs=int(hub.sum()),
        ordinary=int(ordinary.sum()),
        whole=measured(net),
        without_hubs=measured(net.replace(W=net.W[~hub])),
        without_mixture=measured(net.replace(W=purified)),
        without_both=measured(net.replace(W=purified[~hub])),
    )
