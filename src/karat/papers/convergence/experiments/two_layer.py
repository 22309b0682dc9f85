"""Adversarial training of paired two-layer nets against the best robust loss near the start."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from karat.core.activations import Activation, QuadraticRelu, Relu, SmoothLeakyRelu, Softplus
from karat.core.cap import Cap
from karat.core.checks import require_even, require_integer, require_number, require_settings
from karat.core.smoothings import SmoothedRelu
from karat.nets import TwoLayer, init
from karat.papers.convergence.experiments.sets import PseudoHuber, draw_sets
from karat.probes.movement import frobenius_movement, pattern_change, row_movement
from karat.study.experiment import Experiment, Preset
from karat.training import FrobeniusBall
from karat.training.displacements import hilbert_ball
from karat.training.linearised import LinearisedProblem
from karat.training.surrogate import Pick, Sets, SurrogateDescent, hashed, identity, one_step, random, worst

ActivationName = Literal["relu", "smoothed_relu", "softplus", "smooth_leaky_relu", "quadratic_relu"]
SMOOTHING = 0.5
"""Noise of the smoothed ReLU; its derivative is then Lipschitz with constant 0.8."""


def activation_of(name: ActivationName) -> Activation:
    """The activation of a name."""
    chosen: dict[str, Activation] = {
        "relu": Relu(),
        "smoothed_relu": SmoothedRelu(SMOOTHING),
        "softplus": Softplus(),
        "smooth_leaky_relu": SmoothLeakyRelu(0.1, 2.0),
        "quadratic_relu": QuadraticRelu(),
    }
    return chosen[name]


SLOPE_LIPSCHITZ = {
    "smoothed_relu": 1 / (SMOOTHING * math.sqrt(2 * math.pi)),
    "softplus": 0.25,
    "smooth_leaky_relu": 0.9,
    "quadratic_relu": 2.0,
}
"""Lipschitz constants of phi'."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run.

    Args:
        m: width, both halves counted.
        R: radius of the Frobenius ball of the reference (and of the projection).
        projected: project to that ball after every step.
        attack: the perturbation function.
        n, d, tau, K: samples, dimension, cap radius, allowed points per sample.
        tol: target of the theorem.
        lr, steps: of gradient descent; activation.
        rows: Gaussian start, or on the sphere of radius sqrt d.
    """

    m: int
    R: float
    projected: bool = False
    attack: Literal["worst", "one_step", "identity", "random", "hashed"] = "worst"
    n: int = 10
    d: int = 6
    tau: float = 0.25
    K: int = 12
    tol: float = 0.1
    lr: float = 0.3
    steps: int = 300
    activation: ActivationName = "smoothed_relu"
    rows: Literal["gaussian", "sphere"] = "gaussian"

    def __post_init__(self) -> None:
        for name in ("K", "steps"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("d", "n"):
            require_integer(getattr(self, name), name, "Config", minimum=2)
        require_even(self.m, "m", "Config")
        for name in ("R", "lr", "tol"):
            require_number(getattr(self, name), name, "Config", positive=True)
        Cap(self.tau)
        require_settings(self)


def draw_net(config: Config, generator: torch.Generator) -> TwoLayer:
    """The paired start."""
    net = init.paired(
        config.d,
        config.m,
        generator=generator,
        sd_W=1.0,
        scale=1 / math.sqrt(config.m),
        activation=activation_of(config.activation),
    )
    if config.rows == "sphere":
        length = torch.linalg.vector_norm(net.W, dim=1, keepdim=True)
        net = net.replace(W=net.W * (math.sqrt(config.d) / length))
    return net


def perturbation(config: Config, sets: Sets, generator: torch.Generator) -> Pick:
    """The perturbation function of the config."""
    chosen: dict[str, Pick] = {
        "worst": worst(PseudoHuber()),
        "one_step": one_step(sets),
        "identity": identity,
        "random": random(generator),
        "hashed": hashed,
    }
    return chosen[config.attack]


def reference(net: TwoLayer, sets: Sets, R: float) -> tuple[float, float, TwoLayer]:
    """Best robust loss of the linearised net in the ball: value, certified lower bound, the net itself."""
    n, K, d = sets.x.shape
    x, y = sets.x.reshape(n * K, d), sets.y.repeat_interleave(K)
    space = hilbert_ball(net, x, y)
    problem = LinearisedProblem(
        space=space, margin=y * net(x), sample=torch.arange(n).repeat_interleave(K), loss=PseudoHuber()
    )
    found = problem.solve(R, steps=800, sharpness=200.0)
    c = torch.linalg.lstsq(space.root.T, found.D.unsqueeze(1), driver="gelsd").solution.squeeze(1)
    gates = net.activation.derivative(net.preactivations(x)) * (net.scale * net.a)
    D = (c.unsqueeze(1) * gates).T @ (y.unsqueeze(1) * x)
    D = D * min(1.0, R / max(float(torch.linalg.vector_norm(D)), 1e-300))
    return found.loss, found.bound, net.replace(W=net.W + D)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train, and compare min_t L_A(W_t) with the best robust loss of the ball.

    Reading: L_*(W_*) is the minimum over a non-convex set of nets; the linearised problem replaces it, with a
        certificate. The net may do slightly better than its linearisation, so gaps can be negative.

    Ref: convergence, Thm 5.1
    """
    sets = draw_sets(config.n, config.d, config.tau, config.K, generator)
    start = draw_net(config, generator)
    best, certified, target = reference(start, sets, config.R)
    loss = PseudoHuber()
    aim = float(loss(sets.margins(target)).amax(dim=1).mean())
    trace = Trace(start, target, aim, config)
    descent = SurrogateDescent(
        lr=config.lr,
        loss=loss,
        projection=FrobeniusBall({"W": start.W}, config.R) if config.projected else None,
    )
    pick = perturbation(config, sets, generator)
    net, losses = descent.run(start, sets, pick, steps=config.steps, observe=trace)
    running = torch.tensor(losses).cummin(dim=0).values
    at = [step for step in (10, 30, 100, 300, 1000, 3000) if step <= config.steps]
    return {
        "reference": best,
        "reference_bound": certified,
        "target_loss": aim,
        "steps": at,
        "gap": [float(running[step - 1]) - certified for step in at],
        "final_gap": float(running[-1]) - certified,
        "best_loss": float(running[-1]),
        "robust_loss": float(loss(sets.margins(net)).amax(dim=1).mean()),
        "frobenius": frobenius_movement(net, start),
        "rows": row_movement(net, start),
        "pattern_change": pattern_change(net, start, sets.x[:, 0]),
        **trace.summary(),
    }


