"""Directions in the plane, as they are kept in a record."""

from dataclasses import dataclass

from torch import Tensor

from karat.probes.mds import classical_mds

DIGITS = 4
"""After the decimal point: enough for a picture, and a record stays small."""


@dataclass(frozen=True, kw_only=True)
class PlanarPicture:
    """Directions in the plane of classical scaling.

    Args:
        points: two coordinates each.
        share: part of the spread that the plane shows.
    """

    points: list[list[float]]
    share: float


def planar_picture(directions: Tensor) -> PlanarPicture:
    """Return the picture of directions (n, d).

    Args:
        directions: of any lengths.
    """
    picture = classical_mds(directions)
    points = [rounded(point) for point in picture.points.tolist()]
    return PlanarPicture(points=points, share=picture.share)


def rounded(values: list[float]) -> list[float]:
    """Return the numbers with the digits of a picture.

    >>> rounded([0.123456, 1.0])
    [0.1235, 1.0]
    """
    return [round(value, DIGITS) for value in values]
