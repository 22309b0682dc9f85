"""Projected adversarial training: which radius and which movement decide whether a net becomes robust?"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from karat.attacks.judge import run_attack
from karat.attacks.pgd import PGD
from karat.certificates import bracket, certify
from karat.core.ball import Ball
from karat.core.checks import require_integer, require_number, require_settings
from karat.core.losses import Logistic
from karat.core.norms import norm
from karat.data.digits import default_source
from karat.nets import as_classifier, init
from karat.papers.lazy.experiments.digits import Digits
from karat.study.experiment import Experiment, Preset
from karat.training import Adversary, Constant, Trainer, TwoInfBall
from karat.training.epochs import EpochTrainer


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run of Algorithm 1.

    Args:
        side, m: resolution and width.
        C0: rows stay within C0/sqrt m, inf for no projection.
        c: attack radius times sqrt d.
        line4: "iterated" follows the gradient at the moving point, "printed" the gradient at x, which makes
            100 iterations one step.
        project: after every step, or after every epoch as printed.
        n, n_test: images.
        padded_from: control.
        lr: step size of the summed loss.
        batch_size, epochs, min_epochs: of training.
        attack_steps, test_steps: of PGD in training and in the evaluation.
        certified: test images whose robust error is enclosed by attack and certificate.

    Reading: lr n must be at least about 20, or the rows never reach the edge of the ball and the stop rule
        ends training at the start.
    """

    side: int
    m: int = 1000
    C0: float = 10.0
    c: float = 5.0
    line4: Literal["iterated", "printed"] = "iterated"
    project: Literal["step", "epoch"] = "step"
    padded_from: int | None = None
    classes: tuple[int, int] = (0, 1)
    n: int = 200
    n_test: int = 200
    lr: float = 0.1
    batch_size: int = 20
    epochs: int = 12
    min_epochs: int = 6
    attack_steps: int = 6
    test_steps: int = 20
    certified: int = 0
    source: Literal["embedded", "mnist"] = "embedded"

    def __post_init__(self) -> None:
        _ = self.digits
        for name in ("m", "n", "n_test", "batch_size", "epochs", "attack_steps", "test_steps"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("min_epochs", "certified"):
            require_integer(getattr(self, name), name, "Config", minimum=0)
        require_number(self.lr, "lr", "Config", positive=True)
        for name in ("n", "n_test"):
            if getattr(self, name) < 2:
                raise ValueError(
                    f"`{name}` of `Config` must be at least 2, one image per class, "
                    f"got {getattr(self, name)}."
                )
        require_number(self.c, "c", "Config", minimum=0)
        if self.c > self.side:
            raise ValueError(
                f"`c` of `Config` must be at most `side` = {self.side}, where the radius c/side is |x| = 1; "
                f"got {self.c:g}."
            )
        if not self.C0 > 0:
            raise ValueError(f"`C0` of `Config` must be a number > 0 or inf, got {self.C0}.")
        require_settings(self, infinite=("C0",))

    @property
    def digits(self) -> Digits:
        """The data, of unit length."""
        return Digits(side=self.side, source=self.source, padded_from=self.padded_from, classes=self.classes)

    @property
    def tau(self) -> float:
        """Attack radius."""
        return self.c / self.side


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train and evaluate once; robust accuracy by PGD from zero, an upper bound on the true one.

    Ref: lazy, Alg 1
    """
    data = config.digits
    train = data.draw(config.n, train=True, generator=generator, dtype=torch.float32)
    test = data.draw(config.n_test, train=False, generator=generator, dtype=torch.float32)
    start = init.gaussian(data.d, config.m, generator=generator, dtype=torch.float32)
    ball = Ball(2, config.tau)
    keep = None if math.isinf(config.C0) else TwoInfBall(start.W, config.C0 / math.sqrt(config.m))
    each_step = config.project == "step"
    trainer = Trainer(
        lr=Constant(config.lr),
        reduction="sum",
        batch_size=config.batch_size,
        projection=keep if each_step else None,
    )
    if config.line4 == "printed":
        attack = PGD(steps=1, step_ratio=2.5 / 100, gradient="raw", loss=Logistic(), keep="last")
    else:
        attack = PGD(steps=config.attack_steps, gradient="normalised", keep="last")
    loop = EpochTrainer(
        trainer=trainer,
        adversary=Adversary(attack, ball),
        projection=None if each_step else keep,
        max_epochs=config.epochs,
        min_epochs=config.min_epochs,
    )
    finished = loop.run(start, train.x, train.y, generator=generator)
    classifier = as_classifier(finished.net)
    attacked = run_attack(PGD(steps=config.test_steps), classifier, test.x, test.y, ball).margin
    margin, gradient = classifier.margin_and_gradient(test.x, test.y)
    enclosed = {}
    if config.certified:
        # No time for the search: constants and relaxations decide, so the machine's speed does not matter.
        found = bracket(
            certify(finished.net, test.x[: config.certified], test.y[: config.certified], ball, 0.0)
        )
        enclosed = {"error_low": found.low, "error_high": found.high}
    moved = torch.linalg.vector_norm(finished.net.W - start.W, dim=1) * math.sqrt(config.m)
    return {
        **enclosed,
        "robust_accuracy": float((attacked > 0).double().mean()),
        "clean_accuracy": float((margin > 0).double().mean()),
        "train_robust_accuracy": finished.accuracy[-1],
        "epochs": len(finished.accuracy),
        "movement_max": float(moved.max()),
        "movement_mean": float(moved.mean()),
        "margin_over_gradient": float((margin / norm(gradient, 2)).median()),
        "gradient": float(norm(gradient, 2).mean()),
        "gradient_at_start": float(norm(start.input_gradient(test.x), 2).mean()),
    }


UNDEFINED = {"margin_over_gradient": "the net and its gradient are zero at most test images"}

SOURCE = default_source()
BASE = Config(side=28, source=SOURCE)
TINY = replace(BASE, side=7, m=64, n=40, n_test=40, epochs=7, min_epochs=4, lr=0.5, source="embedded")
_C = (1.6, 2.4, 3.3, 4.5, 6.3)

RADIUS = Experiment(
    name="lazy.fig4.radius",
    title="At which radius, as d grows, do nets trained inside the lazy ball lose their robustness?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=TINY, grid={"side": (7, 10, 14), "c": (0.5, 2.0, 4.0, 7.0)}, seeds=2, cell_seconds=0.1
        ),
        "quick": Preset(
            config=BASE,
            points=tuple({"side": side, "c": c} for side in (5, 7, 10, 14, 28) for c in _C if c < side),
            seeds=3,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=replace(
                BASE,
                n=400 if SOURCE == "embedded" else 2000,
                n_test=400,
                epochs=40,
                attack_steps=40,
                test_steps=100,
            ),
            points=tuple(
                {"side": side, "c": c}
                for side in range(5, 29)
                for c in (1.0, 1.4, 1.8, 2.3, 2.8, 3.4, 4.0, 4.6, 5.2, 6.0, 7.0, 8.5)
                if c < side
            ),
            seeds=5,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

MOVEMENT = Experiment(
    name="lazy.fig4.movement",
    title="How far must the rows be allowed to move before a net becomes robust at radius 0.2?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(TINY, side=14, c=2.8),
            grid={"m": (64, 128, 256), "C0": (2.0, 8.0, 32.0)},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=replace(BASE, c=5.6, n=160, lr=0.12, n_test=150, epochs=14),
            grid={"m": (40, 160, 640), "C0": (8.0, 14.0, 25.0, 40.0)},
            seeds=4,
            cell_seconds=0.7,
        ),
        "full": Preset(
            config=replace(BASE, c=5.6, n=400, n_test=400, epochs=60, attack_steps=40, test_steps=100),
            grid={
                "m": (250, 500, 1000, 2000, 4000, 8000),
                "C0": (6.0, 10.0, 13.0, 16.0, 20.0, 25.0, 32.0, 48.0),
            },
            seeds=5,
            cell_seconds=90,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

BEYOND = Experiment(
    name="lazy.beyond",
    title="Is it the lazy ball that prevents robustness, or the data? The same training without projection.",
    paper="lazy",
    presets={
        "tiny": Preset(config=replace(TINY, c=2.0), grid={"C0": (3.0, math.inf)}, seeds=2, cell_seconds=0.1),
        "quick": Preset(
            config=replace(BASE, c=3.6, epochs=24),
            points=tuple({"side": side, "c": c} for side, c in ((5, 2.0), (10, 3.5), (28, 3.5))),
            grid={"C0": (10.0, math.inf)},
            seeds=3,
            cell_seconds=0.7,
        ),
        "full": Preset(
            config=replace(BASE, c=3.5, n=400, n_test=400, epochs=60, attack_steps=40, test_steps=100),
            points=tuple(
                {"side": side, "c": c}
                for side, c in ((5, 2.0), (7, 3.0), (10, 3.5), (14, 3.6), (20, 3.7), (28, 3.5))
            ),
            grid={"C0": (10.0, 20.0, 40.0, math.inf)},
            seeds=5,
            cell_seconds=90,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

ALGORITHM = Experiment(
    name="lazy.alg1",
    title="Which readings of Algorithm 1 matter: the attack's line 4, or where the projection stands?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(TINY, c=2.0),
            grid={"line4": ("iterated", "printed"), "project": ("step", "epoch")},
            seeds=2,
            cell_seconds=0.1,
        ),
        "quick": Preset(
            config=replace(BASE, side=10, c=3.0),
            grid={"line4": ("iterated", "printed"), "project": ("step", "epoch")},
            seeds=3,
            cell_seconds=0.4,
        ),
        "full": Preset(
            config=replace(
                BASE, side=10, c=3.0, n=400, n_test=400, epochs=40, attack_steps=100, test_steps=100
            ),
            grid={"line4": ("iterated", "printed"), "project": ("step", "epoch")},
            seeds=10,
            cell_seconds=20,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

_ENCLOSED = replace(BASE, side=10, m=400, certified=20)

COROLLARY = Experiment(
    name="lazy.cor3.2",
    title="Is the robust error of nets trained in the lazy ball at least 0.9 at a radius of order 1/sqrt d?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(TINY, side=3, m=196, C0=1.0, c=1.0, certified=5),
            grid={"c": (0.5, 2.9)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=replace(_ENCLOSED, side=4, m=780, C0=1.0, c=1.0),
            grid={"c": (0.3, 1.0, 2.0, 3.0)},
            seeds=3,
            cell_seconds=0.7,
        ),
        "full": Preset(
            config=replace(
                _ENCLOSED, C0=1.0, c=1.0, n=400, n_test=400, epochs=40, attack_steps=40, certified=100
            ),
            points=tuple({"side": side, "m": 2 * math.ceil(side**4.8 / 2)} for side in (4, 5, 6)),
            grid={"c": (0.3, 1.0, 1.5, 2.0, 3.0)},
            seeds=5,
            cell_seconds=600,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

BRACKET = Experiment(
    name="lazy.bracket",
    title="In the ball of the figures, between which bounds does the robust error of trained nets lie?",
    paper="lazy",
    presets={
        "tiny": Preset(
            config=replace(TINY, certified=5),
            grid={"side": (7, 10), "c": (1.0, 6.9)},
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=replace(_ENCLOSED, m=300, certified=15),
            grid={"side": (10, 14), "c": (0.5, 2.0, 5.0, 7.1)},
            seeds=3,
            cell_seconds=0.4,
        ),
        "full": Preset(
            config=replace(_ENCLOSED, m=1000, n=400, n_test=400, epochs=40, attack_steps=40, certified=100),
            grid={"side": (10, 14, 20, 28), "c": (0.5, 1.0, 2.0, 3.5, 5.0, 7.1)},
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)
