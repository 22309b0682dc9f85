"""The lottery's first phase inside its own regime: how fast winners and others grow, up to T_b."""

from typing import Any

import torch

from karat.papers.purification.experiments.first_phase import Phase, clock, draw_inputs
from karat.papers.purification.experiments.phase_one_config import PhaseConfig, PhaseResult
from karat.papers.purification.experiments.phase_one_measures import measure
from karat.study.experiment import Experiment, Preset

PROOF_SHARE = 0.05
"""Speed of the bias over that of winners in the proof of Theorem C.1, C against 20 C."""

COUPLED: dict[str, Any] = {"d": 1_000_000, "k": 16, "bias_share": 0.35, "sure": 6, "wrong": 1, "typical": 2}
"""A setting in which winners pass 2 sqrt(k) b inside the first phase while every neuron stays in S_ept+."""


def run(config: PhaseConfig, generator: torch.Generator) -> PhaseResult:
    """Train single neurons up to T_b; at every stop measure growth, probabilities and sets."""
    phase = Phase(config, generator)
    ends, stops = clock(config)
    rows: list[dict[str, Any]] = []
    for end in (0.0, *ends):
        if end:
            phase.advance(end)
        if end in stops:
            phase.neurons.settle(phase.b)
            rows.append(measure(phase, draw_inputs(config, phase.neurons, phase.for_inputs)))
    large, small = phase.rates
    mean_small = (1 + config.small_spread) / 2 / config.k**0.5
    return PhaseResult(
        explicit=phase.explicit,
        most_possible=(large + small * mean_small) / 2,
        **{name: [row[name] for row in rows] for name in rows[0]},
    )


PHASE_ONE = Experiment(
    name="purification.phase_one",
    title="Do single neurons grow in the first phase as the lemmas say, inside their regime?",
    paper="purification",
    presets={
        "tiny": Preset(
            config=PhaseConfig(d=20_000, k=15, sure=4, wrong=2, typical=3, n=60, n_test=300, stretch=1.4),
            points=(
                {"d": 20_000, "k": 15},
                {"d": 40_000, "k": 20},
                {"d": 80_000, "k": 26},
                {"bias_share": PROOF_SHARE},
            ),
            seeds=2,
            cell_seconds=0.3,
        ),
        "quick": Preset(
            config=PhaseConfig(d=100_000, k=41, stretch=1.3, n=350),
            points=(
                {"d": 100_000, "k": 41},
                {"d": 300_000, "k": 58},
                {"d": 1_000_000, "k": 86},
                {"d": 100_000, "k": 41, "bias_share": PROOF_SHARE},
                COUPLED,
            ),
            seeds=3,
            cell_seconds=1.6,
        ),
        "full": Preset(
            config=PhaseConfig(d=100_000, k=41, sure=40, wrong=10, typical=30, n=2000, n_test=10_000),
            points=(
                {"d": 100_000, "k": 41},
                {"d": 300_000, "k": 58},
                {"d": 1_000_000, "k": 86},
                {"d": 3_000_000, "k": 123},
                {"d": 100_000, "k": 41, "bias_share": PROOF_SHARE},
                COUPLED,
            ),
            seeds=10,
            cell_seconds=120,
        ),
    },
    run=run,
)
