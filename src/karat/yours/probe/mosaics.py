"""Rows of small pictures under each other: the same filter, input or feature in one column."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from karat.study.drawing.style import INK

_GAP = 0.08  # of a picture's side, between neighbours
_LARGEST = 1.08  # inches, a picture's side at most


def mosaic(rows: Mapping[str, Sequence[np.ndarray]], *, width: float = 9.4) -> Figure:
    """One row of pictures per name; pictures are (H, W, C) with values in [0, 1].

    Args:
        rows: name -> pictures of one size, equally many.
        width: of the figure in inches.
    """
    names = list(rows)
    count = max(len(pictures) for pictures in rows.values())
    label = 0.75
    pixels = max(next(iter(rows.values()))[0].shape[:2])
    side = min((width - label) / count, _LARGEST if pixels > 8 else _LARGEST / 2)
    figure = Figure(figsize=(width, len(names) * side + 0.05))
    for row, name in enumerate(names):
        strip = _strip(rows[name], count)
        bottom = 1 - (row + 1) / len(names)
        axes = figure.add_axes((label / width, bottom, count * side / width, 0.97 / len(names)))
        axes.imshow(strip, interpolation="nearest", aspect="auto")
        axes.set_axis_off()
        middle = bottom + 0.5 / len(names)
        figure.text(0.9 * label / width, middle, name, ha="right", va="center", size=9, color=INK)
    return figure


def signed(pictures: np.ndarray, quantile: float = 1.0) -> list[np.ndarray]:
    """Pictures with values of both signs, each scaled around middle grey by its own largest value."""
    scaled = []
    for picture in pictures:
        size = float(np.quantile(np.abs(picture), quantile)) or 1.0
        scaled.append(np.clip(0.5 + picture / (2 * size), 0, 1))
    return scaled


def ranged(pictures: np.ndarray) -> list[np.ndarray]:
    """Pictures as they are if they lie in [0, 1], else stretched together to that range."""
    low, high = float(pictures.min()), float(pictures.max())
    if low >= 0 and high <= 1:
        return list(pictures)
    return list((pictures - low) / ((high - low) or 1.0))


def _strip(pictures: Sequence[np.ndarray], count: int) -> np.ndarray:
    """Pictures side by side on white, large enough that gaps are a fine line."""
    height, width, _ = pictures[0].shape
    scale = max(1, -(-64 // max(height, width)))
    gap = max(1, round(_GAP * scale * width))
    cell = scale * width + gap
    strip = np.ones((scale * height + gap, count * cell, 3))
    for column, picture in enumerate(pictures):
        large = np.repeat(np.repeat(picture, scale, axis=0), scale, axis=1)
        strip[: scale * height, column * cell : column * cell + scale * width] = large  # grey is broadcast
    return strip
