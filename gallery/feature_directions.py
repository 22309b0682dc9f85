"""Features emerge in two steps: directions of the neurons on parity labels, and all methods."""

import argparse
from pathlib import Path

import karat
from karat.study.registry import FIGURES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", choices=["tiny", "quick", "full"])
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder for the PNG files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    records = karat.run("features.tab1", scale=options.scale, seeds=1, workers=0)
    for index, picture in enumerate(FIGURES["features.tab1"](records)):
        picture.figure.savefig(options.out / f"feature_directions_{index}.png", dpi=150)


if __name__ == "__main__":
    main()
