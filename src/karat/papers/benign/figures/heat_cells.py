"""Where the cells of a heat map lie around the values of its axes."""

from typing import Literal

import numpy as np

Scale = Literal["linear", "log"]


def axis_scale(values: np.ndarray) -> Scale:
    """Return the scale on which the values lie most evenly, so that cells around them have alike sizes.

    Args:
        values: (g,) increasing.

    Reading: two values lie evenly on every scale; a logarithmic one is taken when they differ by a factor
        of 2.5, where linear cells would begin near 0.

    >>> axis_scale(np.array([1.0, 2.0, 3.0])), axis_scale(np.array([1000.0, 2000.0, 8000.0]))
    ('linear', 'log')
    """
    if len(values) < 2 or values[0] <= 0:
        return "linear"
    if len(values) == 2:
        return "log" if values[1] > 2.5 * values[0] else "linear"
    even, logarithmic = np.diff(values), np.diff(np.log(values))
    linear = even.max() / even.min() <= logarithmic.max() / logarithmic.min()
    return "linear" if linear else "log"


def cell_edges(values: np.ndarray, scale: Scale) -> np.ndarray:
    """Return the ends of the cells around values: midpoints on the scale, mirrored at the outer ones.

    Args:
        values: (g,) increasing.
        scale: of the axis.

    Returns:
        (g + 1,).

    >>> cell_edges(np.array([1.0, 2.0, 4.0]), "linear")
    array([0.5, 1.5, 3. , 5. ])
    """
    points = np.log(values) if scale == "log" else values
    if len(points) == 1:
        half = 0.5 if scale == "log" else 0.5 * abs(points[0]) or 0.5
        ends = np.array([points[0] - half, points[0] + half])
    else:
        middle = (points[1:] + points[:-1]) / 2
        ends = np.concatenate([[2 * points[0] - middle[0]], middle, [2 * points[-1] - middle[-1]]])
    return np.asarray(np.exp(ends) if scale == "log" else ends)


def inside_cells(edges: np.ndarray, scale: Scale, share: float) -> np.ndarray:
    """Return points at the same share of every cell, on its scale.

    Args:
        edges: (g + 1,) ends of the cells.
        scale: of the axis.
        share: 0 for the lower end, 1 for the upper one.

    >>> inside_cells(np.array([0.0, 4.0, 8.0]), "linear", 0.25)
    array([1., 5.])
    """
    ends = np.log(edges) if scale == "log" else edges
    points = (1 - share) * ends[:-1] + share * ends[1:]
    return np.asarray(np.exp(points) if scale == "log" else points)
