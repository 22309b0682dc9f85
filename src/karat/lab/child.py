"""One worker process: a fresh interpreter on one thread that computes cells sent to it as JSON lines."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

THREADS = 1
"""Threads per cell, everywhere: the order of floating-point sums depends on the number of threads, and the
same command must give the same numbers whatever the number of workers. Cores run cells side by side."""

COMMAND = [sys.executable, "-P", "-c", "from karat.lab.worker import main; main()"]
_POOLS = ("OMP", "MKL", "OPENBLAS", "NUMBA", "VECLIB")


class Child:
    """A worker process and the pipes to it; it ends with its parent, even one that is killed.

    Args:
        path: folders in which the process looks for modules, after its own.
    """

    def __init__(self, path: Sequence[str] = ()) -> None:
        debug = bool(os.environ.get("KARAT_DEBUG"))
        self._errors: IO[bytes] | None = None if debug else tempfile.TemporaryFile()  # noqa: SIM115, closed by `end`
        try:
            self._process = subprocess.Popen(
                COMMAND,
                env=_environment(path),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                encoding="utf-8",
                # Out of the terminal's group: Ctrl-C is for the driver, which ends its workers.
                start_new_session=True,
            )
        except OSError:
            if self._errors:
                self._errors.close()
            raise

    def send(self, line: str) -> None:
        """Hand over a line; whether the process still lives shows in what it answers."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def receive(self) -> str | None:
        """Wait for the next line; None when the process is dead."""
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if line.endswith("\n"):
            return line.strip()
        self._process.wait()
        return None

    def kill(self) -> None:
        """End the process at once, it holds nothing worth saving; whoever waits for a line gets None."""
        self._process.kill()

    def end(self) -> str:
        """End the process, close the pipes, return why it had died if it was dead; nobody may be waiting."""
        self._process.kill()
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        words = self._last_words()
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        return words or f"exit code {code}"

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        with self._errors as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 2000))
            lines = stream.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "").rstrip(".")


def _environment(path: Sequence[str]) -> dict[str, str]:
    """The threads must be known before torch is loaded; the path makes the caller's modules importable."""
    threads = {f"{pool}_NUM_THREADS": str(THREADS) for pool in _POOLS}
    folders = dict.fromkeys(entry or os.getcwd() for entry in [*sys.path, *path])
    return os.environ | threads | {"PYTHONPATH": os.pathsep.join(folders), "PYTHONIOENCODING": "utf-8"}
