"""Finished cells with their types: what checks, figures and tables read."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np

from karat.study.experiment import Experiment
from karat.study.record import Record
from karat.study.result import from_values

C = TypeVar("C")
R = TypeVar("R")
C2 = TypeVar("C2")
R2 = TypeVar("R2")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Run(Generic[C, R]):
    """One finished cell of an experiment.

    Args:
        config: its settings.
        result: what was measured.
        seed: of its generator.
        config_hash: equal for runs of equal settings.
    """

    config: C
    result: R
    seed: int
    config_hash: str = field(default="", repr=False)


class _Watched(Run[C, R]):
    """A run that notes when its result is read: hypotheses count for what a check looks at only."""

    @property
    def result(self) -> R:
        own = vars(self)
        if "seen" in own:
            own["seen"].add(own["index"])
        return cast(R, own["measured"])

    @result.setter
    def result(self, value: R) -> None:
        vars(self)["measured"] = value


class Runs(Sequence[Run[C, R]]):
    """The finished cells of one experiment, and of the experiments beside it.

    Args:
        runs: the finished cells.
        lost: records of cells that diverged or failed.
        beside: name of another experiment -> its runs.
    """

    def __init__(
        self,
        runs: Iterable[Run[C, R]] = (),
        *,
        lost: Sequence[Record] = (),
        beside: "Mapping[str, Runs[Any, Any]] | None" = None,
    ) -> None:
        self._runs = tuple(runs)
        self.lost = tuple(lost)
        self._beside = dict(beside or {})

    @overload
    def __getitem__(self, index: int) -> Run[C, R]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run[C, R]]: ...
    def __getitem__(self, index: int | slice) -> Run[C, R] | Sequence[Run[C, R]]:
        return self._runs[index]

    def __iter__(self) -> Iterator[Run[C, R]]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def watched(self) -> "tuple[Runs[C, R], set[int]]":
        """Return the runs anew, and the set of indices of those whose results were read by then."""
        seen: set[int] = set()
        copies = []
        for index, run in enumerate(self._runs):
            copy = _Watched(run.config, run.result, run.seed, run.config_hash)
            vars(copy).update(seen=seen, index=index)
            copies.append(copy)
        return Runs(copies, lost=self.lost, beside=self._beside), seen

    @property
    def all_lost(self) -> tuple[Record, ...]:
        """Records of cells that diverged or failed, of the experiments beside this one, too."""
        return (*self.lost, *(record for other in self._beside.values() for record in other.lost))

    def of(self, experiment: Experiment[C2, R2]) -> "Runs[C2, R2]":
        """Return the runs of an experiment beside this one; none if it has not run.

        Args:
            experiment: one of the check's `beside`.
        """
        return self._beside.get(experiment.name, Runs())


def read_runs(
    experiment: Experiment[C, R], records: Iterable[Record], beside: Iterable[Experiment] = ()
) -> Runs[C, R]:
    """Return the runs of an experiment among the records; a KeyError names a value that a record lacks.

    Args:
        experiment: whose config and result classes give the types.
        records: of any experiments.
        beside: further experiments to be found by `Runs.of`.
    """
    given = list(records)
    own = [record for record in given if record.experiment == experiment.name]
    configs: dict[str, C] = {}
    runs = []
    for record in own:
        if record.status == "done":
            if record.config_hash not in configs:
                configs[record.config_hash] = experiment.config(record.config)
            result = from_values(experiment.result_type, record.values)
            runs.append(Run(configs[record.config_hash], result, record.seed, record.config_hash))
    if len({(run.config_hash, run.seed) for run in runs}) < len(runs):
        raise ValueError("some cells have several records")
    others = {other.name: read_runs(other, given) for other in beside}
    return Runs(runs, lost=[record for record in own if record.status != "done"], beside=others)


def grouped(runs: Iterable[Run[C, R]], key: Callable[[Run[C, R]], Key]) -> dict[Key, list[Run[C, R]]]:
    """Return the runs by a key, in the order in which the keys appear.

    Args:
        runs: to be grouped.
        key: of a run, such as `lambda run: run.config.d`.
    """
    groups: dict[Key, list[Run[C, R]]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def by_setting(runs: Iterable[Run[C, R]]) -> list[list[Run[C, R]]]:
    """Return runs of equal settings together.

    Args:
        runs: to be grouped.
    """
    return list(grouped(runs, lambda run: run.config_hash).values())


def pivot(
    runs: Iterable[Run[C, R]], axis: Callable[[Run[C, R]], float], value: Callable[[Run[C, R]], float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted axis (g,) and one row per seed (seeds, g), NaN where a seed has no run.

    Args:
        runs: one per seed and point of the axis; of several the last counts.
        axis: what the columns are, such as `lambda run: run.config.d`.
        value: what stands in them.
    """
    # Not pandas: on 200 runs it takes 2.4 ms instead of 0.06, its import a quarter of a second, and its
    # columns are strings, where mypy follows these lambdas into the config and the result.
    kept = list(runs)
    x = sorted({axis(run) for run in kept})
    seeds = sorted({run.seed for run in kept})
    columns, rows = ({key: i for i, key in enumerate(keys)} for keys in (x, seeds))
    table = np.full((len(seeds), len(x)), np.nan)
    for run in kept:
        table[rows[run.seed], columns[axis(run)]] = value(run)
    return np.array(x, dtype=float), table


def examples(*cells: tuple[C, R], seeds: int = 12) -> list[Run[C, R]]:
    """Return made-up runs, such as a check's `satisfied` and `violated`: each result under several seeds.

    Equal results show no spread, and fewer than six of them decide nothing.

    Args:
        cells: settings and what a run there might measure.
        seeds: how often each stands in the list.
    """
    return [
        Run(config, result, seed, f"example {index}")
        for index, (config, result) in enumerate(cells)
        for seed in range(seeds)
    ]
