"""The command `karat`; it is listening to Ctrl-C before it loads anything that takes time."""

import sys
from collections.abc import Sequence
from contextlib import suppress

from karat.cli import signals, streams
from karat.cli.errors import INTERRUPTED, explain


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done, 2 bad input, 130, 143 or 129 ended by Ctrl-C, SIGTERM or SIGHUP, 1 anything else.

    Args:
        arguments: instead of those this program was called with; signals are then left to the caller.
    """
    if arguments is not None:
        return _run(list(arguments))
    signals.listen()
    streams.prepare()
    code = None
    with suppress(OSError):  # the terminal is gone, nobody is left to tell
        code = _run(sys.argv[1:])
    return signals.finish(code)


def _run(arguments: list[str]) -> int:
    try:
        from karat.cli.app import app

        code = app(args=arguments, prog_name="karat", standalone_mode=False)
        if code == INTERRUPTED:  # typer has swallowed Ctrl-C
            raise KeyboardInterrupt
        sys.stdout.flush()
        _mention_broken()
    except (Exception, KeyboardInterrupt) as error:
        _mention_broken()
        return explain(signals.explained(error))
    return code if isinstance(code, int) else 0


def _mention_broken() -> None:
    """Name what other people's paper packages lack, as far as the command has looked at them."""
    registry = sys.modules.get("karat.study.registry")  # a command that never asked needs no answer
    for fault in registry.BROKEN if registry else ():
        print(f"karat: {fault}", file=sys.stderr)
