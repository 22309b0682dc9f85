"""A paper as a value: what it says, and where its experiments, checks and figures are found."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any

from karat.study.statement import Statement

if TYPE_CHECKING:
    from karat.study.claim import Check
    from karat.study.drawing.picture import Draw
    from karat.study.experiment import Experiment
    from karat.study.tables import Make


@dataclass(frozen=True, kw_only=True)
class Paper:
    """One paper, in karat or in somebody else's package.

    Its rooms are loaded when they are first asked for, so that listing papers and statements needs no torch.

    Args:
        key: the word its claims begin with, such as `benign`.
        title: of the paper.
        authors: in the order of the paper.
        venue: where it appeared.
        year: when.
        statements: what it says, in its own order.
        package: the package that holds `experiments`, `checks`, `figures` and `tables`, each a module or a
            package of modules; any of them may be missing.
        file: name of the text whose line numbers the statements carry.
    """

    key: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    statements: tuple[Statement, ...] = field(repr=False)
    package: str
    file: str = ""

    @cached_property
    def experiments(self) -> "Mapping[str, Experiment]":
        """Name -> experiment: every `Experiment` that a module of the room `experiments` defines."""
        from karat.study.experiment import Experiment

        found: dict[str, Experiment] = {}
        for module in self._room("experiments"):
            for value in vars(module).values():
                if isinstance(value, Experiment) and found.setdefault(value.name, value) is not value:
                    raise ValueError(f"two experiments of the paper `{self.key}` are named `{value.name}`.")
        return found

    @cached_property
    def checks(self) -> "Mapping[str, Check]":
        """Claim id -> its check, from the tuples CHECKS, in the order of the statements."""
        tuples: Iterator[Sequence[Check]] = self._values("checks", "CHECKS")
        found: dict[str, Check] = {}
        for check in chain.from_iterable(tuples):
            if found.setdefault(check.claim_id, check) is not check:
                raise ValueError(f"two checks of the paper `{self.key}` judge `{check.claim_id}`.")
        known = [statement.id for statement in self.statements if statement.id in found]
        return {claim_id: found[claim_id] for claim_id in (*known, *found)}

    @cached_property
    def figures(self) -> "Mapping[str, Draw]":
        """Experiment -> how its records are drawn, from the tuples FIGURES."""
        return self._by_experiment("figures", "FIGURES")

    @cached_property
    def tables(self) -> "Mapping[str, Make]":
        """Experiment -> its table, from the tuples TABLES."""
        return self._by_experiment("tables", "TABLES")

    def _by_experiment(self, room: str, name: str) -> dict[str, Any]:
        entries = chain.from_iterable(self._values(room, name))
        return {entry.experiment.name: entry for entry in entries}

    def _values(self, room: str, name: str) -> Iterator[Any]:
        return (vars(module)[name] for module in self._room(room) if name in vars(module))

    def _room(self, room: str) -> Iterator[Any]:
        """The modules of a room, by name."""
        home = f"{self.package}.{room}"
        if find_spec(home) is None:
            return
        package = importlib.import_module(home)
        yield package
        for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
            yield importlib.import_module(f"{home}.{module.name}")
