"""The same training on digits 0 and 1 at several resolutions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from karat.core.norms import norm
from karat.core.ranges import Count, NonNegative, Positive, settings
from karat.data.digits import SIDE, default_source, load_digits, resize
from karat.data.samples import Samples
from karat.nets import init
from karat.papers.benign.experiments.evaluation import CurvesResult, Evaluation, as_curves
from karat.papers.benign.experiments.exact import TrainingProblem, run_problem
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.study.experiment import Experiment, Preset


@dataclass(frozen=True, kw_only=True)
@settings
class DigitsConfig:
    """Settings of one run on digits 0 and 1, trained as on the mixture from PyTorch's start.

    Args:
        side: images become side x side; up to 28 by averaging areas, beyond by zero padding.
        n: training samples.
        m: hidden neurons.
        mu: length of every image, which stands for the signal.
        ratio: attack radius over mu.
        steps: gradient steps.
        source: embedded digits or full MNIST.
        lr: size of the gradient steps.
        decay_every: steps after which the size falls to a tenth.
        evaluations: how often the test error is taken.
        precision: of the arithmetic.
    """

    side: Count
    n: Count
    m: Count
    mu: Positive
    ratio: NonNegative
    steps: Count
    source: Literal["embedded", "mnist"]
    lr: Positive = 0.1
    decay_every: Count = 500
    evaluations: Count = 12
    precision: Literal["float32", "float64"] = "float32"

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.side**2

    @property
    def flip_rate(self) -> float:
        """Label noise: digits keep their labels."""
        return 0.0

    def training(self) -> MixtureConfig:
        """The mixture's settings with the same training."""
        return MixtureConfig(
            d=self.d,
            n=self.n,
            m=self.m,
            mu=self.mu,
            ratio=self.ratio,
            flip_rate=self.flip_rate,
            start="pytorch",
            steps=self.steps,
            lr=self.lr,
            decay_every=self.decay_every,
            evaluations=self.evaluations,
            precision=self.precision,
        )


def _digits(config: DigitsConfig, dtype: torch.dtype, *, train: bool) -> Samples:
    samples = load_digits(config.source, train=train, dtype=dtype)
    x = resize(samples.x, config.side)
    return Samples.clean(x * (config.mu / norm(x, 2)).unsqueeze(1), samples.y)


def run(config: DigitsConfig, generator: torch.Generator) -> CurvesResult:
    """Train on n random digits, test on the whole test part; images have length mu, labels no noise.

    Args:
        config: the run.
        generator: chooses the digits and draws the net.

    Ref: benign, Fig 4
    """
    training = config.training()
    pool = _digits(config, training.dtype, train=True)
    if config.n > len(pool):
        raise ValueError(
            f"`n` of `DigitsConfig` must be at most {len(pool)} for {config.source} digits, got {config.n}."
        )
    train = pool.take(torch.randperm(len(pool), generator=generator)[: config.n])
    test = _digits(config, training.dtype, train=False)
    net = init.pytorch_default(config.d, config.m, generator=generator, dtype=training.dtype)
    # Digits have no mean to follow and are tested as they are: neither mu nor the seed of noise is used.
    no_signal = train.x.new_zeros(1, config.d)
    problem = TrainingProblem(net, train.x, train.y, no_signal, test.x, test.y, 0)
    return as_curves(run_problem(training, problem))


def run_final(config: DigitsConfig, generator: torch.Generator) -> Evaluation:
    """Train once and return the last evaluation only.

    Args:
        config: the run.
        generator: chooses the digits and draws the net.
    """
    return run(replace(config, evaluations=1), generator).final


_SOURCE = default_source()
_PAPER_SIZE = DigitsConfig(side=SIDE, n=100, m=1000, mu=5.0, ratio=0.1, steps=1000, source=_SOURCE)
_QUICK_SIZE = replace(_PAPER_SIZE, m=250, steps=400)
_TINY_SIZE = replace(_PAPER_SIZE, side=7, n=30, m=16, steps=40, source="embedded")


def _presets(
    *, ratio: float, tiny: Mapping[str, Any], quick: Mapping[str, Any], full: Mapping[str, Any]
) -> dict[str, Preset[DigitsConfig]]:
    """The three sizes at one attack ratio, each with its grid or points."""
    return {
        "tiny": Preset(config=replace(_TINY_SIZE, ratio=ratio), seeds=2, cell_seconds=0.2, **tiny),
        "quick": Preset(config=replace(_QUICK_SIZE, ratio=ratio), seeds=3, cell_seconds=0.65, **quick),
        "full": Preset(config=replace(_PAPER_SIZE, ratio=ratio), seeds=10, cell_seconds=15, **full),
    }


_SIDES = (5, 7, 10, 14, 17, 20, 24, 28)

FIG4 = Experiment(
    name="benign.fig4",
    title="Do digits show the same transitions over (|mu|, d)?",
    paper="benign",
    presets=_presets(
        ratio=0.3,
        tiny={"grid": {"side": (5, 6, 7), "mu": (1.0, 4.0, 8.0)}},
        quick={"grid": {"side": (7, 14, 28), "mu": (0.15, 0.3, 0.6, 1.2, 2.0)}},
        full={"grid": {"side": _SIDES, "mu": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)}},
    ),
    run=run_final,
)

FIG5 = Experiment(
    name="benign.fig5",
    title="How does robust accuracy on digits fall with the attack, at each resolution?",
    paper="benign",
    presets=_presets(
        ratio=0.1,
        tiny={"grid": {"side": (5, 7), "ratio": (0.1, 0.4)}},
        quick={"grid": {"side": (10, 28), "ratio": (0.05, 0.25, 0.45)}},
        full={"grid": {"side": _SIDES, "ratio": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)}},
    ),
    run=run_final,
)

_FIG6_POINTS = (
    *({"mu": mu} for mu in (3.0, 5.0, 7.0, 10.0)),
    *({"side": side} for side in (17, 20, 32)),
    *({"mu": 10.0, "ratio": ratio} for ratio in (0.05, 0.15, 0.2)),
)

FIG6 = Experiment(
    name="benign.fig6",
    title="Do robust training loss and robust test error on digits both fall to 0?",
    paper="benign",
    presets=_presets(
        ratio=0.1,
        tiny={"points": ({"mu": 3.0}, {"side": 6})},
        quick={"points": _FIG6_POINTS[::3]},
        full={"points": _FIG6_POINTS},
    ),
    run=run,
)
