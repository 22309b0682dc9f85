"""What runs inside a Dask worker: it hosts children that compute cells, one per thread of the worker.

A child is the worker process of the local engine, on one thread whatever the threads of its host. So numbers
are the same bit for bit, a cell that dies takes only its child along, and the host itself loads no torch.
"""

import threading
import time
from dataclasses import dataclass, field

from karat.lab.child import Child
from karat.lab.protocol import BEGUN, LOADING, READY

SILENT = 60.0
"""Seconds after which a driver that sends no sign of life counts as dead, and its children are ended."""

_LOOK = 2.0
"""Seconds between looks at who is silent."""


@dataclass
class _Session:
    """The children of one driver."""

    idle: list[Child] = field(default_factory=list)
    busy: set[Child] = field(default_factory=set)
    seen: float = field(default_factory=time.monotonic)


_SESSIONS: dict[str, _Session] = {}
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Answer:
    """The record of a cell as a line of JSON, or how the child came to its end.

    Args:
        line: the record.
        reason: why there is none.
        started: whether the child came to life.
        over_limit: whether the cell was stopped for taking too long.
        forsaken: whether the child was ended because its driver was silent.
    """

    line: str | None
    reason: str = ""
    started: bool = True
    over_limit: bool = False
    forsaken: bool = False


def answer(request: str, session: str, path: list[str], limit: float | None = None) -> Answer:
    """Compute one cell in a child and return its record; called by Dask in a thread of its worker.

    Args:
        request: the cell as a line of JSON.
        session: names the driver.
        path: where its modules lie.
        limit: seconds after which the cell is stopped.
    """
    child = _take(session)
    if child is None:
        child = Child(path)
        _enter(session, child)
        if child.receive() != READY:
            return Answer(None, _drop(session, child), started=False)
    line, stopped = _computed(child, request, limit)
    if line is None:
        with _LOCK:
            forsaken = session not in _SESSIONS
        return Answer(None, _drop(session, child), over_limit=stopped, forsaken=forsaken)
    with _LOCK:
        # A session that was stopped in the meantime has no place to wait in, nor has a child just killed.
        if (driver := _SESSIONS.get(session)) and not stopped:
            driver.busy.discard(child)
            driver.idle.append(child)
            driver.seen = time.monotonic()
            return Answer(line)
    _drop(session, child)
    return Answer(line)


def _computed(child: Child, request: str, limit: float | None) -> tuple[str | None, bool]:
    """The child's line, and whether the child was killed for taking longer than the limit."""
    stopped = threading.Event()

    def end() -> None:
        stopped.set()
        child.kill()

    def receive(seconds: float) -> str | None:
        if limit is None:
            return child.receive()
        alarm = threading.Timer(seconds + limit, end)
        alarm.start()
        line = child.receive()
        alarm.cancel()
        alarm.join()
        return line

    child.send(request)
    line = receive(LOADING)
    if line == BEGUN:
        line = receive(0.0)
    return line, stopped.is_set()


def touch(session: str) -> None:
    """Note a sign of life of a driver."""
    with _LOCK:
        if session in _SESSIONS:
            _SESSIONS[session].seen = time.monotonic()


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


def _end_silent() -> None:
    """End the children of dead drivers until there are no drivers."""
    while True:
        time.sleep(_LOOK)
        with _LOCK:
            oldest = time.monotonic() - SILENT
            silent = [_SESSIONS.pop(name) for name, one in list(_SESSIONS.items()) if one.seen < oldest]
            over = not _SESSIONS
            if over:
                _WATCHMAN.clear()
        for session in silent:
            _end(session)
        if over:
            return


_WATCHMAN: list[threading.Thread] = []


def _session(name: str) -> _Session:
    """The children of a driver; somebody watches over them while there are any. Needs the lock."""
    session = _SESSIONS.setdefault(name, _Session())
    session.seen = time.monotonic()
    if not _WATCHMAN:
        _WATCHMAN.append(threading.Thread(target=_end_silent, daemon=True))
        _WATCHMAN[0].start()
    return session


def _take(session: str) -> Child | None:
    with _LOCK:
        children = _session(session)
        if not children.idle:
            return None
        child = children.idle.pop()
        children.busy.add(child)
        return child


def _enter(session: str, child: Child) -> None:
    with _LOCK:
        _session(session).busy.add(child)


def _drop(session: str, child: Child) -> str:
    with _LOCK:
        if children := _SESSIONS.get(session):
            children.busy.discard(child)
    return child.end()
