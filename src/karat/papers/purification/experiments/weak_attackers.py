"""One clean net, adversarial training against several attackers: do weak ones purify, too?"""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor

from karat.attacks import PGD, Method, run_attack
from karat.core.classifier import Classifier
from karat.core.region import Region
from karat.data import SparseCoding
from karat.nets import OddTwoLayer
from karat.papers.purification.experiments.attackers import FGM, universal
from karat.papers.purification.experiments.draws import split
from karat.papers.purification.experiments.net_measures import accuracies, features, require_awake
from karat.papers.purification.experiments.odd_net_config import RANDOM_START, OddNetConfig
from karat.papers.purification.experiments.ties import TiesToPlus
from karat.probes.movement import relative_movement
from karat.study.experiment import Experiment, Preset
from karat.study.result import Spread
from karat.training.odd import OddClassifier


@dataclass(frozen=True, eq=False)
class FrozenNetFGM:
    """The fast gradient method on a frozen net: an attacker who never looks at the net in training.

    Args:
        net: the frozen one.
    """

    net: OddTwoLayer

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return perturbations of the frozen net, as an attack `Method` does.

        Args:
            classifier: is not looked at.
            x: (n, d) inputs.
            y: (n,) labels.
            ball: of the perturbations.
            generator: is not used.
        """
        return FGM(OddClassifier(self.net), x, y, ball)


@dataclass(frozen=True)
class RandomDirection:
    """A random direction at full radius, new for every sample: the weakest attacker."""

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return perturbations that look at nothing, as an attack `Method` does.

        Args:
            classifier: is not looked at.
            x: (n, d) inputs, of which only the shape counts.
            y: is not looked at.
            ball: of the perturbations.
            generator: of the directions.
        """
        return ball.extreme_point(torch.randn(x.shape, generator=generator, dtype=x.dtype))


@dataclass(frozen=True)
class BlurredFGM:
    """The fast gradient method on half of the coordinates, drawn anew for every sample."""

    def __call__(
        self,
        classifier: Classifier,
        x: Tensor,
        y: Tensor,
        ball: Region,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return perturbations from a gradient of which half is hidden, as an attack `Method` does.

        Args:
            classifier: whose gradient.
            x: (n, d) inputs.
            y: (n,) labels.
            ball: of the perturbations.
            generator: of the coordinates that are seen.
        """
        _, gradient = classifier.margin_and_gradient(x, y)
        seen = torch.rand(x.shape, generator=generator, dtype=x.dtype) < 0.5
        return ball.extreme_point(-gradient * seen)


def attackers(model: SparseCoding, clean: OddTwoLayer, p: float) -> dict[str, Method]:
    """Six attackers, from strong to weak.

    Args:
        model: gives the universal direction.
        clean: the net that one of them looks at instead of the present one.
        p: norm of the attacks.
    """
    return {
        "pgd": PGD(steps=3, step_ratio=0.6, keep="last"),
        "fgm": FGM,
        "blurred fgm": BlurredFGM(),
        "frozen net": FrozenNetFGM(clean),
        "universal": universal(model, p),
        "random": RandomDirection(),
    }


@dataclass(frozen=True, kw_only=True)
class CleanNet:
    """The net before adversarial training.

    Args:
        ratio: mixture over pure part.
        aligned: share of mixture coefficients with the sign of w*.
        pgd: accuracy under the strongest attack.
    """

    ratio: float
    aligned: float
    pgd: float


@dataclass(frozen=True, kw_only=True)
class AttackerMeasures:
    """The net after training against one attacker.

    Args:
        ratio: mixture over pure part.
        aligned: share of mixture coefficients with the sign of w*.
        movement: of the weights from the clean net.
        accuracy: without attack.
        pgd: under the strongest attack.
        own_error: under the attacker of its training.
    """

    ratio: float
    aligned: float
    movement: float
    accuracy: float
    pgd: float
    own_error: float


@dataclass(frozen=True, kw_only=True)
class WeakAttackersResult:
    """One clean net, and what each attacker made of it.

    Args:
        clean: before adversarial training.
        trained: attacker -> the net trained against it.
    """

    clean: CleanNet
    trained: Annotated[dict[str, AttackerMeasures], Spread("attackers")]


def run(config: OddNetConfig, generator: torch.Generator) -> WeakAttackersResult:
    """Train clean once; then against each attacker, from the same net on the same data."""
    for_model, for_test, for_start, for_clean, for_robust, for_attacks = split(generator, 6)
    model = config.draw_model(for_model)
    test = model.sample(config.n_test, generator=for_test, dtype=torch.float32)
    clean, _ = config.train_clean(config.draw_net(model, for_start), model, for_clean)
    require_awake(clean, test.x, config.clean_steps)
    seed, ball = int(torch.randint(2**62, (), generator=for_robust)), config.ball(model)

    def trained(method: Method) -> AttackerMeasures:
        same = torch.Generator().manual_seed(seed)  # the same batches against every attacker
        net, _ = config.robust_trainer(model, method).run(
            clean, config.batches(model, same), steps=config.robust_steps, generator=for_robust
        )
        require_awake(net, test.x, config.clean_steps + config.robust_steps)
        after = features(model, net, test.x)
        attacked = accuracies(config, model, net, test, for_attacks)
        classifier = TiesToPlus(OddClassifier(net))
        return AttackerMeasures(
            ratio=after.ratio,
            aligned=after.aligned,
            movement=relative_movement(net.W, clean.W),
            accuracy=attacked.accuracy,
            pgd=attacked.pgd,
            own_error=run_attack(method, classifier, test.x, test.y, ball, generator=for_robust).error,
        )

    before = features(model, clean, test.x)
    pgd = accuracies(config, model, clean, test, for_attacks).pgd
    methods = attackers(model, clean, config.p)
    return WeakAttackersResult(
        clean=CleanNet(ratio=before.ratio, aligned=before.aligned, pgd=pgd),
        trained={name: trained(method) for name, method in methods.items()},
    )


WEAK_ATTACKERS = Experiment(
    name="purification.weak_attackers",
    title="Does every attacker purify the features?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=replace(
                RANDOM_START,
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
            config=replace(RANDOM_START, d=100, k=9, batch=512, n_attack=400, pgd_steps=10),
            seeds=3,
            cell_seconds=1.6,
        ),
        "full": Preset(
            config=RANDOM_START,
            points=({"d": 100, "k": 9, "batch": 1024}, {"d": 200, "k": 14}),
            seeds=10,
            cell_seconds=90,
        ),
    },
    run=run,
)
