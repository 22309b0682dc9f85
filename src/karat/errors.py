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
