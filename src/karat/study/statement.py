"""A numbered statement of a paper, in our own words."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, cast, get_args

Kind = Literal[
    "tight",
    "upper",
    "lower",
    "rate",
    "existence",
    "qualitative",
    "reported numbers",
    "definition",
    "algorithm",
]
KINDS: tuple[str, ...] = get_args(Kind)


Origin = Literal["paper", "karat"]
"""Whose sentence it is: the paper's, or karat's own beside it."""

RELATIONS = ("uses", "contradicts", "supersedes")
"""What a statement may say of others: its proof rests on them, it refutes them, it takes their place."""


INVERSE = {"uses": "used by", "contradicts": "contradicted by", "supersedes": "superseded by"}
"""What the other statement may say of the first."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a paper says at one place: a theorem, a figure, a table, a definition or an algorithm.

    Symbols: titles use karat's letters (`tau` attack radius, `flip_rate` label noise, `m` stored neurons);
        `C`, `c` are constants a paper leaves unnamed, `C0` is the lazy radius times sqrt(m).

    Args:
        id: "paper.item", such as "benign.thm3.1.3".
        paper: its key.
        title: one sentence with the formula.
        kind: how the statement is to be judged.
        ref: where it stands, such as "benign, Thm 3.1(3)".
        line: its line in the paper's text file; 0 without one.
        origin: whether the paper says so, or karat beside it (a variant, a repair, an extension).
        uses: ids of the statements on which its proof rests.
        contradicts: ids of statements that cannot be true together with it.
        supersedes: ids of statements whose place it takes, such as the printed one that it repairs.
    """

    id: str
    paper: str
    title: str
    kind: Kind
    ref: str
    line: int
    origin: Origin = "paper"
    uses: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()

    @property
    def relations(self) -> dict[str, tuple[str, ...]]:
        """The relations it has to others: name -> ids."""
        named = {"uses": self.uses, "contradicts": self.contradicts, "supersedes": self.supersedes}
        return {name: ids for name, ids in named.items() if ids}


def tabulate(paper: str, table: str) -> tuple[Statement, ...]:
    """Read one paper's statements from text: a header "item | place | line | kind", then the indented title.

    Indented lines that begin with "origin:", "uses:", "contradicts:" or "supersedes:" say more; the last
    three list ids.

    Args:
        paper: its key.
        table: the text.

    >>> lines = ["thm2 | Thm 2 | 96 | upper", "  The error is small.", "  uses: benign.lem1, lazy.thm3.1"]
    >>> (statement,) = tabulate("benign", chr(10).join(lines))
    >>> statement.ref, statement.uses
    ('benign, Thm 2', ('benign.lem1', 'lazy.thm3.1'))
    """
    return tuple(_statement(paper, header, lines) for header, *lines in _blocks(table))


def _statement(paper: str, header: str, lines: list[str]) -> Statement:
    cells = [cell.strip() for cell in header.split("|")]
    if len(cells) != 4 or not cells[2].isdecimal() or header[0].isspace():
        rule = "begins with an unindented `item | place | line | kind`, where `line` is a whole number"
        raise ValueError(f"a statement of `{paper}` {rule}; got {header.strip()!r}.")
    item, place, line, kind = cells
    _require_choice(kind, paper, item, "kind", KINDS)
    marked = {name: text for name, text in map(_mark, lines) if name}
    origin = marked.pop("origin", "paper")
    _require_choice(origin, paper, item, "origin", get_args(Origin))
    return Statement(
        id=f"{paper}.{item}",
        paper=paper,
        title=" ".join(text for name, text in map(_mark, lines) if not name),
        kind=cast(Kind, kind),
        ref=f"{paper}, {place}",
        line=int(line),
        origin=cast(Origin, origin),
        **{name: tuple(text.replace(",", " ").split()) for name, text in marked.items()},
    )


def _require_choice(word: str, paper: str, item: str, name: str, choices: Collection[str]) -> None:
    if word not in choices:
        raise ValueError(f"the {name} of {paper}.{item} must be one of {', '.join(choices)}; got {word!r}.")


def _mark(line: str) -> tuple[str, str]:
    """The relation or origin that a line states, or no name and a piece of the title."""
    name, colon, text = line.strip().partition(":")
    return (name, text.strip()) if colon and name in ("origin", *RELATIONS) else ("", line.strip())


def _blocks(table: str) -> list[list[str]]:
    """Group the lines: an unindented line opens a block, indented ones continue it."""
    blocks: list[list[str]] = []
    for line in filter(str.strip, table.splitlines()):
        if line[0].isspace() and blocks:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks
