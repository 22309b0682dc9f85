"""What went wrong, in one line on standard error and an exit code; never a traceback unless asked for."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from karat.errors import KaratError, TargetError, one_line

BAD_INPUT = 2
OTHER = 1
INTERRUPTED = 130


class Failure(Exception):
    """The command cannot do what was asked; the message is one sentence for the user."""

    def __init__(self, message: str, code: int = OTHER) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def bad_input() -> Iterator[None]:
    """Errors in here are the user's to mend: one line, exit code 2."""
    try:
        yield
    except (ValueError, TypeError, OSError, KaratError) as error:
        raise Failure(_message(error), BAD_INPUT) from error


def explain(error: BaseException) -> int:
    """Print the one line of an error that ended a command and return the exit code."""
    if os.environ.get("KARAT_DEBUG"):
        raise error
    if isinstance(error, BrokenPipeError):
        # The reader (`head`) has seen enough; keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OTHER
    message, code = _verdict(error)
    print(f"karat: {message}", file=sys.stderr)
    return code


def _message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'file'}: {error.strerror}."
    return one_line(error)


def _verdict(error: BaseException) -> tuple[str, int]:
    if isinstance(error, Failure):
        return _message(error), error.code
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return "interrupted.", INTERRUPTED
    # typer brings click along under changing names: its errors are known by their shape.
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        text = " ".join(error.format_message().split())
        return text.replace("Value error, ", ""), error.exit_code
    if isinstance(error, TargetError):
        return _message(error), BAD_INPUT
    if isinstance(error, KaratError | OSError):
        return _message(error), OTHER
    return f"{type(error).__name__}: {_message(error)} (KARAT_DEBUG=1 shows where.)", OTHER
