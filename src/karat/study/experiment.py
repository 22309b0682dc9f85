"""An experiment is one question with named scales; a cell is one config and one seed of it."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, get_args

from karat.errors import one_line
from karat.study.config import config_from_json, config_to_json, hints, read, require_setting
from karat.study.record import config_hash
from karat.study.source import remember, source_modules

if TYPE_CHECKING:
    import torch

Scale = Literal["tiny", "quick", "full"]
"""Seconds, a minute, the paper's own size: the presets that every experiment of karat has."""

SCALES: tuple[str, ...] = get_args(Scale)

Part = Literal["theory", "images"]
"""What a question is asked of: the papers' own data models, or deep networks on images."""

MOST_CELLS = 10**6
"""Cells of one command: a cell takes a kilobyte, and a million of one second take eleven days of one core."""

C = TypeVar("C")
"""The config class of an experiment: a frozen dataclass of settings."""

R = TypeVar("R")
"""The result class of an experiment: a frozen dataclass of numbers, flags, texts, and lists for curves."""


@dataclass(frozen=True, kw_only=True)
class Preset(Generic[C]):
    """One scale of an experiment: a config, the axes varied around it, and the number of seeds.

    Args:
        config: frozen dataclass.
        grid: setting -> its values, the cells are their product.
        points: settings changed together, for designs that are no product; each takes the whole grid.
        seeds: how many, counted from 0.
        cell_seconds: rough CPU time of one cell, to start cheap experiments first and to tell the time left.
    """

    config: C
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    points: tuple[Mapping[str, Any], ...] = ({},)
    seeds: int
    cell_seconds: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[C, R]):
    """One question: a config class, presets `tiny`, `quick`, `full`, and the function that measures.

    Args:
        name: "paper.item", the key of the export list.
        title: the question.
        paper: key of the paper.
        presets: scale -> preset.
        run: (config, generator) -> result, raising `Diverged` when training does. Its return annotation is
            the result class, a frozen dataclass, in which `Undefined` marks what may have no number.
        part: "images" for the deep experiments, which cost minutes where the theory costs seconds.
        work: config -> how much there is to compute, in any unit, to predict the time of other settings.
    """

    name: str
    title: str
    paper: str
    presets: Mapping[str, Preset[C]]
    run: Callable[[C, "torch.Generator"], R]
    part: Part = "theory"
    work: Callable[[C], float] | None = None

    def __post_init__(self) -> None:
        # Experiments are made while their module is imported, perhaps by a script that runs them later.
        for module in source_modules(self) if self.presets else ():
            remember(module)

    def preset(self, scale: str) -> Preset[C]:
        """Return the preset of a scale; the message of an unknown one lists those there are."""
        if scale not in self.presets:
            listed = ", ".join(self.presets)
            raise ValueError(f"`{self.name}` has no scale `{scale}`; its scales are {listed}.")
        return self.presets[scale]

    def config(self, values: Mapping[str, Any]) -> C:
        """Return the typed config behind the JSON of a record."""
        kind = type(next(iter(self.presets.values())).config)
        return cast(C, config_from_json(kind, values))

    @cached_property
    def result_type(self) -> type[R]:
        """The class of what `run` returns, from its annotation."""
        run: Any = self.run
        while isinstance(run, partial):
            run = run.func
        if not hasattr(run, "__annotations__"):  # an object that can be called
            run = type(run).__call__
        kind = run.__annotations__.get("return")
        if isinstance(kind, str):
            kind = eval(kind, run.__globals__)
        if not (isinstance(kind, type) and is_dataclass(kind)):
            raise TypeError(
                f"`run` of `{self.name}` must be annotated with the dataclass it returns, as in "
                f"`def run(config: Config, generator: torch.Generator) -> Result`; got {kind!r}."
            )
        return cast(type[R], kind)


@dataclass(frozen=True)
class Cell:
    """One config and one seed of an experiment, named by the experiment's name.

    Args:
        experiment: its name.
        config: settings.
        seed: of the cell's generator.
    """

    experiment: str
    config: Any
    seed: int

    @cached_property
    def config_json(self) -> dict[str, Any]:
        """The config as strict JSON."""
        return config_to_json(self.config)

    @cached_property
    def config_hash(self) -> str:
        """Sixteen hex digits that name experiment and config in every process."""
        return config_hash(self.experiment, self.config_json)

    @property
    def key(self) -> tuple[str, str, int]:
        """What names the cell in a store."""
        return self.experiment, self.config_hash, self.seed

    def with_seed(self, seed: int) -> "Cell":
        """Return the same config with another seed, sharing its JSON: a million cells must fit in memory."""
        other = Cell(self.experiment, self.config, seed)
        vars(other).update(config_json=self.config_json, config_hash=self.config_hash)
        return other


