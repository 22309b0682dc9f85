"""What runs inside a Dask worker: it hosts children that compute cells, one per thread of the worker.

A child is the worker process of the local engine, on one thread whatever the threads of its host. So numbers
are the same bit for bit, a cell that dies takes only its child along, and the host itself loads no torch.
"""

import threading
import time
from dataclasses import dataclass, field

from karat.lab.child import READY, Child

IDLE = 600.0
"""Seconds after which the children of a driver that is silent, perhaps dead, are ended."""


@dataclass
class _Session:
    """The children of one driver."""

    idle: list[Child] = field(default_factory=list)
    busy: set[Child] = field(default_factory=set)
    seen: float = 0.0


_SESSIONS: dict[str, _Session] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Answer:
    """The record of a cell as a line of JSON, or how the child came to its end."""

    line: str | None
    reason: str = ""
    started: bool = True


def answer(request: str, session: str, path: list[str]) -> Answer:
    """Compute one cell in a child and return its record; called by Dask in a thread of its worker.

    Args:
        request: the cell as a line of JSON; session: names the driver; path: where its modules lie.
    """
    child = _take(session)
    if child is None:
        child = Child(path)
        _enter(session, child)
        if child.receive() != READY:
            return Answer(None, _drop(session, child), started=False)
    child.send(request)
    line = child.receive()
    if line is None:
        return Answer(None, _drop(session, child))
    with _LOCK:
        # A session that was stopped in the meantime has no place to wait in.
        if kept := _SESSIONS.get(session):
            kept.busy.discard(child)
            kept.idle.append(child)
            kept.seen = time.monotonic()
            return Answer(line)
    child.end()
    return Answer(line)


def stop(session: str) -> None:
    """End the children of a driver, also those in the middle of a cell."""
    with _LOCK:
        ended = _SESSIONS.pop(session, _Session())
    _end(ended)


def _end(ended: _Session) -> None:
    for child in ended.busy:
        child.kill()  # the thread that waits for it closes the pipes
    for child in ended.idle:
        child.end()


def _take(session: str) -> Child | None:
    now = time.monotonic()
    with _LOCK:
        old = [name for name, other in _SESSIONS.items() if not other.busy and now - other.seen > IDLE]
        silent = [_SESSIONS.pop(name) for name in old if name != session]
    for other in silent:
        _end(other)
    with _LOCK:
        own = _SESSIONS.setdefault(session, _Session())
        own.seen = now
        if not own.idle:
            return None
        child = own.idle.pop()
        own.busy.add(child)
        return child


def _enter(session: str, child: Child) -> None:
    with _LOCK:
        _SESSIONS.setdefault(session, _Session()).busy.add(child)


def _drop(session: str, child: Child) -> str:
    with _LOCK:
        if own := _SESSIONS.get(session):
            own.busy.discard(child)
    return child.end()
