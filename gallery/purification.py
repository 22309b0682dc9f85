"""The signature figure of karat: neurons as pure part against dense mixture, before and after."""

import argparse
from pathlib import Path

import karat
from karat.papers.purification.experiments.l2 import L2
from karat.papers.purification.figures.drawings import signature
from karat.study.run import read_runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", help="tiny, quick or full")
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder for the PNG file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    store = options.out / "store.sqlite"
    (record,) = karat.run("purification.l2", scale=options.scale, seeds=1, store=store)[-1:]
    if record.status != "done":
        raise SystemExit(record.error)
    (run,) = read_runs(L2, [record])
    signature(run).savefig(options.out / "purification.png", dpi=170, facecolor="white")


if __name__ == "__main__":
    main()
