"""What exact features can reach, with a soft and with a hard threshold."""

from dataclasses import dataclass

import torch

from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.net_measures import (
    Accuracies,
    RadiusCurves,
    accuracies,
    radius_curves,
    share,
)
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus, ties_to_plus
from karat.probes.dense_mixture import split_mixture
from karat.probes.live_rows import grown_neurons
from karat.probes.oracle import HardThreshold, soft_threshold


@dataclass(frozen=True, kw_only=True)
class PureNet(Accuracies):
    """The net of exact features with a soft threshold.

    Args:
        curve: accuracy against the radius.
    """

    curve: RadiusCurves


@dataclass(frozen=True, kw_only=True)
class HardOracle:
    """The oracle of exact features with a hard threshold.

    Args:
        accuracy: without attack.
        certified: share proven robust; None where the worst case is not known.
        attacked: share that the best perturbation leaves; None likewise.
    """

    accuracy: float
    certified: float | None = None
    attacked: float | None = None


def pure_net(
    config: OddNetConfig, model: SparseCoding, clean: OddTwoLayer, test: Samples, generator: torch.Generator
) -> PureNet:
    """Measure the exact dictionary with a soft threshold, scaled like the clean net.

    Args:
        config: the attacks.
        model: gives dictionary and label vector.
        clean: gives scale, threshold and noise.
        test: points.
        generator: of random starts.
    """
    live = grown_neurons(clean.W, -float(clean.b))
    scale = float(split_mixture(clean.W, model.M, model.w_star).alpha[live].mean())
    pure = soft_threshold(model.M.float(), model.w_star.float(), scale, -float(clean.b), clean.sigma_rho)
    shares = accuracies(config, model, pure, test, generator)
    return PureNet(curve=radius_curves(config, model, pure, test, generator), **vars(shares))


def hard_oracle(config: OddNetConfig, model: SparseCoding, test: Samples) -> HardOracle:
    """Measure the exact dictionary with a hard threshold.

    Args:
        config: the radius.
        model: gives dictionary and label vector.
        test: points.
    """
    hard = HardThreshold(model.M, model.w_star, 0.5 * config.small_code_size)
    accuracy = share(TiesToPlus(hard).margin(test.x, test.y) > 0)
    # The l_inf ball is a box of coefficients only where the features lie along the axes.
    if config.p != 2 and config.dictionary != "identity":
        return HardOracle(accuracy=accuracy)
    ends = hard.worst_margin(test.x, test.y, config.ball(model))
    below, above = (share(ties_to_plus(end, test.y) > 0) for end in ends)
    return HardOracle(accuracy=accuracy, certified=below, attacked=above)