class Trace:
    """Watches an unprojected run: when it leaves B(R) and B(3R), and which c the regret recursion needs."""

    def __init__(self, start: TwoLayer, target: TwoLayer, aim: float, config: Config) -> None:
        self.start, self.target, self.aim, self.config = start, target, aim, config
        self.left: dict[int, int] = {}
        self.before_exit = math.inf
        self.c = -math.inf
        self.last: tuple[float, float, float] | None = None

    def __call__(self, step: int, net: TwoLayer, loss: float, size: float) -> None:
        """Called before every update."""
        config = self.config
        moved = frobenius_movement(net, self.start)
        for factor in (1, 3):
            if moved > factor * config.R:
                self.left.setdefault(factor, step)
        if 3 not in self.left:
            self.before_exit = min(self.before_exit, loss)
        squared = float((net.W - self.target.W).square().sum())
        if self.last is not None and not config.projected:
            before, loss_before, size_before = self.last
            rest = squared - before - 2 * config.lr * (self.aim - loss_before) - config.lr**2 * size_before
            self.c = max(self.c, rest * math.sqrt(config.m) / (config.lr * before))
        self.last = (squared, loss, size)

    def summary(self) -> dict[str, Any]:
        """Exit times (null: never) and the largest constant that the recursion needed."""
        return {
            "left_ball": self.left.get(1),
            "left_triple": self.left.get(3),
            "loss_before_exit": self.before_exit,
            "regret_constant": self.c if math.isfinite(self.c) else None,
        }


UNDEFINED = {
    "left_ball": "the net never leaves B(R)",
    "left_triple": "the net never leaves B(3R)",
    "regret_constant": "projected runs have no recursion",
}

