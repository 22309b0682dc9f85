"""What an experiment does at its tiny size: its seeds, its randomness, its records, its verdicts."""

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from karat.contract.fault import Fault
from karat.core.divergence import Diverged
from karat.lab.execute import execute, one_thread
from karat.study.claim import judge_claim
from karat.study.experiment import Cell, Experiment, cells
from karat.study.paper import Paper
from karat.study.record import Record, cell_generator
from karat.study.registry import CHECKS, EXPERIMENTS, get_statement

LONG = 60.0
"""CPU seconds above which `tiny` deserves a warning."""


def behaviour_faults(paper: Paper, name: str) -> Iterator[Fault]:
    """Run `tiny` of an experiment and yield what its records break."""
    experiment = EXPERIMENTS[name]
    wanted = cells(experiment, "tiny", max(2, experiment.preset("tiny").seeds))
    before = global_state()
    records = [execute(cell) for cell in wanted]
    if global_state() != before:
        reason = "a run changes the global state of torch, numpy or random; draw from its own generator."
        yield Fault(subject=name, rule="global randomness", reason=reason)
    failed = [record for record in records if record.status == "failed"]
    if failed:
        # A value that is no JSON is among the reasons.
        reason = f"{len(failed)} of {len(records)} tiny cells failed, the first: {failed[0].error}"
        yield Fault(subject=name, rule="records", reason=reason)
        return
    if all(record.status == "diverged" for record in records):
        reason = f"all {len(records)} tiny cells diverged, the first: {records[0].error}"
        yield Fault(subject=name, rule="records", reason=reason)
        return
    yield from _seed_faults(experiment, wanted, records)
    seconds = sum(record.cpu_seconds for record in records)
    if seconds > LONG:
        reason = f"`tiny` takes {seconds:.0f} CPU seconds; tests want less than {LONG:.0f}."
        yield Fault(subject=name, rule="slow", reason=reason, level="warning")
    yield from _verdict_faults(paper, name, records)


def _seed_faults(
    experiment: Experiment, wanted: Sequence[Cell], records: Sequence[Record]
) -> Iterator[Fault]:
    """A seed must decide the record, and must matter unless every preset asks for one seed only.

    Reading: an experiment without randomness says so by `seeds=1` in all its presets. One that draws may
    still measure what no draw can change, such as the exactness of a construction: a warning.
    """
    if _result(execute(wanted[0])) != _result(records[0]):
        reason = "the same config and seed give another record when run again."
        yield Fault(subject=experiment.name, rule="seed", reason=reason)
    by_config: dict[str, set[str]] = {}
    for record in records:
        by_config.setdefault(record.config_hash, set()).add(_result(record))
    asks = max(preset.seeds for preset in experiment.presets.values())
    if asks > 1 and all(len(results) == 1 for results in by_config.values()):
        if _draws(experiment, wanted[0]):
            reason = "it draws from its generator, and yet all seeds give the same record."
            yield Fault(subject=experiment.name, rule="seed", reason=reason, level="warning")
        else:
            reason = f"all its {asks} seeds give the same record; draw from its generator, or set seeds=1."
            yield Fault(subject=experiment.name, rule="seed", reason=reason)


def _draws(experiment: Experiment, cell: Cell) -> bool:
    """Whether a run takes any number from the generator it is given."""
    generator = cell_generator(cell.experiment, cell.seed)
    before = generator.get_state()
    with one_thread(), suppress(Diverged):
        experiment.run(cell.config, generator)
    return not torch.equal(before, generator.get_state())


def _result(record: Record) -> str:
    return repr((record.status, record.values, record.error))


def _verdict_faults(paper: Paper, name: str, records: Sequence[Record]) -> Iterator[Fault]:
    """Every check of the experiment must give a verdict on tiny records, also on the first alone."""
    for claim_id, check in paper.checks.items():
        if check.name != name or "tiny" not in check.scales or claim_id not in CHECKS:
            continue
        for some in (records, records[:1]):
            claim = judge_claim(get_statement(claim_id), check, some, "tiny")
            if claim.verdict is None:
                reason = f"{len(some)} tiny records give no verdict. {claim.caveat}"
                yield Fault(subject=claim_id, rule="verdict", reason=reason)
                break


def global_state() -> tuple[Any, ...]:
    """Return the state of the generators that everybody shares, to be compared."""
    kind, keys, *rest = np.random.get_state()
    return torch.get_rng_state().numpy().tobytes(), kind, np.asarray(keys).tobytes(), *rest, random.getstate()
