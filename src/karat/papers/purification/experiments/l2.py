"""Clean training, then adversarial training from it: what robustness costs, what changes in the neurons."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import mixture_ratio
from karat.papers.purification.experiments.ablation import Ablation, ablation
from karat.papers.purification.experiments.certified import CertifiedShares, certified
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import (
    Accuracies,
    Features,
    RadiusCurves,
    accuracies,
    features,
    radius_curves,
    require_awake,
)
from karat.papers.purification.experiments.neuron_parts import (
    Movements,
    NeuronParts,
    either_live,
    movements,
    neuron_parts,
)
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.oracle_measures import (
    HardOracle,
    PureNet,
    hard_oracle,
    pure_net,
)
from karat.papers.purification.experiments.perturbation_measures import PerturbationMeasures, perturbations
from karat.probes.movement import relative_movement
from karat.probes.small_ball import boundary_mass, robust_error_floor
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class NetMeasures(Accuracies, Features, PerturbationMeasures, CertifiedShares, NeuronParts):
    """Everything that is measured on a trained net.

    Args:
        curve: accuracy against the radius.
    """

    curve: RadiusCurves


@dataclass(frozen=True, kw_only=True)
class DataValues:
    r"""Sizes of the problem.

    Args:
        tau: radius of the attacks.
        support: expected number of non-zero codes :math:`E \|z\|_0`.
        support_low: its 5% quantile.
        support_high: its 95% quantile.
        support_ratio: :math:`E \|z\|_0 / d`, the predicted mixture.
        score_variance: :math:`E \langle w^*, z \rangle^2`.
        boundary_mass: :math:`P(|\langle w^*, z \rangle| \le t)` at four t.
        error_floor: robust error below which no classifier can get.
    """

    tau: float
    support: float
    support_low: float
    support_high: float
    support_ratio: float
    score_variance: float
    boundary_mass: list[float]
    error_floor: float


@dataclass(frozen=True, kw_only=True)
class TwoTrainingsResult(DataValues, Movements, Ablation):
    """A clean net, the robust net trained from it, and the oracles beside them.

    Args:
        start: the net before training, if it starts from pure features.
        clean: after clean training.
        robust: after adversarial training.
        pure: exact features with a soft threshold.
        hard: exact features with a hard threshold.
        movement_steps: steps of adversarial training at which the weights are compared with the clean ones.
        movement_curve: how far they have moved by then.
    """

    start: Accuracies | None = None
    clean: NetMeasures
    robust: NetMeasures
    pure: PureNet
    hard: HardOracle
    movement_steps: list[int]
    movement_curve: list[float]


def run(config: OddNetConfig, generator: torch.Generator) -> TwoTrainingsResult:
    """Train clean, train robust, measure both and the oracles beside them."""
    for_model, for_test, for_start, for_clean, for_robust, for_attacks = split(generator, 6)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    start = config.draw_net(model, for_start)
    clean, _ = config.train_clean(start, model, for_clean)
    require_awake(clean, test.x, config.clean_steps)
    robust, moved = config.train_robust(
        clean,
        model,
        for_robust,
        observe=lambda step, net: {"movement": relative_movement(net.W, clean.W)},
        observe_at={round(config.robust_steps * i / 10) for i in range(11)},
    )
    require_awake(robust, test.x, config.clean_steps + config.robust_steps)
    rows = either_live(clean, robust)
    # The order of the measurements is the order of their random draws.
    return TwoTrainingsResult(
        start=accuracies(config, model, start, test, for_attacks) if config.start == "pure" else None,
        clean=_measured(config, model, clean, rows, test, for_attacks),
        robust=_measured(config, model, robust, rows, test, for_attacks),
        movement_steps=[step for step, _ in moved],
        movement_curve=[values["movement"] for _, values in moved],
        **_fields(
            data_values(config, model, test),
            movements(model, start, clean, robust),
            ablation(config, model, clean, test, for_attacks),
        ),
        pure=pure_net(config, model, clean, test, for_attacks),
        hard=hard_oracle(config, model, test),
    )


def _measured(
    config: OddNetConfig,
    model: SparseCoding,
    net: OddTwoLayer,
    rows: Tensor,
    test: Samples,
    generator: torch.Generator,
) -> NetMeasures:
    """Everything about one net; of its neurons only some rows are kept one by one."""
    parts = (
        accuracies(config, model, net, test, generator),
        features(model, net, test.x),
        perturbations(config, model, net, test, generator),
        neuron_parts(model, net, rows),
    )
    curve = radius_curves(config, model, net, test, generator)
    return NetMeasures(curve=curve, **_fields(*parts, certified(config, model, net, test, generator)))


def _fields(*parts: Any) -> dict[str, Any]:
    """The fields of several dataclasses together."""
    return {name: value for part in parts for name, value in vars(part).items()}


def data_values(config: OddNetConfig, model: SparseCoding, test: Samples) -> DataValues:
    """Sizes of the problem: support, score, radius, boundary mass, and the floor under any classifier.

    Args:
        config: the radius.
        model: the law of the codes.
        test: points for what has no formula.
    """
    assert test.z is not None
    support = (test.z != 0).sum(dim=1).double()
    grid = torch.tensor([0.05, 0.1, 0.2, 0.4])
    return DataValues(
        tau=config.tau(model),
        support=model.code.expected_support,
        support_low=float(support.quantile(0.05)),
        support_high=float(support.quantile(0.95)),
        support_ratio=mixture_ratio(model.code.expected_support, config.d),
        score_variance=model.score_variance,
        boundary_mass=[float(v) for v in boundary_mass(model, test.z, grid)],
        error_floor=robust_error_floor(model, test.z, config.p, config.tau(model)),
    )


L2 = Experiment(
    name="purification.l2",
    title="Is the clean net fragile along one direction, and does adversarial training purify it?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                RANDOM_START,
                d=40,
                k=6,
                batch=512,
                clean_steps=150,
                robust_steps=15,
                n_test=300,
                n_attack=60,
                pgd_steps=5,
                n_certify=4,
            ),
            points=({"d": 24, "k": 4}, {"d": 32, "k": 5}, {"d": 40, "k": 6}),
            seeds=2,
            cell_seconds=0.8,
        ),
        "quick": Preset(
            config=replace(RANDOM_START, batch=1024, n_attack=250, pgd_steps=20),
            points=({"d": 100, "k": 20, "batch": 512}, {"d": 200, "k": 14}),
            seeds=5,
            cell_seconds=3.5,
        ),
        "full": Preset(
            config=replace(RANDOM_START, n_certify=100, certify_domains=500),
            points=(
                {"d": 100, "k": 9, "batch": 1024},
                {"d": 200, "k": 14},
                {"d": 200, "k": 14, "dictionary": "unitary"},
                {"d": 200, "k": 14, "w_star": "spread"},
                {"d": 200, "k": 14, "sigma_spike": 0.1},
                {"d": 400, "k": 19, "batch": 4096},
                {"d": 800, "k": 28, "batch": 8192},
                {"d": 200, "k": 30},
            ),
            seeds=10,
            cell_seconds=200,
        ),
    },
    run=run,
)
