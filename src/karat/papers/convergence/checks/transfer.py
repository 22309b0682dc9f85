"""Checks of what a training attack guarantees: under itself, under stronger ones, under all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from karat.papers.convergence.checks.two_layer_runs import GAP, START_LOSS
from karat.papers.convergence.experiments.perturbations import AttackName
from karat.papers.convergence.experiments.transfer import OTHERS, TRANSFER, TransferConfig, TransferResult
from karat.study.check import Check
from karat.study.control import Control
from karat.study.finding import Finding
from karat.study.judging import Undecided, all_of, bound, exact_bound, noted
from karat.study.run import Run, examples, grouped

TransferRun = Run[TransferConfig, TransferResult]

NOTICEABLE = 0.05 * START_LOSS
"""A difference of losses that counts where every difference has the right sign by construction."""

ROUNDED = 1e-9
"""A difference of losses beyond rounding; one of no size is no fall."""

STRENGTH = ("identity", "one_step", "worst")
"""Perturbation functions of which each looks farther for a large loss than the one before."""


def _largest(runs: Sequence[TransferRun]) -> Finding:
    """No perturbation function sees more than the robust loss, at any step."""
    excess = [run.result.excess for run in runs]
    if not excess:
        raise Undecided("no run was found")
    steps = sum(run.config.steps for run in runs)
    return noted(
        exact_bound(excess, "at most", 0.0, GAP, "a maximum over finite sets"),
        f"Largest loss under any other function less L_*, over {steps} steps of {len(runs)} runs.",
    )


def _stronger(runs: Sequence[TransferRun]) -> Finding:
    """Robust losses left by training attacks of growing strength, seed by seed."""
    robust = _by_attack(runs)
    missing = [name for name in STRENGTH if name not in robust]
    if missing:
        raise Undecided(f"no run was trained against {', '.join(missing)}")
    steps = [
        bound(_differences(robust[weak], robust[strong]), "at least", ROUNDED, GAP)
        for weak, strong in pairwise(STRENGTH)
    ]
    listed = ", ".join(f"{name} {_mean(robust[name]):.3f}" for name in STRENGTH)
    fallen = "; ".join(
        f"{weak} to {strong}: {step}, {(step.measured or 0.0) / START_LOSS:.1%} of the loss of the start"
        for weak, strong, step in zip(STRENGTH[:-1], STRENGTH[1:], steps, strict=True)
    )
    return noted(all_of(*steps), f"Robust loss by training attack: {listed}. Fall from {fallen}.")


def _by_attack(runs: Sequence[TransferRun]) -> dict[str, dict[int, float]]:
    """Training attack -> seed -> robust loss."""
    by_attack = grouped(runs, lambda run: run.config.attack)
    return {name: {run.seed: run.result.robust for run in cells} for name, cells in by_attack.items()}


def _differences(more: dict[int, float], less: dict[int, float]) -> list[float]:
    return [more[seed] - less[seed] for seed in sorted(more.keys() & less.keys())]


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values)


def _left_open(runs: Sequence[TransferRun]) -> Finding:
    """Robust loss less the loss under the training attack itself, for every attack but the strongest."""
    by_attack = grouped([run for run in runs if run.config.attack in OTHERS], lambda run: run.config.attack)
    if not by_attack:
        raise Undecided("no run was trained against a weak perturbation function")
    findings = {
        name: bound([run.result.robust - run.result.own for run in cells], "at least", NOTICEABLE, GAP)
        for name, cells in by_attack.items()
    }
    listed = ", ".join(f"{name} {finding}" for name, finding in findings.items())
    return noted(all_of(*findings.values()), f"By training attack: {listed}.")


_EXAMPLE = TransferConfig(m=64)
_MEASURED = TransferResult(
    own=0.05, robust=0.05, one_step=0.05, identity=0.01, random=0.02, hashed=0.02, excess=0.0
)


def _trained(robust: Mapping[AttackName, float]) -> list[TransferRun]:
    return examples(
        *((replace(_EXAMPLE, attack=name), replace(_MEASURED, robust=loss)) for name, loss in robust.items())
    )


_SAME_POINTS = Control(
    name="no room",
    removes="attack",
    settings={"tau": 1e-6},
    why="where all allowed points coincide all perturbation functions are one",
)

CHECKS = (
    Check(
        claim_id="convergence.def3.4.largest",
        experiment=TRANSFER,
        evaluate=_largest,
        satisfied=examples((_EXAMPLE, _MEASURED)),
        violated=examples((_EXAMPLE, replace(_MEASURED, excess=0.01))),
        controls=(
            Control(
                name="identity as the strongest",
                removes="attack",
                settings={"strongest": "identity"},
                cheap={"m": 64, "steps": 50},
                why="without an attack the loss is not the largest of all",
            ),
        ),
        reading="Finite perturbation sets, on which the argmax of the definition is exact.",
    ),
    Check(
        claim_id="convergence.thm4.1.stronger",
        experiment=TRANSFER,
        evaluate=_stronger,
        satisfied=_trained({"identity": 0.3, "one_step": 0.2, "worst": 0.1}),
        violated=_trained({"identity": 0.1, "one_step": 0.2, "worst": 0.3}),
        controls=(
            Control(
                name="one allowed point",
                removes="attack",
                settings={"K": 1},
                why="where every sample has only itself to choose all attacks are equally strong",
            ),
        ),
        reading="Robust loss at the step whose surrogate loss is smallest, for no attack, one step of a "
        "heuristic one and the strongest. The sentence names no size, so that every fall of the mean from "
        "one strength to the next counts, however small.",
    ),
    Check(
        claim_id="convergence.sec7.transfer",
        experiment=TRANSFER,
        evaluate=_left_open,
        satisfied=_trained({"identity": 0.3, "one_step": 0.2}),
        violated=_trained({"identity": 0.05, "one_step": 0.05}),
        controls=(_SAME_POINTS,),
        reading="At the step whose surrogate loss is smallest, which is the one that the theorem speaks of. "
        "No loss exceeds the robust one, so that a difference counts from a twentieth of the loss of the "
        "start on.",
    ),
)
