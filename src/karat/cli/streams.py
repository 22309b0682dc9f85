"""Standard streams that are closed, full or gone."""

import io
import os
import sys
from typing import Any

from karat.cli.errors import OTHER, Failure


def prepare() -> None:
    """Open closed streams, and let a standard output that takes no more say so in one line."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # Closed (`>&-`) is as good as `/dev/null`: no file may take its place, and printing is no error.
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115, stays open
    before = sys.stdout
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(before.fileno(), "w", closefd=False)),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=before.isatty(),
    )


class _Output(io.FileIO):
    """Standard output, whose errors are known from those of other files."""

    def write(self, data: Any, /) -> int:
        """Write, or fail in one line: the cells are in the store, but the reader's copy is cut off."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())  # Python flushes again at exit
            reason = f"standard output cannot be written ({error.strerror})"
            raise Failure(f"{reason}; what was computed is kept in the store.", OTHER) from None
