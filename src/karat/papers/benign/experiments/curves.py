"""Training curves on the noisy mixture: the theorem's algorithm and the paper's own experiment."""

from dataclasses import replace
from typing import Any

import torch

from karat.papers.benign.experiments.evaluation import CurvesResult, Evaluation, as_curves
from karat.papers.benign.experiments.exact import run_exact
from karat.papers.benign.experiments.mixture import MixtureConfig, Start, work
from karat.papers.benign.experiments.plain import run_plain
from karat.study.experiment import Experiment, Preset


def run(config: MixtureConfig, generator: torch.Generator) -> CurvesResult:
    """Train once and return curves over the evaluated steps, with the last evaluation.

    Args:
        config: the run.
        generator: draws net and data.
    """
    return as_curves((run_exact if config.exact else run_plain)(config, generator))


def run_final(config: MixtureConfig, generator: torch.Generator) -> Evaluation:
    """Train once and return the last evaluation only.

    Args:
        config: the run.
        generator: draws net and data.
    """
    return run(replace(config, evaluations=1), generator).final


def _config(start: Start, **settings: Any) -> MixtureConfig:
    # The theorem's algorithm is also told apart by its first step, which sees unperturbed points.
    common: dict[str, Any] = {"n": 100, "ratio": 0.1, "flip_rate": 0.1, "attack_first": start == "pytorch"}
    return MixtureConfig(start=start, **(common | settings))


def _presets(start: Start) -> dict[str, Preset[MixtureConfig]]:
    tiny = _config(start, n=20, d=60, m=16, mu=4.0, steps=200, n_test=200, evaluations=6)
    paper = _config(start, d=1000, m=1000, mu=5.0, steps=1000)
    # Half the printed length: the last decay of the step size changes the errors by less than their spread.
    quick = _config(start, d=1000, m=1000, mu=5.0, steps=500)
    return {
        "tiny": Preset(config=tiny, seeds=2, cell_seconds=0.5),
        "quick": Preset(config=quick, seeds=3, cell_seconds=4.5),
        "full": Preset(config=paper, seeds=10, cell_seconds=12),
    }


THM31 = Experiment(
    name="benign.thm3.1",
    title="Does the theorem's own algorithm overfit benignly?",
    paper="benign",
    presets=_presets("symmetric"),
    run=run,
    work=work,
)

_FIG2_POINTS: tuple[dict[str, Any], ...] = (
    *({"mu": mu} for mu in (4.0, 6.0, 8.0, 10.0)),
    *({"d": d} for d in (500, 1000, 1500)),
    *({"ratio": ratio} for ratio in (0.05, 0.15)),
)

FIG2 = Experiment(
    name="benign.fig2",
    title="How do training loss and robust test error move over training, as |mu|, d and the attack vary?",
    paper="benign",
    presets={
        "tiny": Preset(
            config=_presets("pytorch")["tiny"].config,
            points=({}, {"mu": 2.0}, {"d": 120}, {"ratio": 0.2}),
            seeds=2,
            cell_seconds=0.2,
        ),
        "quick": Preset(
            config=_config("pytorch", d=1000, m=250, mu=5.0, steps=400, n_test=1000, evaluations=9),
            points=_FIG2_POINTS,
            seeds=3,
            cell_seconds=0.5,
        ),
        "full": Preset(
            config=_config("pytorch", d=1000, m=1000, mu=5.0, steps=1000),
            points=_FIG2_POINTS,
            seeds=10,
            cell_seconds=12,
        ),
    },
    run=run,
)

SEC5 = Experiment(
    name="benign.sec5",
    title="Does the paper's experiment (PyTorch start, every parameter trained) overfit benignly?",
    paper="benign",
    presets=_presets("pytorch"),
    run=run,
)
