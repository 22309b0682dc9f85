"""A worker process: reads cells as JSON lines, writes records as JSON lines, ends when its driver does.

Started by `karat.lab.child`, which sets the number of threads in the environment before
this process loads torch. Only the driver touches the store.
"""

import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

from karat.errors import SourceError
from karat.lab.execute import execute, load
from karat.lab.protocol import BEGUN, READY, objection, refusal
from karat.study.experiment import Cell
from karat.study.registry import find_experiment


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer each request with a record; leave at once when the driver closes the pipe or dies."""
    inbox: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in requests:
            inbox.put(line)
        # Nobody is left to save a record, also if a cell is in hand or was handed over a moment ago.
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    print(READY, file=answers, flush=True)
    while True:
        for line in answer(inbox.get()):
            print(line, file=answers, flush=True)


def answer(line: str) -> Iterator[str]:
    """Yield a line when the cell asked for begins and its record, or why it must not be computed here."""
    order = json.loads(line)
    if reason := objection(order):
        yield refusal(reason)
        return
    config = find_experiment(order["experiment"]).config(order["config"])
    cell = Cell(order["experiment"], config, order["seed"])
    load()
    yield BEGUN
    try:
        yield execute(cell, show_traceback=bool(os.environ.get("KARAT_DEBUG"))).to_json()
    except SourceError as error:
        yield refusal(str(error))


def main() -> None:
    """Keep the pipe to the driver to ourselves: what an experiment prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)
