"""A figure with what a reader needs to understand it, and how records are grouped for one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, NamedTuple, TypeVar

from matplotlib.figure import Figure

from karat.core.texts import number
from karat.study.experiment import Experiment
from karat.study.record import Record
from karat.study.run import Run, Runs, read_runs

C = TypeVar("C")
R = TypeVar("R")


class Picture(NamedTuple):
    """A figure, its title and its caption.

    Args:
        title: of the figure.
        caption: what a reader must know to understand it.
        figure: what was drawn.
    """

    title: str
    caption: str
    figure: Figure


Draw = Callable[[Sequence[Record]], list[Picture]]


@dataclass(frozen=True)
class Drawing(Generic[C, R]):
    """How the runs of an experiment are drawn.

    Args:
        experiment: whose runs.
        draw: they -> pictures.
    """

    experiment: Experiment[C, R]
    draw: Callable[[Runs[C, R]], list[Picture]]

    def __call__(self, records: Sequence[Record]) -> list[Picture]:
        """Draw what records of the experiment hold."""
        return self.draw(read_runs(self.experiment, records))


def varied_settings(runs: Sequence[Run[C, R]]) -> list[str]:
    """Return the names of the settings that differ between the runs.

    Args:
        runs: of one experiment.
    """
    configs: list[Any] = [run.config for run in runs]
    names = [field.name for field in fields(configs[0])] if configs else []
    return [name for name in names if len({repr(getattr(config, name)) for config in configs}) > 1]


def describe_config(config: Any, names: Sequence[str]) -> str:
    """Return settings of a config as "d = 1000, mu = 5".

    Args:
        config: a dataclass.
        names: of the settings to be named.
    """
    return ", ".join(f"{name} = {number(getattr(config, name), missing='None')}" for name in names)


def varying(records: Sequence[Record]) -> list[str]:
    """Names of the settings that differ between the records."""
    names = dict.fromkeys(name for record in records for name in record.config)
    return [name for name in names if len({repr(record.config.get(name)) for record in records}) > 1]


def describe(config: dict[str, Any], names: Sequence[str]) -> str:
    """Settings as "d = 1000, mu = 5".

    >>> describe({"d": 1000, "mu": 5.0}, ["d", "mu"])
    'd = 1000, mu = 5'
    """
    return ", ".join(f"{name} = {number(config.get(name), missing='None')}" for name in names)
