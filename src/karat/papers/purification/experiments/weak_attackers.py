"""One clean net, adversarial training against several attackers: do weak ones purify, too?"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from karat.attacks import PGD, Method, Steepest, run_attack
from karat.core.ball import Ball
from karat.core.classifier import Classifier
from karat.data import SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.evaluate import accuracies, features, require_awake
from karat.papers.purification.experiments.l2 import J
from karat.papers.purification.experiments.regime import ZERO_GRADIENT, Regime, split, universal
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.movement import relative_movement
from karat.study.experiment import Experiment, Preset
from karat.training.odd import OddClassifier


@dataclass(frozen=True, eq=False)
class FromNet:
    """The fast gradient method on a frozen net: an attacker who never looks at the net in training."""

    net: OddTwoLayer

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Ball,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations of the frozen net."""
        return Steepest(zero_below=ZERO_GRADIENT)(OddClassifier(self.net), x, y, ball)


@dataclass(frozen=True)
class RandomDirection:
    """A random direction at full radius, new for every sample: the weakest attacker."""

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Ball,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations that look at nothing."""
        return ball.extreme_point(torch.randn(x.shape, generator=generator, dtype=x.dtype))


@dataclass(frozen=True)
class Blurred:
    """The fast gradient method on half of the coordinates, drawn anew for every sample."""

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Ball,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Perturbations from a gradient of which half is hidden."""
        _, gradient = classifier.margin_and_gradient(x, y)
        seen = torch.rand(x.shape, generator=generator, dtype=x.dtype) < 0.5
        return ball.extreme_point(-gradient * seen)


def attackers(model: SparseCoding, clean: OddTwoLayer, p: float) -> dict[str, Method]:
    """From strong to weak."""
    return {
        "pgd": PGD(steps=3, step_ratio=0.6, keep="last"),
        "fgm": Steepest(zero_below=ZERO_GRADIENT),
        "blurred fgm": Blurred(),
        "frozen net": FromNet(clean),
        "universal": universal(model, p),
        "random": RandomDirection(),
    }


def run(config: Regime, generator: torch.Generator) -> dict[str, Any]:
    """Train clean once; then against each attacker, from the same net on the same data."""
    draws = split(generator, 6)
    model = config.draw_model(draws[0])
    test = model.sample(config.n_test, generator=draws[1], dtype=torch.float32)
    clean, _ = config.clean_trainer().run(
        config.draw_net(model, draws[2]),
        config.batches(model, draws[3]),
        steps=config.clean_steps,
        generator=draws[3],
    )
    require_awake(clean, test.x, config.clean_steps)
    seed, ball = int(torch.randint(2**62, (), generator=draws[4])), config.ball(model)
    before = features(model, clean, test.x)
    values: dict[str, Any] = {"clean_ratio": before["ratio"], "clean_aligned": before["aligned"]}
    values["clean_pgd"] = accuracies(config, model, clean, test, draws[5])["pgd"]
    methods = attackers(model, clean, config.p)
    values["attackers"] = list(methods)
    for name, method in methods.items():
        own = torch.Generator().manual_seed(seed)
        net, _ = config.robust_trainer(model, method).run(
            clean, config.batches(model, own), steps=config.robust_steps, generator=draws[4]
        )
        require_awake(net, test.x, config.clean_steps + config.robust_steps)
        classifier = TiesToPlus(OddClassifier(net))
        after = features(model, net, test.x)
        strong = accuracies(config, model, net, test, draws[5])
        values |= {
            f"{name}_ratio": after["ratio"],
            f"{name}_aligned": after["aligned"],
            f"{name}_movement": relative_movement(net.W, clean.W),
            f"{name}_accuracy": strong["accuracy"],
            f"{name}_pgd": strong["pgd"],
            f"{name}_own_error": run_attack(
                method, classifier, test.x, test.y, ball, generator=draws[4]
            ).error,
        }
    return values


WEAK_ATTACKERS = Experiment(
    name="purification.weak_attackers",
    title="Does every attacker purify the features?",
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
                pgd_steps=3,
            ),
            seeds=2,
            cell_seconds=1.5,
        ),
        "quick": Preset(
            config=replace(J, d=100, k=20, batch=1024, n_attack=500, pgd_steps=10), seeds=3, cell_seconds=12
        ),
        "full": Preset(
            config=J,
            points=({"d": 100, "k": 20, "batch": 1024}, {"d": 200, "k": 30}),
            seeds=10,
            cell_seconds=90,
        ),
    },
    run=run,
)
