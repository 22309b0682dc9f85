"""What commands on a user's own model share: their code, the range of inputs, a bar on standard error."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from karat.cli.errors import BAD_INPUT, Failure

ModelName = Annotated[
    str,
    typer.Option(
        metavar="MODULE:FUNCTION",
        help="Your function that makes the net, package.module:make_net; it is imported: its code is run.",
    ),
]
DataSource = Annotated[
    str, typer.Option("--data", help="File .npz, .pt or .safetensors with x and y, or a set such as digits.")
]
TrustPickle = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Open checkpoints that run code; only if you trust their maker."),
]
BoxText = Annotated[str | None, typer.Option("--box", metavar="LOW,HIGH", help="Range of the inputs.")]
Norm = Annotated[Literal["1", "2", "inf"], typer.Option(help="Norm of the ball.")]


def allow_own_code() -> None:
    """Let the user's modules in the working folder be imported.

    The folder comes last: a file there that is named like a package karat needs must not run in its place.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def parse_numbers(text: str | None, option: str, names: str, kind: Callable[[str], float]) -> list[float]:
    """Return numbers separated by commas.

    Args:
        text: what was given, None for nothing.
        option: for the message.
        names: of the numbers, such as "LOW,HIGH": there must be as many.
        kind: int or float.
    """
    if text is None:
        return []
    parts = text.split(",")
    try:
        if len(parts) != len(names.split(",")):
            raise ValueError
        return [kind(part) for part in parts]
    except ValueError:
        raise Failure(f"`{option}` must be {names}, got {text!r}.", BAD_INPUT) from None


def parse_box(text: str | None) -> tuple[float, float] | None:
    """The range of `--box`."""
    ends = parse_numbers(text, "--box", "LOW,HIGH", float)
    return (ends[0], ends[1]) if ends else None


def require_folder(path: Path, option: str) -> Path:
    """Make the folder and try to write into it, before anything is computed."""
    probe = path / ".writable"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise Failure(f"`{option}` {path}: cannot be written to ({error.strerror}).", BAD_INPUT) from None
    return path


@contextmanager
def stage_bar(name: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar for (stage, done, total) on a terminal's standard error; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=1)
        yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total)
