"""Input noise up to the size of the signal: the linear classifier fails, thresholds still see features."""

from dataclasses import dataclass, replace

import torch

from karat.nets import Linear
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import features, require_awake, share
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus, ties_to_plus
from karat.probes.oracle import HardThreshold
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


@dataclass(frozen=True, kw_only=True)
class NoiseResult:
    r"""Accuracies at one size of the noise.

    Args:
        linear_accuracy: of the linear classifier :math:`\langle w^*, M^\top x \rangle`.
        linear_robust: its exact robust accuracy at the radius of the attacks.
        linear_robust_tiny: the same at the radius :math:`1/\sqrt d`.
        net_accuracy: of the net trained from pure features.
        hard_accuracy: of the hard-threshold oracle.
        ratio: mixture over pure part of the net.
        rate: median share of inputs on which a neuron of it wakes.
        noise_over_signal: length of the noise over that of the score.
    """

    linear_accuracy: float
    linear_robust: float
    linear_robust_tiny: float
    net_accuracy: float
    hard_accuracy: float
    ratio: float
    rate: float
    noise_over_signal: float


def run(config: OddNetConfig, generator: torch.Generator) -> NoiseResult:
    """Clean accuracy of the linear classifier, of the net trained from pure features, and of the oracle."""
    for_model, for_test, for_start, for_clean = split(generator, 4)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    net, _ = config.train_clean(config.draw_net(model, for_start), model, for_clean)
    require_awake(net, test.x, config.clean_steps)
    linear = Linear(model.dense_direction.float())
    hard = HardThreshold(model.M, model.w_star, 0.5 * config.small_code_size)
    measured = features(model, net, test.x)
    # On any linear f the worst l2 perturbation of length tau costs tau |w|: the exact robust error.
    worst = linear.worst_margin(test.x, test.y, 2, float(config.ball(model).tau))
    tiny = linear.worst_margin(test.x, test.y, 2, config.d**-0.5)
    return NoiseResult(
        linear_accuracy=share(ties_to_plus(test.y * linear(test.x), test.y) > 0),
        linear_robust=share(worst > 0),
        linear_robust_tiny=share(tiny > 0),
        net_accuracy=share(TiesToPlus(OddClassifier(net)).margin(test.x, test.y) > 0),
        hard_accuracy=share(TiesToPlus(hard).margin(test.x, test.y) > 0),
        ratio=measured.ratio,
        rate=measured.rate_median,
        noise_over_signal=config.sigma_x / float(model.score_variance**0.5),
    )


BASE = OddNetConfig(d=200, k=14, start="pure", decay=0.05, clean_steps=100, batch=1024, n_test=4000)
SIZES = (0.0, 0.25, 0.5, 1.0)

NOISE = Experiment(
    name="purification.noise",
    title="Does the net denoise where no linear classifier can?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(BASE, d=40, k=8, batch=256, clean_steps=40, n_test=500),
            grid={"sigma_x": (0.0, 1.0)},
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(config=BASE, grid={"sigma_x": SIZES}, seeds=3, cell_seconds=1.5),
        "full": Preset(
            config=replace(BASE, clean_steps=400, batch=2048),
            grid={"sigma_x": (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)},
            points=({"d": 200, "k": 14}, {"d": 800, "k": 14}, {"d": 200, "k": 14, "sigma_spike": 0.5}),
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
)
