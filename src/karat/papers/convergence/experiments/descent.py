"""The questions that training of two-layer nets answers: reach, width, target, exits."""

from dataclasses import replace

from karat.papers.convergence.experiments.two_layer import TwoLayerConfig, run
from karat.study.experiment import Experiment, Preset

TINY = TwoLayerConfig(m=64, R=2.0, n=4, d=4, K=5, steps=60)

# All questions train the same nets; they differ in what is varied.

THM51 = Experiment(
    name="convergence.thm5.1",
    title="Does unprojected adversarial training of a wide paired net reach the best robust loss nearby?",
    paper="convergence",
    presets={
        "tiny": Preset(config=TINY, grid={"attack": ("worst", "random")}, seeds=2, cell_seconds=0.2),
        "quick": Preset(
            # Softplus, whose slope changes slowest: the proof's constants ask for no more than the theorem.
            config=TwoLayerConfig(m=1600, R=2.0, n=6, K=6, lr=0.1, steps=461, activation="softplus"),
            grid={"attack": ("worst", "one_step", "identity", "random", "hashed")},
            seeds=8,
            cell_seconds=0.25,
        ),
        "full": Preset(
            config=TwoLayerConfig(m=12_000, R=2.0, tol=0.05, lr=0.05, steps=2800),
            grid={
                "attack": ("worst", "one_step", "identity", "random", "hashed"),
                "activation": ("smoothed_relu", "softplus", "smooth_leaky_relu"),
            },
            seeds=10,
            cell_seconds=150,
        ),
    },
    run=run,
)

WIDTH = Experiment(
    name="convergence.width",
    title="How do gap, movement and activation patterns change with the width, projected and not?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=TINY,
            points=(
                *({"m": m, "projected": flag} for m in (16, 64, 256) for flag in (True, False)),
                *({"R": R, "projected": True} for R in (0.5, 1.0)),
            ),
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=TwoLayerConfig(m=256, R=4.0, n=8, K=8, lr=0.5, steps=300, activation="smooth_leaky_relu"),
            # Unprojected runs need fewer widths: only their movement is drawn, no exponent is fitted.
            points=(
                *({"m": m, "projected": True} for m in (16, 64, 256, 1024)),
                *({"m": m} for m in (16, 256, 1024)),
                *({"R": R, "projected": True} for R in (1.0, 2.0)),
            ),
            seeds=4,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=TwoLayerConfig(m=64, R=4.0, steps=3000),
            grid={"m": (16, 64, 256, 1024, 4096), "projected": (True, False), "R": (2.0, 4.0, 8.0)},
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)

COR51 = Experiment(
    name="convergence.cor5.1",
    title="Does adversarial training drive the loss to the target once the ball holds a robust net?",
    paper="convergence",
    presets={
        "tiny": Preset(config=replace(TINY, R=6.0, lr=0.5, steps=150), seeds=2, cell_seconds=0.3),
        # Few caps, whose robust net lies so near that the theorem's own width can be paid.
        "quick": Preset(
            config=TwoLayerConfig(m=2402, R=3.5, n=4, K=8, tol=0.25, lr=0.25, steps=196),
            seeds=8,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=TwoLayerConfig(m=11_380, R=4.0, n=4, tol=0.15, lr=0.15, steps=712),
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)

EXIT = Experiment(
    name="convergence.exit",
    title="Does unprojected training stay within 3 R of its start, or succeed before it leaves?",
    paper="convergence",
    presets={
        "tiny": Preset(
            config=replace(TINY, m=256, tol=0.2, lr=0.2, steps=101),
            grid={"R": (0.3, 1.0)},
            seeds=2,
            cell_seconds=0.2,
        ),
        # T = sqrt(m)/(c lr) with c = 0.9; radii for m >= R^4/tol^2, the larger ones too large to be left.
        "quick": Preset(
            config=TwoLayerConfig(
                m=512, R=1.0, n=6, K=6, tol=0.05, lr=0.05, steps=503, activation="smooth_leaky_relu"
            ),
            grid={"R": (0.5, 0.7, 1.0), "attack": ("worst", "random")},
            seeds=3,
            cell_seconds=0.25,
        ),
        "full": Preset(
            config=TwoLayerConfig(m=6400, R=1.0, tol=0.05, lr=0.05, steps=2006),
            grid={"R": (0.5, 1.0, 2.0), "attack": ("worst", "one_step", "random", "hashed")},
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
)
