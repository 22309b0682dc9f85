"""Training curves on the noisy mixture: the theorem's algorithm and the paper's own experiment."""

from typing import Any

import torch

from karat.experiments.benign.mixture import Config
from karat.experiments.benign.plain import run_plain
from karat.experiments.experiment import Experiment, Preset


def run(config: Config, generator: torch.Generator) -> dict[str, Any]:
    """Train once; curves over the evaluation steps and their last values."""
    measurements = run_plain(config, generator)
    curves: dict[str, Any] = {
        name: [values[name] for _, values in measurements] for name in measurements[0][1]
    }
    last = {f"final_{name}": curve[-1] for name, curve in curves.items()}
    return {"iterations": [step for step, _ in measurements], **curves, **last}


def _preset(start: str, **settings: Any) -> Config:
    theorem = start == "symmetric"
    common: dict[str, Any] = {"n": 100, "ratio": 0.1, "flip_rate": 0.1, "attack_first": not theorem}
    return Config(start=start, **(common | settings))  # type: ignore[arg-type]


def _presets(start: str) -> dict[str, Preset]:
    tiny = _preset(start, n=20, d=60, m=16, mu=4.0, steps=200, n_test=200, evaluations=6)
    quick = _preset(start, d=1000, m=1000, mu=5.0, steps=1000)
    return {
        "tiny": Preset(config=tiny, seeds=2, cell_seconds=0.5),
        "quick": Preset(config=quick, seeds=3, cell_seconds=15),
        "full": Preset(config=quick, seeds=10, cell_seconds=15),
    }


THM31 = Experiment(
    name="benign.thm3.1",
    title="Does the theorem's own algorithm overfit benignly?",
    paper="benign",
    presets=_presets("symmetric"),
    run=run,
)

SEC5 = Experiment(
    name="benign.sec5",
    title="Does the paper's experiment (PyTorch start, every parameter trained) overfit benignly?",
    paper="benign",
    presets=_presets("pytorch"),
    run=run,
)
