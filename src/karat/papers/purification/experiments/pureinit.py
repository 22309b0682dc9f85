"""From pure features: clean training soils them, adversarial training cleans them again."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from karat.attacks import PGD, Method, Steepest
from karat.attacks.cascade import surviving
from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import mixture_ratio
from karat.papers.purification.experiments.attackers import universal
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import require_awake, share
from karat.papers.purification.experiments.odd_net_config import OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus, Wake
from karat.probes.dense_mixture import split_mixture
from karat.probes.movement import relative_movement
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier
from karat.training.odd.trainer import columns


@dataclass(frozen=True, kw_only=True)
class StageCurves:
    r"""One training of the two, lists over its stops; means over neurons.

    Args:
        steps: of the stops, counted from the start of this training.
        time: rescaled time of the stops.
        pure: length of a neuron's part on its own features.
        dense: component of the rest along :math:`M w^*`.
        ratio: mixture over pure part, :math:`\beta/\alpha`.
        aligned: share of mixture coefficients with the sign of w*.
        accuracy: without attack.
        pgd: under the strongest attack.
        from_start: how far the weights have moved from the pure features.
    """

    steps: list[int]
    time: list[float]
    pure: list[float]
    dense: list[float]
    ratio: list[float]
    aligned: list[float]
    accuracy: list[float]
    pgd: list[float]
    from_start: list[float]


@dataclass(frozen=True, kw_only=True)
class PureInitResult:
    r"""Both trainings, and what theory predicts.

    Args:
        predicted: mixture in equilibrium, :math:`E \|z\|_0 / d`.
        tau: radius of the attacks.
        movement: of the weights in adversarial training.
        clean: clean training.
        robust: adversarial training after it.
    """

    predicted: float
    tau: float
    movement: float
    clean: StageCurves
    robust: StageCurves


def run(config: OddNetConfig, generator: torch.Generator) -> PureInitResult:
    """Curves over both trainings: mixture, movement from the pure start, accuracies."""
    for_model, for_test, for_start, for_clean, for_robust, for_attacks = split(generator, 6)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    few = test.take(slice(0, config.n_attack))
    fixed, fast, ball = universal(model, config.p), Steepest(), config.ball(model)
    attacks: tuple[Method, ...] = (fixed, fast, PGD(steps=config.pgd_steps, start=fast))

    def observe(step: int, net: OddTwoLayer) -> dict[str, Any]:
        mixture, classifier = split_mixture(net.W, model.M, model.w_star), TiesToPlus(OddClassifier(net))
        alive = surviving(classifier, few.x, few.y, ball, (*attacks, Wake(net)), generator=for_attacks)
        return {
            "pure": float(mixture.pure_norm.mean()),
            "dense": float(mixture.along.mean()),
            "ratio": float((mixture.mean_beta / mixture.alpha).mean()),
            "aligned": float(mixture.aligned.mean()),
            "accuracy": share(classifier.margin(test.x, test.y) > 0),
            "pgd": share(alive),
            "from_start": relative_movement(net.W, start.W),
        }

    clean_stops, robust_stops = _stops(config.clean_steps), _stops(config.robust_steps)
    clean, before = config.train_clean(start, model, for_clean, observe=observe, observe_at=clean_stops)
    require_awake(clean, test.x, config.clean_steps)
    robust, after = config.train_robust(clean, model, for_robust, observe=observe, observe_at=robust_stops)
    require_awake(robust, test.x, config.clean_steps + config.robust_steps)
    return PureInitResult(
        predicted=mixture_ratio(model.code.expected_support, config.d),
        tau=config.tau(model),
        movement=relative_movement(robust.W, clean.W),
        clean=StageCurves(steps=clean_stops, **columns(before)),
        robust=StageCurves(steps=robust_stops, **columns(after)),
    )


def _stops(steps: int) -> list[int]:
    """Ten evaluations, denser at the start."""
    return sorted({round(steps * (i / 9) ** 1.5) for i in range(10)})


L_INF_PURE = OddNetConfig(
    d=200,
    k=14,
    start="pure",
    decay=0.05,
    clean_steps=200,
    batch=1024,
    p=math.inf,
    tau_factor=0.2,
    robust_steps=120,
    robust_step=0.03,
    ramp=0.7,
    pgd_steps=30,
)
"""In l_inf gap and small movement are seen at small d; without the ramp all sleeping neurons would wake."""

PUREINIT = Experiment(
    name="purification.pureinit",
    title="Does clean training accumulate mixtures even from pure features?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                L_INF_PURE,
                d=40,
                k=8,
                batch=256,
                clean_steps=60,
                robust_steps=30,
                n_test=200,
                n_attack=100,
                pgd_steps=5,
            ),
            seeds=2,
            cell_seconds=0.5,
        ),
        "quick": Preset(config=replace(L_INF_PURE, n_attack=500, pgd_steps=15), seeds=3, cell_seconds=2.1),
        "full": Preset(
            config=replace(L_INF_PURE, n_attack=1000, pgd_steps=30),
            points=(
                {"d": 200, "k": 14},
                {"d": 400, "k": 19, "tau_factor": 0.18},
                {"d": 200, "k": 14, "p": 2.0, "tau_factor": 0.4, "robust_step": 0.06, "robust_steps": 60},
            ),
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
)
