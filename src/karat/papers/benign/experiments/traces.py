"""The proof's lemmas along training: what each says at every step, against what happens."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from karat.attacks import FixedDirection
from karat.core.ball import Ball
from karat.core.ranges import Positive
from karat.papers.benign.experiments.exact import TrainingProblem, draw_problem
from karat.papers.benign.experiments.lemma_trace import LemmaResult, LemmaTrace
from karat.papers.benign.experiments.mixture import MixtureConfig
from karat.papers.benign.experiments.regime import DEEPER, INSIDE
from karat.study.experiment import Experiment, Preset
from karat.training import Adversary


@dataclass(frozen=True, kw_only=True)
class LemmaConfig(MixtureConfig):
    """Settings of a run that the lemmas speak of: from the theorem's start, with one step size.

    Args:
        attacker: "pgd", or "outside": a push of the same length against the label along one direction
            orthogonal to the data, as a random direction of the input space nearly is.
        test_noise: standard deviation of the test points' noise over that of the cluster law, whose
            concentration Lemma 4.2 rests on.
    """

    attacker: Literal["pgd", "outside"] = "pgd"
    test_noise: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start != "symmetric" or self.attack_first:
            raise ValueError(
                "`start` of `LemmaConfig` must be symmetric and `attack_first` false: the lemmas speak of "
                "that start without a perturbation at t = 0."
            )
        if self.decay_every < self.steps:
            raise ValueError(
                f"`decay_every` of `LemmaConfig` must be at least `steps` = {self.steps}, for the lemmas "
                f"speak of a constant step size; got {self.decay_every}."
            )


def run(config: LemmaConfig, generator: torch.Generator) -> LemmaResult:
    """Train from the theorem's start and return the extremes of every lemma's quantity.

    Args:
        config: the run.
        generator: draws net and data.
    """
    problem = draw_problem(config, generator)
    method = config.attack() if config.attacker == "pgd" else FixedDirection(_outside(problem))
    trace = LemmaTrace(config, problem, method, test_noise=config.test_noise)
    adversary = Adversary(method, Ball(2, config.tau), first_step=1)
    # The lemmas need the weights of every step, so the run goes through the plain trainer, in the span.
    trajectory = replace(config.trainer(), adversary=adversary).run(
        problem.net,
        problem.x,
        problem.y,
        steps=config.steps,
        observe=trace.observe,
        observe_at=range(config.steps + 1),
    )
    if trajectory.divergence is not None:
        raise trajectory.divergence
    return trace.result(trajectory.net)


def _outside(problem: TrainingProblem) -> Tensor:
    """A direction orthogonal to the training points: what they leave of the first weight vector."""
    basis = torch.linalg.qr(problem.x.T).Q
    w = problem.net.W[0]
    return w - basis @ (basis.T @ w)


_WIDE = LemmaConfig(
    d=2000,
    n=50,
    m=100,
    mu=5.0,
    ratio=0.1,
    flip_rate=0.1,
    start="symmetric",
    attack_first=False,
    steps=80,
    decay_every=10**9,
    n_test=500,
    precision="float64",
)
_VARIED: tuple[dict[str, Any], ...] = (
    {},
    {"d": 8000},
    {"n": 100},
    {"mu": 8.0},
    {"ratio": 0.5},
    {"activation": "smooth_leaky_relu", "slope": 0.3, "lr": 0.01},
)

_INSIDE = LemmaConfig(**vars(replace(INSIDE, steps=60, n_test=300)))
# Every hypothesis is met in these as well, up to C = 4 and C = 8 in the two deepest.
_MET: tuple[dict[str, Any], ...] = (
    {},
    {"d": 40_000, "n": 40, "m": 32, "mu": 17.1, "ratio": 0.05, "lr": 1 / (2.5 * 40_000**2)},
    *DEEPER,
    {"activation": "smooth_leaky_relu", "slope": 0.3, "smoothness": 1e5},
)


def _experiment(
    name: str, title: str, config: LemmaConfig, points: tuple[dict[str, Any], ...]
) -> Experiment[LemmaConfig, LemmaResult]:
    return Experiment(
        name=name,
        title=title,
        paper="benign",
        presets={
            "tiny": Preset(
                config=replace(config, steps=12, n_test=60), points=points[:: len(points) - 1], seeds=2
            ),
            "quick": Preset(config=config, points=points, seeds=3, cell_seconds=0.5),
            "full": Preset(
                config=replace(config, steps=2000, n_test=2000), points=points, seeds=10, cell_seconds=60
            ),
        },
        run=run,
    )


LEMMAS = _experiment(
    "benign.lemmas", "Do the lemmas of the proof hold along training, where they should?", _INSIDE, _MET
)
LEMMAS_WIDE = _experiment(
    "benign.lemmas_wide", "How far beyond the hypotheses do the lemmas still hold?", _WIDE, _VARIED
)

FIRST_STEP = Experiment(
    name="benign.first_step",
    title="What has a single step of adversarial training done, draw by draw?",
    paper="benign",
    presets={
        "tiny": Preset(config=replace(_INSIDE, steps=1, n_test=40), seeds=2, cell_seconds=0.1),
        # With 40 draws a share of 1 is told from 0.9, the probability that the theorem promises.
        "quick": Preset(
            config=replace(_INSIDE, steps=1, n_test=40), points=({}, *DEEPER), seeds=40, cell_seconds=0.02
        ),
        "full": Preset(
            config=replace(_INSIDE, steps=1, n_test=40), points=({}, *DEEPER), seeds=200, cell_seconds=0.1
        ),
    },
    run=run,
)
