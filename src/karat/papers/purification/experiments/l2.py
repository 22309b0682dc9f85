"""Clean training, then adversarial training from it: what robustness costs, what changes in the neurons."""

from dataclasses import replace
from typing import Any

import torch

from karat.attacks import Steepest, run_attack
from karat.core.ball import Ball
from karat.data import Samples, SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.bounds import l_inf_radii
from karat.papers.purification.experiments.certified import certified, proven_and_unbroken
from karat.papers.purification.experiments.evaluate import (
    accuracies,
    curve,
    features,
    named,
    neurons,
    perturbations,
    require_awake,
    share,
    unbroken,
    undefined,
)
from karat.papers.purification.experiments.regime import Regime, split, universal
from karat.papers.purification.experiments.ties import TiesToPlus, ties_to_plus
from karat.probes.cosines import abs_cosine, alignment_with_start
from karat.probes.dense_mixture import densest_neurons, split_mixture
from karat.probes.live_rows import grown_neurons
from karat.probes.movement import relative_movement, relative_movement_along
from karat.probes.oracle import HardThreshold, soft_threshold
from karat.probes.small_ball import boundary_mass, robust_error_floor
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier

DELETED = (0, 8, 20)
"""Hub neurons removed in the ablation."""


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Train clean, train robust, measure both and the oracles beside them."""
    draws = split(generator, 6)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    start = config.draw_net(model, draws[2])
    clean, _ = config.clean_trainer().run(
        start, config.batches(model, draws[3]), steps=config.clean_steps, generator=draws[3]
    )
    require_awake(clean, test.x, config.clean_steps)
    robust, moved = config.robust_trainer(model).run(
        clean,
        config.batches(model, draws[4]),
        steps=config.robust_steps,
        generator=draws[4],
        observe=lambda step, net: {"movement": relative_movement(net.W, clean.W)},
        observe_at={round(config.robust_steps * i / 10) for i in range(11)},
    )
    require_awake(robust, test.x, config.clean_steps + config.robust_steps)
    values = data_values(config, model, test)
    if config.start == "pure":
        values |= named("start", accuracies(config, model, start, test, draws[5]))
    for name, net in (("clean", clean), ("robust", robust)):
        values |= named(name, accuracies(config, model, net, test, draws[5]))
        values |= named(name, features(model, net, test.x))
        values |= named(name, perturbations(config, model, net, test, draws[5]))
        values |= named(name, curve(config, model, net, test, draws[5]))
        values |= named(name, certified(config, model, net, test, draws[5]))
    values |= movements(model, start, clean, robust) | neurons(model, clean, robust)
    values["movement_steps"] = [step for step, _ in moved]
    values["movement_curve"] = [found["movement"] for _, found in moved]
    values |= printed_radii(config, model, clean, robust, test, draws[5])
    values |= ablation(config, model, clean, test)
    return values | oracles(config, model, clean, test, draws[5])


def data_values(config: Regime, model: SparseCoding, test: Samples) -> dict[str, Any]:
    """Sizes of the problem: support, score, radius, boundary mass, and the floor under any classifier."""
    assert test.z is not None
    support = (test.z != 0).sum(dim=1).double()
    grid = torch.tensor([0.05, 0.1, 0.2, 0.4])
    return {
        "tau": config.tau(model),
        "support": model.code.expected_support,
        "support_low": float(support.quantile(0.05)),
        "support_high": float(support.quantile(0.95)),
        "support_ratio": model.code.expected_support / config.d,
        "score_variance": model.score_variance,
        "boundary_mass": [float(v) for v in boundary_mass(model, test.z, grid)],
        "error_floor": robust_error_floor(model, test.z, config.p, config.tau(model)),
    }


def printed_radii(
    config: Regime,
    model: SparseCoding,
    clean: OddTwoLayer,
    robust: OddTwoLayer,
    test: Samples,
    generator: torch.Generator,
) -> dict[str, Any]:
    """The clean net at k^-2 and the robust one at k^-1.75, the l_inf theorem's radii for c0 = c1 = 0."""
    if config.p == 2:
        return {}
    fall, hold = l_inf_radii(config.k, 0.0, 0.0)
    few = test.take(slice(0, min(300, config.n_attack)))
    values: dict[str, Any] = {"fall_radius": fall, "hold_radius": hold}
    for name, net, radius in (("clean_at_fall", clean, fall), ("robust_at_hold", robust, hold)):
        values[name] = share(unbroken(config, model, net, few, Ball(config.p, radius), generator))
    if config.n_certify:
        proven, _ = proven_and_unbroken(config, model, robust, test, Ball(config.p, hold), generator)
        values["robust_certified_at_hold"] = proven
    return values


