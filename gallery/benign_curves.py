"""Benign overfitting: training loss falls to 0 while robust test error settles at the flip rate."""

import argparse
from pathlib import Path

import karat
from karat.study.registry import FIGURES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", help="tiny, quick or full")
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder for the PNG files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    records = karat.run("benign.sec5", scale=options.scale, store=options.out / "store.sqlite")
    for index, picture in enumerate(FIGURES["benign.sec5"](records)):
        picture.figure.savefig(options.out / f"benign_curves_{index}.png", dpi=150)


if __name__ == "__main__":
    main()
