"""Projected adversarial training: which radius and which movement decide whether a net becomes robust?"""

import math
from dataclasses import replace

from karat.data.digits import default_source
from karat.papers.lazy.experiments.adversarial_training import AdversarialTrainingConfig, run
from karat.study.experiment import Experiment, Preset

SOURCE = default_source()
BASE = AdversarialTrainingConfig(side=28, source=SOURCE)
TINY = replace(BASE, side=7, m=64, n=40, n_test=40, epochs=7, min_epochs=4, lr=0.5, source="embedded")
# Times sqrt d: around 5, at which the paper sees the accuracy drop.
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
            cell_seconds=0.3,
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
            config=replace(BASE, c=5.6, n=160, lr=0.12, n_test=150, epochs=24),
            # 15 and 27.5 lie on both sides of the printed 25, one well below, one slightly above.
            grid={"m": (40, 160, 640), "C0": (8.0, 15.0, 20.0, 27.5)},
            seeds=4,
            cell_seconds=0.2,
        ),
        "full": Preset(
            config=replace(BASE, c=5.6, n=400, n_test=400, epochs=60, attack_steps=40, test_steps=100),
            grid={
                "m": (250, 500, 1000, 2000, 4000, 8000),
                "C0": (6.0, 10.0, 12.5, 15.0, 20.0, 25.0, 27.5, 32.0, 48.0),
            },
            seeds=5,
            cell_seconds=90,
        ),
    },
    run=run,
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
            seeds=6,
            cell_seconds=0.4,
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
)

# Certificates cost far more than training: small nets, few images.
_ENCLOSED = replace(BASE, side=10, certified=20)

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
            config=replace(_ENCLOSED, m=400, certified=6),
            grid={"side": (14, 28), "c": (2.0, 5.0, 7.1)},
            seeds=6,  # errors of 1 throughout decide nothing with fewer
            cell_seconds=0.35,
        ),
        "full": Preset(
            config=replace(_ENCLOSED, n=400, n_test=400, epochs=40, attack_steps=40, certified=100),
            grid={"side": (10, 14, 20, 28), "c": (0.5, 1.0, 2.0, 3.5, 5.0, 7.1)},
            seeds=5,
            cell_seconds=120,
        ),
    },
    run=run,
)
