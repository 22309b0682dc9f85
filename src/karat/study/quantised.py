"""Pictures in a record: one byte per pixel as text, so that reports can draw them from the store alone."""

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def quantise(values: Any) -> dict[str, Any]:
    """An array (or tensor on the CPU) as plain JSON: its shape, its range, and bytes in base 64.

    Values are rounded to 1/255 of the range; infinite or missing ones are refused.

    >>> restore(quantise(np.array([[0.0, 0.5], [1.0, 0.25]]))).round(2).tolist()
    [[0.0, 0.5], [1.0, 0.25]]
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not np.isfinite(array).all():
        raise ValueError("`values` of `quantise` must be finite numbers, at least one.")
    low, high = float(array.min()), float(array.max())
    scale = 255 / (high - low) if high > low else 0.0
    data = np.rint((array - low) * scale).astype(np.uint8).tobytes()
    text = base64.b64encode(data).decode("ascii")
    return {"shape": list(array.shape), "low": low, "high": high, "bytes": text}


def restore(stored: Mapping[str, Any]) -> np.ndarray:
    """The array of `quantise`, each value within half a level of the original."""
    shape = tuple(stored["shape"])
    levels = np.frombuffer(base64.b64decode(stored["bytes"]), np.uint8)
    if levels.size != math.prod(shape):
        raise ValueError(f"the stored picture holds {levels.size} bytes for the shape {shape}.")
    low, high = float(stored["low"]), float(stored["high"])
    return (low + levels.astype(np.float64) * ((high - low) / 255)).reshape(shape).astype(np.float32)
