"""What can be seen in a package before anything of it runs."""

import re
from collections.abc import Iterator

from karat.contract.examples import example_faults
from karat.contract.fault import Fault
from karat.study.check import Check, no_conditions
from karat.study.experiment import SCALES, Experiment, cells
from karat.study.outside import FAULTS, check_fault, experiment_fault, paper_faults, sentence
from karat.study.paper import Paper
from karat.study.registry import EXPERIMENTS, PAPERS, STATEMENTS, is_built_in, missing_experiment

_THEOREM = re.compile(r", (Thm|Theorem|Lem|Lemma|Cor|Prop)\b")


def structure_faults(paper: Paper) -> Iterator[Fault]:
    """Yield what is wrong with ids, rooms, presets, and with checks of nothing or from nowhere."""
    for reason in paper_faults(paper):
        yield Fault(subject=paper.key, rule="statements", reason=reason)
    yield from _relation_faults(paper)
    for room in ("experiments", "checks", "figures", "tables"):
        try:
            getattr(paper, room)
        except FAULTS as error:
            reason = f"its {room} cannot be loaded ({sentence(error)})."
            yield Fault(subject=paper.key, rule="imports", reason=reason)
            return
    for name, experiment in paper.experiments.items():
        yield from _experiment_faults(paper, name, experiment)
    yield from _check_faults(paper)
    for room in ("figures", "tables"):
        for name in getattr(paper, room):
            if name not in EXPERIMENTS:
                reason = f"its {room} name an experiment that there is not."
                yield Fault(subject=name, rule="experiment name", reason=reason)


def _relation_faults(paper: Paper) -> Iterator[Fault]:
    known = {statement.id for statement in STATEMENTS}
    for statement in paper.statements:
        for relation, ids in statement.relations.items():
            for other in ids:
                if other not in known or other == statement.id:
                    reason = f"it {relation} `{other}`, which is no other statement."
                    yield Fault(subject=statement.id, rule="relations", reason=reason)


def _experiment_faults(paper: Paper, name: str, experiment: Experiment) -> Iterator[Fault]:
    try:
        _ = experiment.result_type
    except (TypeError, NameError) as error:
        yield Fault(subject=name, rule="result", reason=str(error))
    if experiment.paper not in PAPERS:  # it may be another one, whose statement is asked in this setting
        reason = f"its paper is `{experiment.paper}`, which there is not."
        yield Fault(subject=name, rule="experiment name", reason=reason)
    missing = missing_experiment(experiment)
    if missing:
        reason = experiment_fault(paper, name) or f"its package holds {missing}."
        yield Fault(subject=name, rule="experiment name", reason=reason)
    for scale in SCALES:
        if scale not in experiment.presets:
            yield Fault(subject=name, rule="presets", reason=f"it has no preset `{scale}`.")
            continue
        try:
            cells(experiment, scale)
        except (TypeError, ValueError) as error:
            yield Fault(subject=name, rule="presets", reason=f"`{scale}` has no cells ({sentence(error)}).")


def _check_faults(paper: Paper) -> Iterator[Fault]:
    stated = {statement.id for statement in STATEMENTS}
    for claim_id, check in paper.checks.items():
        reason = check_fault(paper, claim_id)
        if reason and not (is_built_in(paper.key) and claim_id in stated):
            yield Fault(subject=claim_id, rule="missing statement", reason=reason)
        for experiment in (check.experiment, *check.beside):
            missing = missing_experiment(experiment)
            if missing:
                yield Fault(subject=claim_id, rule="experiment name", reason=f"it needs {missing}.")
                continue
            for scale in check.scales:
                if scale not in experiment.presets:
                    reason = f"it needs the scale `{scale}` of `{experiment.name}`."
                    yield Fault(subject=claim_id, rule="presets", reason=reason)
        yield from example_faults(check, next((one for one in STATEMENTS if one.id == claim_id), None))
        yield from _hypothesis_faults(check)


def _hypothesis_faults(check: Check) -> Iterator[Fault]:
    """A theorem without any hypothesis is rare: more often nobody wrote them down."""
    statement = next((found for found in STATEMENTS if found.id == check.claim_id), None)
    if statement and check.conditions is no_conditions and _THEOREM.search(statement.ref):
        reason = "it judges a theorem and lists no hypotheses: outside of them no run can refute it."
        yield Fault(subject=check.claim_id, rule="missing hypothesis", reason=reason, level="warning")