TINY = Config(m=64, R=2.0, n=4, d=4, K=5, steps=60)

THM51 = Experiment(
    name="convergence.thm5.1",
    title="Does unprojected adversarial training of a wide paired net reach the best robust loss nearby?",
    paper="convergence",
    presets={
        "tiny": Preset(config=TINY, grid={"attack": ("worst", "random")}, seeds=2, cell_seconds=0.2),
        "quick": Preset(
            config=Config(m=1600, R=2.0, n=8, K=8, lr=0.5, steps=80),
            grid={"attack": ("worst", "one_step", "identity", "random", "hashed")},
            seeds=3,
            cell_seconds=0.7,
        ),
        "full": Preset(
            config=Config(m=6400, R=2.0, tol=0.05, lr=0.1, steps=800),
            grid={
                "attack": ("worst", "one_step", "identity", "random", "hashed"),
                "activation": ("smoothed_relu", "softplus", "smooth_leaky_relu"),
            },
            seeds=10,
            cell_seconds=30,
        ),
    },
    run=run,
    undefined=UNDEFINED,
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
            config=Config(m=256, R=4.0, n=8, K=8, lr=0.5, steps=300, activation="smooth_leaky_relu"),
            points=(
                *({"m": m, "projected": True} for m in (16, 64, 256, 1024)),
                *({"m": m} for m in (16, 256, 1024)),
                *({"R": R, "projected": True} for R in (1.0, 2.0)),
            ),
            seeds=4,
            cell_seconds=0.6,
        ),
        "full": Preset(
            config=Config(m=64, R=4.0, steps=3000),
            grid={"m": (16, 64, 256, 1024, 4096), "projected": (True, False), "R": (2.0, 4.0, 8.0)},
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

COR51 = Experiment(
    name="convergence.cor5.1",
    title="Does adversarial training drive the loss to the target once the ball holds a robust net?",
    paper="convergence",
    presets={
        "tiny": Preset(config=replace(TINY, R=6.0, lr=0.5, steps=150), seeds=2, cell_seconds=0.3),
        "quick": Preset(config=Config(m=512, R=8.0, n=8, K=8, lr=1.0, steps=640), seeds=3, cell_seconds=2),
        "full": Preset(config=Config(m=8192, R=8.0, lr=0.2, steps=3200), seeds=10, cell_seconds=120),
    },
    run=run,
    undefined=UNDEFINED,
)

_QUADRATIC = Config(
    m=512, R=4.0, n=6, d=3, tau=0.2, activation="quadratic_relu", rows="sphere", lr=0.05, steps=800
)

QUADRATIC = Experiment(
    name="convergence.appC.2",
    title="Does the quadratic ReLU reach a small robust loss without any assumption on its kernel's space?",
    paper="convergence",
    presets={
        "tiny": Preset(config=replace(_QUADRATIC, m=64, n=4, K=5, steps=150), seeds=2, cell_seconds=0.3),
        "quick": Preset(config=_QUADRATIC, grid={"m": (64, 512)}, seeds=3, cell_seconds=0.8),
        "full": Preset(
            config=replace(_QUADRATIC, K=40, steps=8000),
            grid={"m": (64, 512, 4096)},
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)

EXIT = Experiment(
    name="convergence.exit",
    title="Does unprojected training stay within 3 R of its start, or succeed before it leaves?",
    paper="convergence",
    presets={
        "tiny": Preset(config=TINY, grid={"R": (0.3, 1.0)}, seeds=2, cell_seconds=0.2),
        "quick": Preset(
            config=Config(m=128, R=1.0, lr=0.5, steps=250, activation="smooth_leaky_relu"),
            grid={"R": (0.5, 1.0, 2.0), "attack": ("worst", "random")},
            seeds=3,
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=Config(m=1024, R=1.0, lr=0.2, steps=3000),
            grid={"R": (0.5, 1.0, 2.0, 4.0, 8.0), "attack": ("worst", "one_step", "random", "hashed")},
            seeds=10,
            cell_seconds=60,
        ),
    },
    run=run,
    undefined=UNDEFINED,
)
