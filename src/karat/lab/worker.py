"""A worker process: reads cells as JSON lines, writes records as JSON lines, ends when its driver does.

Started by `karat.lab.child`, which sets the number of threads in the environment before
this process loads torch. Only the driver touches the store.
"""

import json
import os
import queue
import sys
import threading
from typing import TextIO

from karat.experiments.experiment import Cell, find_experiment
from karat.lab.child import READY
from karat.lab.execute import execute


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer each request with a record until the driver closes the pipe."""
    inbox: queue.Queue[str | None] = queue.Queue()
    busy = threading.Event()

    def listen() -> None:
        for line in requests:
            inbox.put(line)
        if busy.is_set():
            # The driver is gone in the middle of a cell: nobody would save the record.
            os._exit(1)
        inbox.put(None)

    threading.Thread(target=listen, daemon=True).start()
    debug = bool(os.environ.get("KARAT_DEBUG"))
    print(READY, file=answers, flush=True)
    while (line := inbox.get()) is not None:
        busy.set()
        request = json.loads(line)
        config = find_experiment(request["experiment"]).config(request["config"])
        cell = Cell(request["experiment"], config, request["seed"])
        print(execute(cell, show_traceback=debug).to_json(), file=answers, flush=True)
        busy.clear()


def main() -> None:
    """Keep the pipe to the driver to ourselves: what an experiment prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)
