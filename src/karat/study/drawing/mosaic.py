"""Many small pictures in one panel: scaled, tiled in rows, with a name at the left of each row."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from karat.study.drawing.style import INK

GAP = 1


def signed(pictures: np.ndarray, share: float = 1.0) -> np.ndarray:
    """Weights or perturbations (n, C, H, W) as colours, zero being mid-grey, each on its own scale.

    Args:
        pictures: (n, C, H, W).
        share: quantile of the absolute values that reaches full colour.
    """
    size = np.quantile(np.abs(pictures).reshape(len(pictures), -1), share, axis=1)
    scale = np.maximum(size, 1e-12).reshape(-1, 1, 1, 1)
    return np.clip(0.5 + pictures / (2 * scale), 0, 1)


def stretched(pictures: np.ndarray) -> np.ndarray:
    """Pictures (n, C, H, W), each around its mean colour with 99 % of its values inside the range.

    Args:
        pictures: (n, C, H, W) in [0, 1].
    """
    mean = pictures.mean(axis=(2, 3), keepdims=True)
    return np.clip(signed(pictures - mean, 0.99) - 0.5 + mean, 0, 1)


def tiled(pictures: np.ndarray, columns: int | None = None) -> np.ndarray:
    """(height, width, 3) one image of pictures (n, C, H, W) in [0, 1], white between them."""
    count, channels, height, width = pictures.shape
    wide = count if columns is None else min(columns, count)
    rows = -(-count // wide)
    sheet = np.ones((rows * (height + GAP) - GAP, wide * (width + GAP) - GAP, 3))
    for index, picture in enumerate(pictures):
        top, left = (index // wide) * (height + GAP), (index % wide) * (width + GAP)
        colours = np.repeat(picture, 3, axis=0) if channels == 1 else picture
        sheet[top : top + height, left : left + width] = colours.transpose(1, 2, 0)
    return sheet


def show_rows(ax: Axes, rows: Mapping[str, np.ndarray], *, title: str = "", size: float = 8) -> None:
    """Draw rows of pictures (n, C, H, W) under each other, all of one size, each named at its left.

    Args:
        ax: panel to draw in.
        rows: name -> pictures (n, C, H, W).
        title: of the panel.
        size: of the font of the names, in points.
    """
    sheets = [tiled(pictures) for pictures in rows.values()]
    width = max(sheet.shape[1] for sheet in sheets)
    height = sheets[0].shape[0]
    space = max(2, height // 6)
    canvas = np.ones((len(sheets) * (height + space) - space, width, 3))
    for index, sheet in enumerate(sheets):
        top = index * (height + space)
        canvas[top : top + height, : sheet.shape[1]] = sheet
    ax.imshow(canvas, interpolation="nearest", aspect="equal")
    ax.set_xticks([])
    middles = [index * (height + space) + height / 2 for index in range(len(sheets))]
    ax.set_yticks(middles, list(rows), fontsize=size)
    ax.tick_params(length=0, colors=INK)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)


def sorted_by_size(filters: np.ndarray) -> Sequence[int]:
    """Indices of filters (m, C, h, w), longest first."""
    return np.argsort(-np.linalg.norm(filters.reshape(len(filters), -1), axis=1)).tolist()