def movements(
    model: SparseCoding, start: OddTwoLayer, clean: OddTwoLayer, robust: OddTwoLayer
) -> dict[str, Any]:
    """How far each training carried the weights, weighted as in the theorems and over live neurons."""
    live = grown_neurons(clean.W)
    theta = abs_cosine(clean.W, robust.W)[live]
    moved = torch.linalg.vector_norm(robust.W - clean.W, dim=1)
    return {
        "start_alignment": alignment_with_start(clean.W, start.W),
        "start_alignment_robust": alignment_with_start(robust.W, start.W),
        "start_theta": float(abs_cosine(clean.W, start.W)[live].mean()),
        "theta": float(theta.mean()),
        "theta_low": float(theta.quantile(0.1)),
        "movement": relative_movement(robust.W, clean.W),
        "movement_along": relative_movement_along(robust.W, clean.W, model.dense_direction),
        "largest_move": float(moved.max()),
    }


def ablation(config: Regime, model: SparseCoding, net: OddTwoLayer, test: Samples) -> dict[str, Any]:
    """Accuracy without the densest neurons, and without the direction M w* in all of them."""
    mixture = split_mixture(net.W, model.M, model.w_star)
    unit = torch.nn.functional.normalize(model.dense_direction, dim=0).to(net.W)
    ball, x, y = config.ball(model), test.x, test.y
    variants = []
    for count in DELETED:
        kept = torch.ones(net.m, dtype=torch.bool)
        kept[densest_neurons(mixture, count)] = False
        variants.append(net.replace(W=net.W[kept]))
    variants.append(net.replace(W=net.W - (net.W @ unit).unsqueeze(1) * unit))
    rows = []
    for variant in variants:
        classifier = TiesToPlus(OddClassifier(variant))
        fooled = [
            run_attack(method, classifier, x, y, ball).error
            for method in (universal(model, config.p), Steepest())
        ]
        rows.append([share(classifier.margin(x, y) > 0), *(1 - error for error in fooled)])
    return {"ablation_deleted": list(DELETED), "ablation": rows[:-1], "projected": rows[-1]}


def oracles(
    config: Regime, model: SparseCoding, clean: OddTwoLayer, test: Samples, generator: torch.Generator
) -> dict[str, Any]:
    """The exact dictionary with a soft threshold (as large as the clean net's) and with a hard one."""
    live = grown_neurons(clean.W)
    scale = float(split_mixture(clean.W, model.M, model.w_star).alpha[live].mean())
    pure = soft_threshold(model.M.float(), model.w_star.float(), scale, -float(clean.b), clean.sigma_rho)
    values = named("pure", accuracies(config, model, pure, test, generator))
    values |= named("pure", curve(config, model, pure, test, generator))
    hard = HardThreshold(model.M, model.w_star, 0.5 * config.scale)
    values["hard_accuracy"] = share(TiesToPlus(hard).margin(test.x, test.y) > 0)
    if config.p == 2 or config.dictionary == "identity":
        ends = hard.worst_margin(test.x, test.y, config.ball(model))
        below, above = (share(ties_to_plus(end, test.y) > 0) for end in ends)
        values |= {"hard_certified": below, "hard_attacked": above}
    return values


J = Regime(d=200, k=30)
"""The finite-size regime of random starts; k and the batch grow with d."""

L2 = Experiment(
    name="purification.l2",
    title="Is the clean net fragile along one direction, and does adversarial training purify it?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                J,
                d=40,
                k=10,
                batch=512,
                clean_steps=150,
                robust_steps=15,
                n_test=300,
                n_attack=60,
                pgd_steps=5,
                n_certify=4,
            ),
            seeds=2,
            cell_seconds=1.0,
        ),
        "quick": Preset(config=replace(J, n_certify=12), seeds=3, cell_seconds=25),
        "full": Preset(
            config=replace(J, n_certify=100, certify_domains=500),
            points=(
                {"d": 100, "k": 20, "batch": 1024},
                {"d": 200, "k": 30},
                {"d": 200, "k": 30, "dictionary": "unitary"},
                {"d": 200, "k": 30, "w_star": "spread"},
                {"d": 200, "k": 30, "sigma_spike": 0.1},
                {"d": 400, "k": 44, "batch": 4096},
                {"d": 800, "k": 64, "batch": 8192},
            ),
            seeds=10,
            cell_seconds=200,
        ),
    },
    run=run,
    undefined=undefined("start", "clean", "robust", "pure"),
)
