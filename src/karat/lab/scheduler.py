"""The way to a Dask scheduler: its address, a cluster of one's own, the sign of life of a driver."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from karat.errors import WorkerError, reason
from karat.lab.host import touch

CONNECT = 30.0
"""Seconds to wait for the scheduler."""

_PULSE = 10.0
"""Seconds between signs of life to the hosts, which wait six times as long for one."""

_LOOPBACK = "127.0.0.1:0"


def require_address(address: str) -> None:
    """Refuse what is no address of a scheduler, before Dask tries for a minute to reach it."""
    try:
        parts = urlsplit(address)
        is_fine = parts.scheme == "tcp" and bool(parts.hostname) and bool(parts.port)
        is_fine = is_fine and not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:  # a port that is no number
        is_fine = False
    if not is_fine:
        raise ValueError(f"the address of a Dask scheduler must be tcp://HOST:PORT, got {address!r}.")


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Any]:
    """A client of the scheduler at an address, or of a cluster inside this process that ends with it.

    Args:
        address: tcp://HOST:PORT, None for a cluster of one's own.
        workers: cells at a time of that cluster.
    """
    try:
        from dask import config
        from distributed import Client
    except ImportError:
        raise WorkerError("the Dask engine needs `pip install 'karat[dist]'`.") from None
    if not os.environ.get("KARAT_DEBUG"):
        _hush()
    cluster = None
    # A lost scheduler shall be known soon, not after a long wait for it to come back.
    with config.set({"distributed.comm.timeouts.connect": f"{CONNECT:.0f}s"}):
        try:
            if address is None:
                cluster = _own_cluster(workers)
            client = Client(cluster or address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, RuntimeError) as error:
            if cluster is not None:
                cluster.close()
            if address is None:
                raise WorkerError(f"the Dask cluster cannot be started: {reason(error)}.") from error
            raise WorkerError(f"the Dask scheduler {address} cannot be reached.") from error
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=2)
            if cluster is not None:
                cluster.close()


@contextmanager
def alive(client: Any, session: str) -> Iterator[None]:
    """Tell all hosts now and then that this driver lives; they end the children of a dead one."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_PULSE):
            with suppress(Exception):  # a host in trouble must not keep the others from hearing the next one
                client.run(touch, session, on_error="ignore", callback_timeout=_PULSE)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()


def _own_cluster(workers: int) -> Any:
    """A cluster in this process; Dask insists on web servers: these have no pages and answer only here."""
    from dask import config
    from distributed import LocalCluster

    routes: dict[str, list[str]] = {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with config.set(routes):
        return LocalCluster(
            n_workers=1,
            threads_per_worker=workers,
            processes=False,  # the cells run in children anyway
            dashboard_address=_LOOPBACK,  # any free port: several clusters may run side by side
            worker_dashboard_address=_LOOPBACK,
            scheduler_kwargs={"dashboard": False},
        )


def _hush() -> None:
    """One clear line at the end instead of the log of a cluster in trouble."""
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
