"""Check of Figure 13: what four attackers do to the 27th layer, and whether stronger ones do more."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from karat.papers.purification.checks.angles import FILTERS, MOST
from karat.papers.purification.checks.frozen_layers import (
    FreezingRun,
    Purification,
    frozen_bits,
    purification,
    raw_pictures,
    three_stages,
)
from karat.papers.purification.checks.image_examples import FREEZING_CONFIG, FREEZING_RESULT, layer_features
from karat.papers.purification.checks.image_records import (
    GAIN,
    HALF_GAIN,
    LESS,
    paper_runs,
    without_attack,
    without_training,
)
from karat.papers.purification.checks.paper_nets import RESNET34
from karat.papers.purification.experiments.freezing import FREEZING, LAYER_27
from karat.papers.purification.experiments.frozen_stages import FreezingConfig
from karat.papers.purification.printed_table1 import ATTACKERS
from karat.study.check import Check
from karat.study.finding import RATIO, Finding
from karat.study.hypothesis import Condition, is_so
from karat.study.judging import all_of, bound, noted
from karat.study.run import examples

BySeed = dict[int, Purification]
"""Seed -> what the attacker's training changed at the layer."""


def attackers(runs: Sequence[FreezingRun]) -> Finding:
    """Judge every attacker, the printed four at least; of two radii of one norm the larger must do more.

    The effect is the fall of waves in the feature pictures, compared seed by seed. An attacker that was not
    met leaves the claim open.
    """
    effects: dict[str, BySeed] = {name: {} for name in ATTACKERS}
    for run in paper_runs(runs, RESNET34):
        effects.setdefault(run.config.attacker, {})[run.seed] = purification(run, _layer(run))
    findings = [finding for seeds in effects.values() for finding in _purifies(seeds)]
    findings += [_stronger(effects[weaker], effects[other]) for weaker, other in _pairs(list(effects))]
    notes = (_told(name, seeds) for name, seeds in effects.items() if seeds)
    return noted(all_of(*findings), f"Means over seeds: {'; '.join(notes)}.")


def _layer(run: FreezingRun) -> str:
    """The 27th layer, the last one of runs without it."""
    return LAYER_27 if LAYER_27 in run.config.layers else run.config.layers[-1]


def _purifies(seeds: BySeed) -> list[Finding]:
    """Robustness comes back while the filters stay, and their pictures need fewer waves."""
    each = list(seeds.values())
    return [
        bound([one.gain for one in each], "at least", HALF_GAIN, GAIN),
        bound([one.kept for one in each], "at least", MOST, FILTERS),
        bound([one.waves for one in each], "at most", LESS, RATIO),
    ]


def _stronger(weaker: BySeed, other: BySeed) -> Finding:
    """Waves that the stronger attacker leaves over those that the weaker one leaves, seed by seed."""
    both = sorted(weaker.keys() & other.keys())
    ratios = [_over(other[seed].waves, weaker[seed].waves) for seed in both]
    return bound(ratios, "at most", 1.0, RATIO)


def _over(first: float, second: float) -> float:
    return first / second if second else float("nan")


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Attackers of one norm next to each other in radius, the weaker first."""
    norms: dict[str, list[tuple[float, str]]] = {}
    for name in names:
        norm, radius = name.partition("@")[0].split(":")[:2]
        norms.setdefault(norm, []).append((float(radius), name))
    ordered = (sorted(members) for members in norms.values())
    return [
        (weaker, other)
        for members in ordered
        for (small, weaker), (large, other) in pairwise(members)
        if small < large
    ]


def _told(name: str, seeds: BySeed) -> str:
    gain, kept, waves = np.mean(list(seeds.values()), axis=0)
    return f"{name} gain {gain:.2f}, {kept:.0%} of filters within theta >= 0.8, {waves:.2f} of the waves left"


def _settings(config: FreezingConfig) -> list[Condition]:
    return [
        *three_stages(config),
        raw_pictures(config),
        is_so("Sec 8: one of the four attackers", config.attacker in ATTACKERS, f"here {config.attacker}"),
        is_so("Fig 13: the 27th convolution", LAYER_27 in config.layers, f"here {', '.join(config.layers)}"),
    ]


def _example(*waves: float) -> list[FreezingRun]:
    """Runs against the four attackers whose pictures keep these shares of three hundred waves."""
    cells = [
        (replace(FREEZING_CONFIG, attacker=name), replace(FREEZING_RESULT, features=layer_features(3 * left)))
        for name, left in zip(ATTACKERS, waves, strict=True)
    ]
    return examples(*cells)


CHECKS = (
    Check(
        claim_id="purification.fig13",
        experiment=FREEZING,
        evaluate=attackers,
        conditions=_settings,
        observed=frozen_bits,
        satisfied=_example(0.6, 0.4, 0.6, 0.4),
        violated=_example(0.4, 0.6, 0.6, 0.4),
        controls=(
            without_training(FREEZING, "A net that stays as it was drawn has no features to purify."),
            without_attack(FREEZING, "Without an attack no robustness comes back.", attacker="l2:0@1"),
        ),
        reading="The protocol of Section 8.2, of which Figure 6 says that Figure 13 shows other attackers. "
        f"Purified, for each of the four: robust accuracy comes back by {HALF_GAIN:.3g} at least, most "
        "filters keep theta(w, w') >= 0.8, and the feature pictures of the layer need a tenth fewer waves. "
        "Stronger: "
        "the larger of two radii of one norm; stronger effect: its pictures keep fewer of the waves, seed by "
        "seed. Attackers of different norms are not ordered.",
    ),
)
