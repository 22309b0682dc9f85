"""Ctrl-C, SIGTERM and SIGHUP: the first one ends a command in order, one after a second or more at once."""

import os
import signal
import sys
import threading
import time
from types import FrameType

from karat.cli.errors import INTERRUPTED, OTHER, Failure

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_DOUBLE = 1.0
"""Seconds within which a second signal counts as the same one: a closed terminal, for one, says it twice."""

_received: tuple[int, float] | None = None
_over: int | None = None


def listen() -> None:
    """Turn the signals into KeyboardInterrupt; those the parent has switched off (nohup) stay so."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)


def ending() -> tuple[str, int]:
    """Return what ended the command, for its last line, and the exit code."""
    if _received is None or _received[0] == signal.SIGINT:
        return "interrupted", INTERRUPTED
    return f"ended by {signal.Signals(_received[0]).name}", 128 + _received[0]


def check() -> None:
    """Interrupt now if a signal came and got lost: some libraries lose it while they are imported."""
    if _received is not None:
        raise KeyboardInterrupt


def explained(error: BaseException) -> BaseException:
    """Return the error to show: in the middle of an import an interruption may come out as another error."""
    if isinstance(error, Failure) or (_received is None and not isinstance(error, KeyboardInterrupt)):
        return error
    word, code = ending()
    return Failure(f"{word}.", code)


def finish(code: int | None) -> int:
    """Return the exit code of a command; from now on a signal ends the process with it, without a word.

    Args:
        code: None if the command could not even say how it ended.
    """
    global _over
    _over = code if code is not None else ending()[1] if _received else OTHER
    return _over


def _handle(number: int, frame: FrameType | None) -> None:
    global _received
    if _over is not None:
        os._exit(_over)
    now = time.monotonic()
    if _received is None:
        _received = (number, now)
        raise KeyboardInterrupt
    if now - _received[1] > _DOUBLE:
        # Workers notice by themselves, and the store is whole at every moment.
        shown = "\x1b[?25h" if sys.stderr.isatty() else ""  # a bar hides the cursor
        line = f"{shown}karat: ended at once; finished cells are kept, the same command resumes.\n"
        try:
            os.write(2, line.encode())
        finally:
            os._exit(ending()[1])
