"""A numbered statement of a paper, in our own words."""

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
        line: its line in the paper's text file.
    """

    id: str
    paper: str
    title: str
    kind: Kind
    ref: str
    line: int


def tabulate(paper: str, table: str) -> tuple[Statement, ...]:
    """Read one paper's statements from text: a header "item | place | line | kind", then the indented title.

    >>> tabulate("benign", "eq1 | Eq 1 | 96 | definition" + chr(10) + "  phi is smooth.")[0].ref
    'benign, Eq 1'
    """
    statements: list[Statement] = []
    for header, *title in _blocks(table):
        item, place, line, kind = (cell.strip() for cell in header.split("|"))
        if kind not in KINDS:
            raise ValueError(f"the kind of {paper}.{item} must be one of {', '.join(KINDS)}; got {kind!r}.")
        statements.append(
            Statement(
                id=f"{paper}.{item}",
                paper=paper,
                title=" ".join(part.strip() for part in title),
                kind=cast(Kind, kind),
                ref=f"{paper}, {place}",
                line=int(line),
            )
        )
    return tuple(statements)


def _blocks(table: str) -> list[list[str]]:
    """Group the lines: an unindented line opens a block, indented ones continue it."""
    blocks: list[list[str]] = []
    for line in filter(str.strip, table.splitlines()):
        if line[0].isspace():
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return blocks
