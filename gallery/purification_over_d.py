"""What vanishes as d grows to 10^10, from pure features: errors, movement and mixtures."""

import argparse
from pathlib import Path

import karat
from karat.papers.purification.experiments.limits import LIMITS
from karat.papers.purification.figures.limits import draw_limits
from karat.study.run import read_runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="quick", help="tiny, quick or full")
    parser.add_argument("--out", type=Path, default=Path("gallery/pictures"), help="folder for the PNG file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    records = karat.run("purification.limits", scale=options.scale, store=options.out / "store.sqlite")
    (picture,) = draw_limits(read_runs(LIMITS, records))
    picture.figure.savefig(options.out / "purification_over_d.png", dpi=150, facecolor="white")


if __name__ == "__main__":
    main()
