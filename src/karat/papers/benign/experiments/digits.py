"""The same training on digits 0 and 1 at several resolutions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from karat.core.checks import require_integer, require_number, require_settings
from karat.core.norms import norm
from karat.data.digits import SIDE, default_source, load_digits, resize
from karat.data.samples import Samples
from karat.nets import init
from karat.papers.benign.experiments import mixture
from karat.papers.benign.experiments.curves import as_curves
from karat.papers.benign.experiments.exact import Problem, run_problem
from karat.papers.benign.experiments.maps import SCALARS
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of one run on digits.

    Args:
        side: images become side x side; up to 28 by averaging areas, beyond by zero padding.
        n, m: training samples, hidden neurons.
        mu: length of every image.
        ratio: attack radius over mu.
        source: embedded digits or full MNIST; the rest as on the mixture.
    """

    side: int
    n: int
    m: int
    mu: float
    ratio: float
    steps: int
    source: Literal["embedded", "mnist"]
    lr: float = 0.1
    decay_every: int = 500
    evaluations: int = 12
    precision: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        for name in ("side", "n", "m", "steps"):
            require_integer(getattr(self, name), name, "Config", minimum=1)
        for name in ("mu", "lr"):
            require_number(getattr(self, name), name, "Config", positive=True)
        require_number(self.ratio, "ratio", "Config", minimum=0)
        require_settings(self)

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2

    def training(self) -> mixture.Config:
        """The mixture's settings with the same training."""
        return mixture.Config(
            d=self.d,
            n=self.n,
            m=self.m,
            mu=self.mu,
            ratio=self.ratio,
            flip_rate=0.0,
            start="pytorch",
            steps=self.steps,
            lr=self.lr,
            decay_every=self.decay_every,
            evaluations=self.evaluations,
            precision=self.precision,
        )


def _digits(config: Config, dtype: torch.dtype, *, train: bool) -> Samples:
    samples = load_digits(config.source, train=train, dtype=dtype)
    x = resize(samples.x, config.side)
    return Samples.clean(x * (config.mu / norm(x, 2)).unsqueeze(1), samples.y)


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train on n random digits, test on the whole test part; images have length mu, labels no noise.

    Ref: benign, Fig 4
    """
    training = config.training()
    pool = _digits(config, training.dtype, train=True)
    if config.n > len(pool):
        raise ValueError(
            f"`n` of `Config` must be at most {len(pool)} for {config.source} digits, got {config.n}."
        )
    train = pool.take(torch.randperm(len(pool), generator=generator)[: config.n])
    test = _digits(config, training.dtype, train=False)
    net = init.pytorch_default(config.d, config.m, generator=generator, dtype=training.dtype)
    nothing = train.x.new_zeros(1, config.d)
    problem = Problem(net, train.x, train.y, train.flipped, nothing, test.x, test.y, 0)
    return as_curves(run_problem(training, problem))


def run_final(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """The last values only."""
    values = run(replace(config, evaluations=1), generator)
    return {name: values[f"final_{name}"] for name in SCALARS}


SOURCE = default_source()
PAPER = Config(side=SIDE, n=100, m=1000, mu=5.0, ratio=0.1, steps=1000, source=SOURCE)
SMALL = replace(PAPER, m=250, steps=400)
TINY = replace(PAPER, side=7, n=30, m=16, steps=40, source="embedded")


def _presets(
    tiny: Mapping[str, Any], quick: Mapping[str, Any], full: Mapping[str, Any], ratio: float
) -> dict[str, Preset]:
    return {
        "tiny": Preset(config=replace(TINY, ratio=ratio), seeds=2, cell_seconds=0.2, **tiny),
        "quick": Preset(config=replace(SMALL, ratio=ratio), seeds=2, cell_seconds=1.5, **quick),
        "full": Preset(config=replace(PAPER, ratio=ratio), seeds=10, cell_seconds=15, **full),
    }


_SIDES = (5, 7, 10, 14, 17, 20, 24, 28)

FIG4 = Experiment(
    name="benign.fig4",
    title="Do digits show the same transitions over (|mu|, d)?",
    paper="benign",
    presets=_presets(
        {"grid": {"side": (5, 6, 7), "mu": (1.0, 4.0, 8.0)}},
        {"grid": {"side": (7, 14, 28), "mu": (0.15, 0.5, 2.0)}},
        {"grid": {"side": _SIDES, "mu": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)}},
        0.3,
    ),
    run=run_final,
)

FIG5 = Experiment(
    name="benign.fig5",
    title="How does robust accuracy on digits fall with the attack, at each resolution?",
    paper="benign",
    presets=_presets(
        {"grid": {"side": (5, 7), "ratio": (0.1, 0.4)}},
        {"grid": {"side": (10, 28), "ratio": (0.05, 0.25, 0.45)}},
        {"grid": {"side": _SIDES, "ratio": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)}},
        0.1,
    ),
    run=run_final,
)

_FIG6 = (
    *({"mu": mu} for mu in (3.0, 5.0, 7.0, 10.0)),
    *({"side": side} for side in (17, 20, 32)),
    *({"mu": 10.0, "ratio": ratio} for ratio in (0.05, 0.15, 0.2)),
)

FIG6 = Experiment(
    name="benign.fig6",
    title="Do robust training loss and robust test error on digits both fall to 0?",
    paper="benign",
    presets=_presets({"points": ({"mu": 3.0}, {"side": 6})}, {"points": _FIG6[:7:2]}, {"points": _FIG6}, 0.1),
    run=run,
)
