"""What keeps a command from its work for reasons outside the code; light, so that all can import it."""


class KaratError(Exception):
    """Something the user can mend; the message is one line that says what is wrong and what to do."""


class StoreError(KaratError):
    """A store cannot be opened, read or written; the message names the file."""


class SourceError(KaratError, RuntimeError):
    """A file is no longer what this process has read."""


class WorkerError(KaratError, RuntimeError):
    """Workers cannot be started, reached or trusted at all."""


class TargetError(KaratError, ValueError):
    """The records do not hold what a target asks for."""


class ReportError(KaratError, ValueError):
    """The report cannot be written."""


def one_line(error: BaseException, nothing: str = "") -> str:
    """Return the message of an error without line breaks.

    Args:
        error: any exception.
        nothing: what to say of one without a message; by default the name of its class.

    >>> one_line(ValueError("too\\n  small.")), one_line(KeyError())
    ('too small.', 'KeyError')
    """
    return " ".join(str(error).split()) or nothing or type(error).__name__


def reason(error: BaseException, most: int | None = None) -> str:
    """Return the message of an error as the end of another sentence: on one line, without a full stop.

    Args:
        error: any exception.
        most: letters, for messages that quote half a program.

    >>> reason(ValueError("too\\n  small."))
    'too small'
    """
    return one_line(error)[:most].rstrip(".")