def cells(
    experiment: Experiment,
    scale: str,
    seeds: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
) -> list[Cell]:
    """Return the cells of a scale: the product of the grid axes, then the seeds 0, ..., seeds - 1 of each.

    Args:
        experiment: the question.
        scale: name of a preset.
        seeds: instead of the preset's.
        overrides: settings as text or typed values; one that is an axis of the grid collapses it.
        grid: further axes, or other values for those of the preset.
    """
    preset = experiment.preset(scale)
    known = hints(preset.config)
    fixed = {name: _setting(experiment, known, name, value) for name, value in (overrides or {}).items()}
    count = preset.seeds if seeds is None else seeds
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"`seeds` of `{experiment.name}` must be a whole number >= 1, got {count!r}.")
    for name in grid or {}:
        require_setting(name, known, experiment.name)
        if name in fixed:
            raise ValueError(f"`{name}` of `{experiment.name}` cannot be set and be an axis at once.")
    varied_axes = {name: axis for name, axis in {**preset.grid, **(grid or {})}.items() if name not in fixed}
    axes = _require_few_cells(varied_axes, len(preset.points), count, experiment.name)
    configs = []
    for point, values in itertools.product(preset.points, itertools.product(*axes.values())):
        varied = {**point, **dict(zip(axes, values, strict=True))}
        typed = {name: _setting(experiment, known, name, value) for name, value in varied.items()}
        configs.append(_config(experiment.name, preset.config, typed | fixed))
    # Overrides can make points coincide; each config runs once.
    firsts = (Cell(experiment.name, config, 0) for config in configs)
    unique = {cell.config_hash: cell for cell in firsts}
    return [cell.with_seed(seed) for cell in unique.values() for seed in range(count)]


def _require_few_cells(
    axes: Mapping[str, Iterable[Any]], points: int, seeds: int, owner: str
) -> dict[str, tuple[Any, ...]]:
    """Return the axes as tuples, after making sure that their product times the seeds can be planned.

    Args:
        axes: setting -> values.
        points: designs that take the whole grid.
        seeds: of each config.
        owner: experiment, for messages.
    """
    sizes = {name: len(axis) for name, axis in axes.items() if isinstance(axis, Sized)}
    values: dict[str, tuple[Any, ...]] = {}
    if _product(sizes, points, seeds) <= MOST_CELLS:
        values = {name: tuple(itertools.islice(axis, MOST_CELLS + 1)) for name, axis in axes.items()}
        sizes = {name: len(axis) for name, axis in values.items()}
    total = _product(sizes, points, seeds)
    if total > MOST_CELLS:
        factors = [
            *(f"{_digits(size)} of `{name}`" for name, size in sizes.items()),
            *([f"{points} points"] if points > 1 else []),
            f"{_digits(seeds)} seeds",
        ]
        raise ValueError(
            f"`{owner}` would have {_digits(total)} cells ({' x '.join(factors)}), the most are "
            f"{MOST_CELLS:,}: ask for fewer values or seeds."
        )
    return values


def _product(sizes: Mapping[str, int], points: int, seeds: int) -> int:
    return math.prod(sizes.values()) * points * seeds


def _digits(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "more than 10^15"


def _setting(experiment: Experiment, known: Mapping[str, Any], name: str, value: Any) -> Any:
    require_setting(name, known, experiment.name)
    return read(value, known[name], name, experiment.name, text=isinstance(value, str))


def _config(name: str, base: Any, values: Mapping[str, Any]) -> Any:
    """Replace settings; whatever the config's own checks say comes out as a ValueError of one line.

    Users know the experiment by its name, not the class of its config.
    """
    try:
        return replace(base, **values)
    except (TypeError, ValueError) as error:
        raise ValueError(one_line(error).replace(f"`{type(base).__name__}`", f"`{name}`")) from error
