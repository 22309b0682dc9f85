"""How a statement is tested: experiments, the evaluation of their runs, hypotheses, examples and controls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from karat.study.control import Control
from karat.study.experiment import SCALES, Experiment
from karat.study.finding import Finding
from karat.study.hypothesis import Condition
from karat.study.run import Run, Runs

C = TypeVar("C")
R = TypeVar("R")


def no_conditions(config: object) -> list[Condition]:
    """A statement that holds wherever it can be run.

    Args:
        config: any settings.
    """
    return []


@dataclass(frozen=True, kw_only=True)
class Check(Generic[C, R]):
    """How a statement is tested: which experiments to run and how their results are judged.

    Args:
        claim_id: id of the statement.
        experiment: whose runs are judged.
        evaluate: its finished runs -> finding, made with `karat.study.judging`; raises `Undecided` where the
            runs hold no answer.
        beside: further experiments that the evaluation looks at, with `runs.of(OTHER)`.
        conditions: settings -> the hypotheses of the statement there.
        observed: a run -> hypotheses that only its result can show.
        satisfied: runs, as `examples` makes them, on which the check must say `holds`.
        violated: runs on which it must say `fails`.
        controls: worlds without the statement's reason, in which the check must not say `holds`.
        reported: the paper's own number.
        reading: how hidden constants and slips of the text were read.
        scales: presets on which the check makes sense.
        headline: whether a summary should name it first.
    """

    claim_id: str
    experiment: Experiment[C, R]
    evaluate: Callable[[Runs[C, R]], Finding]
    beside: tuple[Experiment, ...] = ()
    conditions: Callable[[C], Sequence[Condition]] = no_conditions
    observed: Callable[[Run[C, R]], Sequence[Condition]] = no_conditions
    satisfied: Sequence[Run[C, R]] = ()
    violated: Sequence[Run[C, R]] = ()
    controls: tuple[Control, ...] = ()
    reported: float | str | None = None
    reading: str = ""
    scales: tuple[str, ...] = SCALES
    headline: bool = False

    @property
    def name(self) -> str:
        """Of the experiment."""
        return self.experiment.name

    @property
    def draws(self) -> bool:
        """Whether its experiments draw at random: their presets ask for several seeds."""
        experiments = (self.experiment, *self.beside)
        return any(preset.seeds > 1 for one in experiments for preset in one.presets.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Of all experiments that must have run."""
        return self.name, *(other.name for other in self.beside)
