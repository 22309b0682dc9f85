"""An export list over several packages, each imported when one of its entries is first asked for."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class Table(Mapping[str, Entry], Generic[Entry]):
    """A read-only mapping "paper.item" -> entry, so that one paper costs the import of one paper.

    Args:
        home: package that holds the papers' packages; papers: their names, which begin the keys;
        attribute: name of the tuple of entries in each; key: the name of an entry.
    """

    def __init__(
        self, home: str, papers: tuple[str, ...], attribute: str, key: Callable[[Entry], str]
    ) -> None:
        self._home, self._papers, self._attribute, self._key = home, papers, attribute, key
        self._loaded: dict[str, dict[str, Entry]] = {}

    def __getitem__(self, name: str) -> Entry:
        paper = name.partition(".")[0]
        if paper in self._papers and name in self._entries(paper):
            return self._entries(paper)[name]
        # Nothing forces a name to begin with its package.
        return {known: entry for other in self._papers for known, entry in self._entries(other).items()}[name]

    def __iter__(self) -> Iterator[str]:
        return (name for paper in self._papers for name in self._entries(paper))

    def __len__(self) -> int:
        return sum(len(self._entries(paper)) for paper in self._papers)

    def __repr__(self) -> str:
        return f"<{self._attribute} of {', '.join(self._papers)}>"

    def _entries(self, paper: str) -> dict[str, Entry]:
        if paper not in self._loaded:
            entries = getattr(importlib.import_module(f"{self._home}.{paper}"), self._attribute)
            self._loaded[paper] = {self._key(entry): entry for entry in entries}
        return self._loaded[paper]
